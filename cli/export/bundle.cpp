// SPDX-License-Identifier: Apache-2.0
#include "cli/export/bundle.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include "cli/output/output_file.h"
#include "cli/output/signals.h"
#include "core/error.h"
#include "core/files/own_folder.h"
#include "core/text/fnv1a.h"
#include "runtime/jit.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArgument = "kernel_templates/device/call/gemm_args.cuh";

UsageError unusable(const fs::path& folder, const std::error_code& why) {
  return UsageError("'" + folder.string() + "' cannot be made for a bundle (" + why.message() +
                    "): name a folder that is writable, or can be made");
}

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

// The folder, or the nearest one above it that exists: on its file system.
fs::path nearest_that_exists(const fs::path& folder) {
  fs::path nearest = folder.empty() ? fs::path(".") : folder;
  while (!is_there(nearest) && nearest.has_parent_path()) nearest = nearest.parent_path();
  return is_there(nearest) ? nearest : fs::path(".");
}

// The files of a bundle, which lie aside until all are written. One that is given up, or meets a
// full disk, leaves the folder as it was.
class StagedBundle {
 public:
  // Throws UsageError.
  explicit StagedBundle(const fs::path& folder) try
      : folder_(folder), own_(folder_aside(nearest_that_exists(folder_))) {
    fs::create_directory(staged_);
  } catch (const std::system_error& error) {
    throw unusable(folder, error.code());
  }

  // name: relative to the bundle's folder. Throws OutputError.
  void write(const fs::path& name, const std::string& bytes) {
    const fs::path aside = staged_ / name;
    std::error_code error;
    fs::create_directories(aside.parent_path(), error);
    errno = 0;
    std::ofstream file(aside, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw failed(name, {errno != 0 ? errno : EIO, std::generic_category()});
    names_.push_back(name);
  }

  // A new folder appears whole. In one that exists, the files take their places in the order in
  // which they were written. Throws OutputError.
  void take_place() {
    std::error_code error;
    if (!is_there(folder_)) {
      if (folder_.has_parent_path()) fs::create_directories(folder_.parent_path(), error);
      fs::rename(staged_, folder_, error);
      if (error) throw failed("", error);
      return;
    }
    for (const fs::path& name : names_) {
      fs::create_directories((folder_ / name).parent_path(), error);
      fs::rename(staged_ / name, folder_ / name, error);
      if (error) throw failed(name, error);
    }
  }

 private:
  OutputError failed(const fs::path& name, const std::error_code& why) const {
    const fs::path path = name.empty() ? folder_ : folder_ / name;
    return OutputError("'" + path.string() + "' cannot be written: " + why.message());
  }

  fs::path folder_;
  OwnFolder own_;
  fs::path staged_ = own_.path() / "bundle";
  std::vector<fs::path> names_;
};

// Where it cannot serve, all is compiled.
void open_default_cache(std::optional<KernelStore>& cache) {
  const std::optional<fs::path> folder = default_kernel_cache();
  try {
    if (folder) cache.emplace(*folder);
  } catch (const Error&) {
  }
}

// As the loader makes it of the header's texts.
std::string cubin_name(const KnownConfig& config, const std::string& revision) {
  std::string name = revision + "-" + to_string(config.config()) + ".cubin";
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

// What the loader compares: a cubin, and its hash in the 8 bytes behind it.
std::string with_hash(std::string cubin) {
  Fnv1a hash;
  hash.add_bytes(cubin);
  const std::uint64_t value = hash.value();
  return cubin.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Every family's kernel has the same.
std::string argument_text() {
  const KernelSource source = kernel_source(families().front());
  const auto found = std::find_if(source.headers.begin(), source.headers.end(),
                                  [](const auto& header) { return header.first == kArgument; });
  if (found == source.headers.end()) throw Error("a kernel without its argument's header");
  return found->second;
}

}  // namespace

void write_bundle(const ExportedKernels& exported, const std::string& arch, const fs::path& folder,
                  bool quiet) {
  const std::string header = "gemm_tune_" + arch + ".h";
  constexpr const char* kLoader = "gemm_tune_bundle.hpp";
  for (const fs::path& name : {fs::path(kArgument), fs::path(kLoader), fs::path(header)}) {
    if (is_there(folder / name)) require_writable((folder / name).string());
  }
  watch_for_signals();
  StagedBundle bundle(folder.has_filename() ? folder : folder.parent_path());
  std::optional<KernelStore> cache;
  open_default_cache(cache);
  {
    SlowWork progress(quiet, "compiling");
    std::size_t done = 0;
    for (const KnownConfig& config : exported.kernels) {
      if (has_been_interrupted()) break;
      progress.now_at(fmt::format("compiling: {} of {} kernels", done++, exported.kernels.size()));
      const KernelSource source = kernel_source(*config.family);
      bundle.write(
          fs::path(arch) / cubin_name(config, source.revision),
          with_hash(jit_cubin(config, COperand::in_place, arch, cache ? &*cache : nullptr)));
    }
  }
  bundle.write(kArgument, argument_text());
  bundle.write(kLoader, kBundleLoaderText);
  bundle.write(header, exported.header);
  if (has_been_interrupted()) {
    fmt::print(stderr, "gemm-tune: interrupted; nothing of the bundle is written\n");
    return;
  }
  bundle.take_place();
  if (!quiet) tell_written(folder.string());
}

}  // namespace gemm_tune

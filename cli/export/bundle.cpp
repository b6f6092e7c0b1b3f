// SPDX-License-Identifier: Apache-2.0
#include "cli/export/bundle.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "cli/output/output_file.h"
#include "core/error.h"
#include "runtime/jit.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArgument = "kernel_templates/device/call/gemm_args.cuh";

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return;
  throw UsageError("'" + folder.string() + "' cannot be made for a bundle (" + error.message() +
                   "): name a folder that is writable, or can be made");
}

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
  make_folder(folder / arch);
  make_folder((folder / kArgument).parent_path());
  std::optional<KernelStore> cache;
  open_default_cache(cache);
  {
    SlowWork progress(quiet, "compiling");
    std::size_t done = 0;
    for (const KnownConfig& config : exported.kernels) {
      progress.now_at(fmt::format("compiling: {} of {} kernels", done++, exported.kernels.size()));
      const KernelSource source = kernel_source(*config.family);
      write_output(folder / arch / cubin_name(config, source.revision),
                   jit_cubin(config, COperand::in_place, arch, cache ? &*cache : nullptr));
    }
  }
  write_output(folder / kArgument, argument_text());
  write_output(folder / "gemm_tune_bundle.hpp", kBundleLoaderText);
  write_output(folder / ("gemm_tune_" + arch + ".h"), exported.header);
}

}  // namespace gemm_tune

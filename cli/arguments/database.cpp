// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/database.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cli/output/output_file.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/shell_quote.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

// Each once, in the layers' order. A layer that cannot be read has none.
std::vector<DeviceKey> devices_of_layers(const std::vector<fs::path>& layers) {
  std::vector<DeviceKey> devices;
  for (const fs::path& layer : layers) {
    try {
      for (const DeviceKey& device : Database(layer, Database::Mode::immutable).devices()) {
        const bool is_new = std::find(devices.begin(), devices.end(), device) == devices.end();
        if (is_new) devices.push_back(device);
      }
    } catch (const DatabaseError&) {
      continue;  // the command tells of it
    }
  }
  return devices;
}

}  // namespace

fs::path database_path(const DatabaseOptions& options) {
  return options.db.empty() ? default_database_path() : fs::path(options.db);
}

bool is_database_named(const DatabaseOptions& options) {
  const char* const variable = std::getenv("GEMM_TUNE_DB");
  return !options.db.empty() || (variable != nullptr && *variable != '\0');
}

std::string database_words(const DatabaseOptions& options) {
  std::string words = options.db.empty() ? "" : " --db " + shell_quote(options.db);
  for (const std::string& file : options.families) words += " --family " + shell_quote(file);
  return words;
}

LockWait lock_wait(bool quiet, const fs::path& path) {
  constexpr std::chrono::seconds kLimit{30};
  if (quiet) return LockWait(kLimit);
  return LockWait(kLimit, [text = path.string(), kLimit] {
    fmt::print(stderr, "gemm-tune: waiting up to {} s for another process that has locked '{}'\n",
               kLimit.count(), printable(text));
  });
}

std::string with_tune_command(const std::string& sentence, const KernelOptions& options,
                              const std::string& arch) {
  const bool advises = sentence.ends_with("tune first") || sentence.ends_with("tune for it first");
  if (!advises) return sentence;
  std::string command = "gemm-tune";
  const auto add = [&](const char* option, const std::string& value,
                       const std::string& usual = "") {
    if (value != usual && !value.empty())
      command += fmt::format(" {} {}", option, shell_quote(value));
  };
  add("--gpu", options.gpu);
  if (options.gpu.empty()) add("--arch", options.arch.empty() ? arch : options.arch);
  add("--sizes", options.sizes.empty() ? "1024,4096" : options.sizes);
  add("--type", options.type, "f32");
  add("--accuracy", options.accuracy);
  add("--layout", options.layout, "nn");
  add("--batch", std::to_string(options.batch), "1");
  add("--kernel-dir", options.kernel_dir);
  for (const std::string& file : options.families) add("--family", file);
  add("--db", options.db);
  return sentence + ", as in " + command;
}

Database open_for_reading(const KernelOptions& options) {
  const fs::path path = database_path(options);
  try {
    return Database(path, Database::Mode::read_only, lock_wait(options.quiet, path));
  } catch (const DatabaseError& error) {
    throw DatabaseError(with_tune_command(error.what(), options));
  }
}

Database open_for_reading(const DatabaseOptions& options) {
  KernelOptions usual;
  static_cast<DatabaseOptions&>(usual) = options;
  return open_for_reading(usual);
}

Database open_for_writing(const DatabaseOptions& options) {
  const fs::path path = database_path(options);
  require_no_journal(path.string());
  // Only the default folder is created; a folder that the user names must exist.
  if (!is_database_named(options)) create_database_folder(path);
  return Database(path, Database::Mode::create_or_open, lock_wait(options.quiet, path));
}

std::vector<fs::path> layers_below(const DatabaseOptions& options) {
  if (!options.db.empty()) return {};
  return layer_files(default_layer_folders());
}

void tell_of_layers(const std::vector<std::string>& notes, bool quiet) {
  if (quiet) return;
  for (const std::string& note : notes) fmt::print(stderr, "gemm-tune: {}\n", printable(note));
}

std::vector<DeviceKey> stored_devices(const KernelOptions& options,
                                      const std::vector<fs::path>& layers, bool is_needed) {
  if (is_missing_above(layers, default_database_path_or_none())) return devices_of_layers(layers);
  std::error_code ignored;
  if (!is_needed && !fs::exists(database_path(options), ignored)) return {};
  return open_for_reading(options).devices();
}

}  // namespace gemm_tune

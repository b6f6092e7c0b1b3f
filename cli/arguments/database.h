// SPDX-License-Identifier: Apache-2.0
// From the options to the database that a command is about, and to the layers below it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/shared_options.h"
#include "db/database.h"
#include "db/layers.h"

namespace gemm_tune {

// The path of --db, or the default path.
std::filesystem::path database_path(const DatabaseOptions& options);

// Whether --db or GEMM_TUNE_DB names the database, so that no layer lies below it (db/layers.h).
bool is_database_named(const DatabaseOptions& options);

// " --db FILE --family FILE", as far as they were given: the end of a command in a message.
std::string database_words(const DatabaseOptions& options);

// The longest wait for the database at `path`. A note on stderr reports the wait unless quiet.
LockWait lock_wait(bool quiet, const std::filesystem::path& path);

// A sentence of a library that ends in the advice to tune, with a command that does so for what the
// user asked; any other sentence unchanged. arch: empty where --arch says it, or the GPU.
std::string with_tune_command(const std::string& sentence, const KernelOptions& options,
                              const std::string& arch = "");

// Opens the database for reading. Where there is none, the advice is to tune what was asked.
Database open_for_reading(const KernelOptions& options);
Database open_for_reading(const DatabaseOptions& options);

// Opens the database for storing. Creates the folder of the default path.
Database open_for_writing(const DatabaseOptions& options);

// The layers below the database, in their order.
std::vector<std::filesystem::path> layers_below(const DatabaseOptions& options);

// As open_for_reading(), but nothing where the database does not exist and has layers.
template <class Options>
std::optional<Database> open_above(const std::vector<std::filesystem::path>& layers,
                                   const Options& options) {
  if (is_missing_above(layers, default_database_path_or_none())) return std::nullopt;
  return open_for_reading(options);
}

// Names the layers that were left out on stderr, unless quiet.
void tell_of_layers(const std::vector<std::string>& notes, bool quiet);

// The devices of the database, or of the layers where there is no database above them. Nothing
// where there is no file to read and `is_needed` is false.
std::vector<DeviceKey> stored_devices(const KernelOptions& options,
                                      const std::vector<std::filesystem::path>& layers,
                                      bool is_needed);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Whether a folder lies on another machine, where SQLite's locks and its write-ahead log are not to
// be relied on. Stateless; any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace gemm_tune {

// The name of the network file system on which the folder lies; nullopt on a local file system.
std::optional<std::string> network_file_system(const std::filesystem::path& folder);

}  // namespace gemm_tune

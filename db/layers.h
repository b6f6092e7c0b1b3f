// SPDX-License-Identifier: Apache-2.0
// The read-only databases below the user's own: where they lie.
//
// Only the default database has layers below it; a database that is named, by --db, by the path of
// gt_open or by GEMM_TUNE_DB, is read alone. Layers are the files gemm-tune/*.db in each folder of
// XDG_DATA_DIRS, then share/gemm-tune/winners/*.db of the installation or build tree that this code
// was loaded from. They are opened as Database::Mode::immutable. Any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace gemm_tune {

// The folders of layers, in their order; they need not exist. xdg_data_dirs: the environment's
// value, empty or nullptr if unset. binary: the program or library that looks for them; nullopt if
// it is not known. Pure.
std::vector<std::filesystem::path> layer_folders(
    const char* xdg_data_dirs, const std::optional<std::filesystem::path>& binary);

// The same with this process's environment and the binary that holds this code.
std::vector<std::filesystem::path> layer_folders_here();

// The same; none where GEMM_TUNE_DB names the default database.
std::vector<std::filesystem::path> default_layer_folders();

// Whether the user's own database does not exist above layers, which then answer alone: a missing
// one without layers is an error. own: empty where there is no home.
bool is_missing_above(const std::vector<std::filesystem::path>& layers,
                      const std::filesystem::path& own);

// The files *.db of the folders: folder by folder, in each by name.
std::vector<std::filesystem::path> layer_files(const std::vector<std::filesystem::path>& folders);

}  // namespace gemm_tune

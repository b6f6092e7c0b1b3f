// SPDX-License-Identifier: Apache-2.0
#include "db/layers.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "core/files/own_binary.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

// PREFIX/bin/program, PREFIX/lib/library and PREFIX/lib/x86_64-linux-gnu/library.
fs::path prefix_of(const fs::path& binary) {
  const fs::path above = binary.parent_path().parent_path();
  return above.filename() == "lib" ? above.parent_path() : above;
}

}  // namespace

std::vector<fs::path> layer_folders(const char* xdg_data_dirs,
                                    const std::optional<fs::path>& binary) {
  const bool is_given = xdg_data_dirs != nullptr && *xdg_data_dirs != '\0';
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& folder) {
    const bool is_new = std::find(folders.begin(), folders.end(), folder) == folders.end();
    if (is_new) folders.push_back(folder);
  };
  std::string_view rest = is_given ? xdg_data_dirs : "/usr/local/share:/usr/share";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path folder = rest.substr(0, colon);
    // The XDG specification: a relative path is invalid and ignored.
    if (folder.is_absolute()) add(folder / "gemm-tune");
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  if (binary) add(prefix_of(*binary) / "share" / "gemm-tune" / "winners");
  return folders;
}

std::vector<fs::path> layer_folders_here() {
  return layer_folders(std::getenv("XDG_DATA_DIRS"), own_binary());
}

std::vector<fs::path> default_layer_folders() {
  const char* const named = std::getenv("GEMM_TUNE_DB");
  if (named != nullptr && *named != '\0') return {};
  return layer_folders_here();
}

bool is_missing_above(const std::vector<fs::path>& layers, const fs::path& own) {
  if (layers.empty()) return false;
  std::error_code error;
  return !fs::exists(own, error) && !error;
}

std::vector<fs::path> layer_files(const std::vector<fs::path>& folders) {
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    const auto first = static_cast<std::ptrdiff_t>(files.size());
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == ".db") files.push_back(entry->path());
    }
    std::sort(files.begin() + first, files.end());
  }
  return files;
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_libraries/cuda_folders.h"

#include <stdlib.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "core/files/own_binary.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderOfWheels = "nvidia/cu13/lib";  // of CUDA 13, below a site-packages

std::mutex environment_mutex;
std::optional<CudaEnvironment> environment_to_search;
std::vector<fs::path> named_folders;  // guarded by environment_mutex, too

std::optional<CudaEnvironment> searched_environment() {
  const std::lock_guard lock(environment_mutex);
  return environment_to_search;
}

// Not of another user's choice: a setuid program must load no library that its caller names.
std::string variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

void add_if_folder(const fs::path& folder, std::vector<fs::path>* folders) {
  std::error_code ignored;
  if (!folder.is_absolute() || !fs::is_directory(folder, ignored)) return;
  if (std::find(folders->begin(), folders->end(), folder) == folders->end()) {
    folders->push_back(folder);
  }
}

// The subfolders whose names begin so, the last in the order of names first: python3.12,
// python3.11.
std::vector<fs::path> subfolders(const fs::path& folder, const std::string& beginning) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().filename().string().starts_with(beginning)) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

// prefix: of a Python environment, as in /usr. Debian's own Python has dist-packages, which pip
// fills below /usr/local.
void add_wheels_below(const fs::path& prefix, std::vector<fs::path>* folders) {
  if (!prefix.is_absolute()) return;
  for (const char* const lib : {"lib", "local/lib"}) {
    for (const fs::path& python : subfolders(prefix / lib, "python3")) {
      add_if_folder(python / "site-packages" / kFolderOfWheels, folders);
      add_if_folder(python / "dist-packages" / kFolderOfWheels, folders);
    }
  }
}

// bin: one of PATH's.
void add_wheels_of_python_in(const fs::path& bin, std::vector<fs::path>* folders) {
  std::error_code ignored;
  if (!bin.is_absolute() || !fs::exists(bin / "python3", ignored)) return;
  add_wheels_below(bin.parent_path(), folders);
  if (bin.filename() != "shims") return;
  for (const fs::path& version : subfolders(bin.parent_path() / "versions", "3")) {  // pyenv
    add_wheels_below(version, folders);
  }
}

}  // namespace

std::vector<fs::path> toolkit_folders(const CudaEnvironment& environment) {
  std::vector<fs::path> folders;
  if (!environment.cuda_home.empty()) {
    add_if_folder(fs::path(environment.cuda_home) / "lib64", &folders);
  }
  for (const char* const usual :
       {"/usr/local/cuda/lib64", "/usr/local/cuda-13/lib64", "/opt/cuda/lib64"}) {
    add_if_folder(usual, &folders);
  }
  return folders;
}

std::vector<fs::path> wheel_folders_beside(const fs::path& binary) {
  std::vector<fs::path> folders;
  const fs::path folder = binary.parent_path();
  for (const fs::path& package : {folder, folder.parent_path()}) {
    add_if_folder(package.parent_path() / kFolderOfWheels, &folders);
  }
  return folders;
}

std::vector<fs::path> wheel_folders(const CudaEnvironment& environment) {
  std::vector<fs::path> folders;
  add_wheels_below(environment.virtual_env, &folders);
  std::istringstream bins(environment.path);
  for (std::string bin; std::getline(bins, bin, ':');) {
    const fs::path folder = bin;  // "/usr/bin/" is /usr/bin
    add_wheels_of_python_in(folder.has_filename() ? folder : folder.parent_path(), &folders);
  }
  if (!environment.home.empty()) add_wheels_below(environment.home + "/.local", &folders);
  return folders;
}

void look_for_cuda_in_environment() {
  CudaEnvironment now{variable("CUDA_HOME"), variable("VIRTUAL_ENV"), variable("PATH"),
                      variable("HOME")};
  const std::lock_guard lock(environment_mutex);
  environment_to_search = std::move(now);
}

void look_for_cuda_in(std::vector<fs::path> folders) {
  const std::lock_guard lock(environment_mutex);
  named_folders = std::move(folders);
}

bool looks_for_cuda_in_environment() { return searched_environment().has_value(); }

std::vector<fs::path> cuda_folders() {
  const std::optional<CudaEnvironment> environment = searched_environment();
  std::vector<fs::path> folders = toolkit_folders(environment.value_or(CudaEnvironment{}));
  if (const auto binary = own_binary()) {
    for (const fs::path& folder : wheel_folders_beside(*binary)) add_if_folder(folder, &folders);
  }
  {
    const std::lock_guard lock(environment_mutex);
    for (const fs::path& folder : named_folders) add_if_folder(folder, &folders);
  }
  if (environment) {
    for (const fs::path& folder : wheel_folders(*environment)) add_if_folder(folder, &folders);
  }
  return folders;
}

}  // namespace gemm_tune

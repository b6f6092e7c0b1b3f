// SPDX-License-Identifier: Apache-2.0
// Kernel families of users, from plug-ins that gemm_tune_add_family() of the CMake package builds
// (docs/family.md).
//
// They are loaded before the registry is first asked, and stay for the life of the process. A
// plug-in's host code runs in this process: a fault of it that is no exception ends the process.
// Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/family.h"

namespace gemm_tune {

// Loads the family of the plug-in, unless this very file is loaded already. Throws UsageError
// where the file is no plug-in of this version, where its family breaks what the registry rests on,
// or where the registry has been asked.
void load_family(const std::string& file);

// A plug-in, and a hash of its bytes: another process makes sure that it loads the same.
struct FamilyFile {
  std::string path;  // absolute
  std::string hash;

  friend bool operator==(const FamilyFile&, const FamilyFile&) = default;
};

std::vector<FamilyFile> loaded_families();

// As load_family(). Throws UsageError also where the file has another hash.
void load_same_family(const FamilyFile& file);

// For the registry: the families that were loaded. No other can be loaded from now on.
std::vector<KernelFamily> take_user_families();

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// The kernels of --kernel-dir, or the program's own.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/problem/problem.h"
#include "db/validity/validity.h"
#include "kernel_templates/source/source.h"

namespace gemm_tune {

// folder: the value of --kernel-dir; its texts are read once. Nothing for an empty one. Throws
// UsageError where they lack one that f32 or one of the problems needs.
std::optional<KernelSources> users_kernels(const std::string& folder,
                                           std::span<const Problem> problems);

// Of the texts of the folder, or for an empty one of the program's own.
KernelRevisions asked_revisions(const std::string& folder, std::span<const Problem> problems = {});

}  // namespace gemm_tune

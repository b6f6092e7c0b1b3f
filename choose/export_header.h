// SPDX-License-Identifier: Apache-2.0
// Writes the winners of one architecture as a dependency-free C++17 header.
//
// The header's constexpr lookup() answers as choose() does for a device without a name: the same
// distance, the same legality, the same specialisations (tests/choose/export_header_test.cpp
// compares both). It holds the best kernel of one launch where the winner takes two. Identical
// database rows give identical bytes: no clock, no host names, rows in a fixed order.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "choose/choose.h"
#include "db/database.h"

namespace gemm_tune {

// The header's text, in namespace gemm_tune_<arch>. Throws UsageError if arch is not of the form
// sm_86, because arch becomes part of a name, and NothingFound if the database has no usable winner
// for arch. rule: of the winners.
std::string export_header(const Database& database, const std::string& arch,
                          const KernelRevisions& revisions = current_revisions(),
                          const WinnerRule& rule = {});

// The header and the kernels that it names.
struct ExportedKernels {
  std::string header;
  std::vector<KnownConfig> kernels;
  // Sentences: of each layer that was left out, and of the problems that were.
  std::vector<std::string> notes;
};

// Of the user's database, where there is one, and the layers below it (choose/layered.h). Throws as
// export_header().
ExportedKernels export_kernels(const Database* own,
                               const std::vector<std::filesystem::path>& layers,
                               const std::string& arch,
                               const KernelRevisions& revisions = current_revisions(),
                               const WinnerRule& rule = {});

}  // namespace gemm_tune

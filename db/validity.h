// SPDX-License-Identifier: Apache-2.0
// Whether a stored row still holds for the program, compiler and driver at hand, and why not.
//
// exact: nothing has changed. usable: the same kernel, so what became of it still holds and it is
// not tried again, but its time may have moved. stale: another kernel or none, as if it had never
// been tried. The one place for this judgement: resuming a run, `gemm-tune db info` and the choice
// among winners rest on it. The device is part of a row's key, so it is no matter of grades.
// Pure; any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"

namespace gemm_tune {

// Of the texts embedded in the program, or of those in a folder that holds a kernel_templates/.
// Throws UsageError where a text cannot be read.
std::vector<KernelText> kernel_texts(
    const std::optional<std::filesystem::path>& kernel_dir = std::nullopt);

KernelHashes hashes_of(const std::vector<KernelText>& kernels);

// Of the texts embedded in the program.
KernelHashes current_kernel_hashes();

// What rows are judged against.
struct Environment {
  KernelHashes hashes;
  std::string cuda_version;    // of NVRTC; empty where it is not known: nothing is held against it
  std::string driver_version;  // the same, as without a GPU
};

enum class Validity { exact, usable, stale };

std::string_view to_string(Validity validity);

struct Grade {
  Validity validity = Validity::exact;
  std::string reason;  // in a user's words, all that apply; empty for exact

  friend bool operator==(const Grade&, const Grade&) = default;
};

Grade grade(const Record& record, const Environment& now);

// Why a row of this config and hash is stale, or nothing: as grade(), without the rest of the row.
std::optional<std::string> why_stale(const std::string& config, const std::string& kernel_hash,
                                     const KernelHashes& hashes);

}  // namespace gemm_tune

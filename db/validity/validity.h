// SPDX-License-Identifier: Apache-2.0
// Whether a stored row still holds for the current program, compiler and driver, and why not.
//
// exact: nothing has changed. usable: the kernel is the same, so the outcome holds and the
// candidate is not tried again, but its time may have changed. stale: the kernel's revision is
// another one or its family gone, so the candidate counts as untried. A library's algorithm is
// stale by another version of the library, where the version is among the revisions. Resuming a
// run, `gemm-tune db info` and the choice among winners all use this judgement. The device is part
// of a row's key, so it does not affect the grade. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"
#include "kernel_templates/source/source.h"

namespace gemm_tune {

// The revisions of the kernels that these sources make.
KernelRevisions revisions_of(const KernelSources& sources);

// Those of the kernels embedded in the program.
KernelRevisions current_revisions();

// The kernels, compiler and driver that rows are compared with.
struct Environment {
  KernelRevisions revisions;
  std::string cuda_version;    // of NVRTC; empty if unknown: then not compared
  std::string driver_version;  // the same, as without a GPU
};

enum class Validity { exact, usable, stale };

std::string_view to_string(Validity validity);

struct Grade {
  Validity validity = Validity::exact;
  std::string reason;  // all that apply, in the user's words; empty for exact

  friend bool operator==(const Grade&, const Grade&) = default;
};

Grade grade(const Record& record, const Environment& now);

// Why a row of this config and revision is stale, or nullopt. As grade(), without the rest of the
// row.
std::optional<std::string> why_stale(const std::string& config, const std::string& revision,
                                     const KernelRevisions& revisions);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Measured rows as a file of T4, the results format of the auto-tuning community
// (github.com/odgaard/TuningSchema, results-schema.json 1.0.0).
//
// A file holds one search: a problem on a device, by one kernel family. It has no place for the
// device, the problem, the family, the kernel's identity, the run and the baselines; its times are
// milliseconds, as Kernel Tuner writes them. `gemm-tune-research replay` reads it. Pure.
#pragma once

#include <string>
#include <vector>

#include "db/record.h"

namespace gemm_tune {

// records: measured, of one problem, device and family.
std::string t4_text(const std::vector<Record>& records);

}  // namespace gemm_tune

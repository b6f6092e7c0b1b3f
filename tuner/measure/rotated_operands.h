// SPDX-License-Identifier: Apache-2.0
// Copies of a GEMM's operands to rotate through, so that each launch finds its own outside L2.
//
// How many: cold_copies() in tuner/measure/sampling.h. A cache is left cold by what the launches
// themselves touch; nothing is flushed while the clock runs. Belongs to the device that is current.
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tuner/measure/verify_shapes.h"

namespace gemm_tune {

struct RotatedOperands {
  DeviceBuffer<char> memory;     // of all copies but the original
  std::vector<GemmCall> copies;  // the original first; C is not copied, for beta = 0
};

// Copies the call's operands in the stream. Nothing where memory does not suffice or the problem
// is too small (cold_copies()). The original must outlive the copies. Precondition: beta is 0, C is
// D.
std::optional<RotatedOperands> rotate_operands(const GemmCall& original, std::int64_t l2_bytes,
                                               const Stream& stream);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// How the sentence begins that explains why no kernel at all, tuned or not, serves a problem.
//
// The header stands alone, for the drop-in links no more of choose/.
#pragma once

namespace gemm_tune {

inline constexpr char kNoKernelServes[] = "no kernel serves ";

}  // namespace gemm_tune

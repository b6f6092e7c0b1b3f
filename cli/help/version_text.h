// SPDX-License-Identifier: Apache-2.0
// The text of --version: the program's version, then all else that decides whether stored rows
// count and kernels compile, a line each.
#pragma once

#include <string>

namespace gemm_tune {

// Opens NVRTC and asks for the driver, and says so where there is none. Does not throw for want of
// either, or of a place for the database.
std::string program_version_text();

}  // namespace gemm_tune

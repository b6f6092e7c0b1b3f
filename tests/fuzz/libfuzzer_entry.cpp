// SPDX-License-Identifier: Apache-2.0
// libFuzzer's way into one target, GT_FUZZ_CHECK.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gemm_tune::fuzz::GT_FUZZ_CHECK({reinterpret_cast<const char*>(data), size});
  return 0;
}

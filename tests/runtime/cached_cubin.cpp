// SPDX-License-Identifier: Apache-2.0
// cached_cubin DIRECTORY: the sample kernel for sm_86 as the library comes by it, from the kernel
// cache DIRECTORY or from NVRTC; prints a hash of it.
#include <cstdio>
#include <functional>
#include <string>

#include "choose/choose.h"
#include "core/error.h"
#include "runtime/jit.h"
#include "tests/dispatch/sample_database.h"

using namespace gemm_tune;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const KernelStore store(argv[1]);
    const KnownConfig config = check_config(parse_config(kSampleConfig));
    const std::string cubin = jit_cubin(config, COperand::in_place, "sm_86", &store);
    std::printf("%zx\n", std::hash<std::string>()(cubin));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

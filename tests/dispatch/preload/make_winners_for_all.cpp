// SPDX-License-Identifier: Apache-2.0
// make_winners_for_all FILE [ARCH]: a database by which the drop-in serves whatever it can serve,
// on the current GPU, or on the typical one of ARCH.
#include <cstdio>
#include <exception>
#include <string>

#include "core/error.h"
#include "gpu/device.h"
#include "tests/dispatch/preload/winners_for_all.h"

namespace {

gemm_tune::DeviceSpec typical(const std::string& arch) {
  for (const gemm_tune::DeviceSpec& device : gemm_tune::device_table()) {
    if (device.arch == arch) return device;
  }
  throw gemm_tune::UsageError("no GPU of " + arch + " is known");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  try {
    gemm_tune::write_winners_for_all(argv[1],
                                     argc == 3 ? typical(argv[2]) : gemm_tune::query_device(0));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

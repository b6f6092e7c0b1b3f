// SPDX-License-Identifier: Apache-2.0
// Compiles one config's text by NVRTC to a cubin and its resources. Needs neither GPU nor driver.
//
// Calls contend inside one process (measured: threads do not scale); run several processes instead.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/candidate/outcome.h"

namespace gemm_tune {

struct NvrtcSource {
  std::string path;
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;  // include path -> text
};

struct CompileResult {
  bool ok = false;
  std::string log;      // the complete log of the compiler
  std::string cubin;    // empty unless ok
  std::string ptx;      // of which the cubin was made; empty unless ok
  Resources resources;  // registers, spills, stack and static shared memory of the entry; rest 0
};

// arch: as in "sm_86". definitions: as in "NAME=VALUE". entry: the function whose resources are
// read from the log. Throws DeviceError if NVRTC itself is unusable or does not support arch.
CompileResult nvrtc_compile(const NvrtcSource& source, const std::vector<std::string>& definitions,
                            const std::string& arch, const std::string& entry = "gemm");

// "13.0".
std::string nvrtc_version();

// Empty without NVRTC.
std::string nvrtc_version_if_there();

// "sm_75", ... as this NVRTC lists them.
std::vector<std::string> nvrtc_supported_archs();

}  // namespace gemm_tune

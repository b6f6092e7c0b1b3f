// SPDX-License-Identifier: Apache-2.0
// The rows of the database as values.
//
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/device_spec.h"
#include "core/outcome.h"
#include "core/problem.h"

namespace gemm_tune {

// The device in a row's key: one GPU model with one SM count.
struct DeviceKey {
  std::string arch;  // "sm_90"
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int sm_count = 0;

  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};

DeviceKey device_key(const DeviceSpec& spec);

// Family name -> hash of the family's kernel (kernel_templates/source.h).
using KernelHashes = std::map<std::string, std::string>;

// A kernel family's text, as the compiler gets it.
struct KernelText {
  std::string family, hash, tokens;
};

// A kernel that has rows but is not the program's.
struct OtherKernel {
  // The kernel's rows that count and are ok, for one config on devices of one architecture.
  struct Use {
    std::string config, arch;
    std::int64_t rows = 0;
    bool is_rival = false;  // one of the rows is the best of its problem or was in finals
  };
  std::string family, hash;
  std::optional<std::string> tokens;  // its text; nullopt if the text is not stored
  std::vector<Use> uses;
};

// The tools and the host of a run: stored once per run.
struct RunInfo {
  std::string tool_version;
  std::string cuda_version;    // of NVRTC
  std::string driver_version;  // empty without a GPU
  std::string command;
  std::uint64_t seed = 0;
  std::string uuid = {};            // empty: the database fills it in
  std::string host = {};            // empty if not known
  std::string cublas_version = {};  // empty until a baseline is timed
  GpuSettings gpu = {};
};

// The function that a user would call instead, timed by the same rule in the same run.
struct Baseline {
  std::string name;  // function and version of its library: "cublasSgemm 13.1.0"
  Timing timing;
  std::optional<double> error = {};  // as an Outcome's

  friend bool operator==(const Baseline&, const Baseline&) = default;
};

// Which candidate wins.
struct WinnerRule {
  Objective objective = Objective::hot;
  std::optional<double> max_error = {};  // at most so many times cuBLAS's error; nullopt: any

  friend bool operator==(const WinnerRule&, const WinnerRule&) = default;
};

// One candidate's row. An ok row is measured iff outcome.timing is present.
struct Record {
  DeviceKey device;
  Problem problem;
  std::string config;       // canonical text
  std::string kernel_hash;  // the identity of its kernel
  Outcome outcome;
  Source source = Source::predicted;
  std::optional<Baseline> baseline;
  std::string recorded_at;  // UTC, ISO 8601; filled by the database
  RunInfo run;
};

// One timed config: a Record without its other fields.
struct TimedConfig {
  DeviceKey device;
  Problem problem;
  std::string config, kernel_hash;
  double median_us = 0;

  friend bool operator==(const TimedConfig&, const TimedConfig&) = default;
};

}  // namespace gemm_tune

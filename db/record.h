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

#include "core/candidate/config.h"
#include "core/candidate/outcome.h"
#include "core/candidate/winner_rule.h"
#include "core/device/device_spec.h"
#include "core/problem/problem.h"

namespace gemm_tune {

// The device in a row's key: one GPU model with one SM count.
struct DeviceKey {
  std::string arch;  // "sm_90"
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int sm_count = 0;

  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};

DeviceKey device_key(const DeviceSpec& spec);

// Family name -> revision of its kernel: "3", or "user:<hash>" of a text that a user gave.
using KernelRevisions = std::map<std::string, std::string>;

// The tools and the host of a run: stored once per run.
struct RunInfo {
  std::string tool_version;
  std::string cuda_version;    // of NVRTC
  std::string driver_version;  // empty without a GPU
  std::string command;
  std::uint64_t seed = 0;
  std::string uuid = {};  // empty: the database fills it in
  std::string host = {};  // empty if not known
  GpuSettings gpu = {};
};

// The function of a library that a user would call instead, timed in turn with the finalists.
struct Baseline {
  std::string name;             // "cublasSgemm", "cublasGemmEx-autotuned", "cublasLt"
  std::string library_version;  // "13.1.0"
  Timing timing;
  std::optional<double> error = {};    // as an Outcome's
  std::optional<int> algorithms = {};  // of cublasLt: so many were timed; this was the fastest

  // "cublasSgemm 13.1.0".
  std::string title() const { return name + " " + library_version; }

  friend bool operator==(const Baseline&, const Baseline&) = default;
};

// "cublasLt 13.1.0 (best of 37 heuristics)".
std::string to_string(const Baseline& baseline);

// One candidate's row. An ok row is measured iff outcome.timing is present.
struct Record {
  DeviceKey device;
  Problem problem;
  std::string config;    // canonical text
  std::string revision;  // of the config's family
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
  std::string config, revision;
  double median_us = 0;

  friend bool operator==(const TimedConfig&, const TimedConfig&) = default;
};

}  // namespace gemm_tune

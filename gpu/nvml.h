// SPDX-License-Identifier: Apache-2.0
// NVML's view of a GPU at work: its clock, power and temperature, the reasons for reduced clocks,
// and the other processes that compute on it.
//
// libnvidia-ml belongs to the driver and is opened when an object is made. If the library is
// missing or fails, every answer is empty: a measurement is then valid but lacks its conditions.
// The GPU is found by its PCI bus id, because NVML does not number devices as CUDA does. The power
// is the card's own running mean (over a second on recent cards). Use one object from one thread at
// a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidate/outcome.h"

namespace gemm_tune {

class Nvml {
 public:
  // For the CUDA device with this ordinal. Does not throw if NVML or the device is missing.
  explicit Nvml(int ordinal);
  ~Nvml();
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;

  std::optional<GpuConditions> conditions() const;

  // The power limit in force, the highest clock of the memory, the MIG slice.
  GpuSettings settings() const;

  // The reasons for reduced clocks, see slowdown_text(); empty if the clocks are not reduced or
  // nothing is known.
  std::string slowdown() const;

  // The other processes that compute on the GPU, see others_among(). Empty as well if NVML's pids
  // belong to another pid namespace: its list then lacks this process. NVML does not show processes
  // of other containers; only their effect on the samples can be noticed.
  std::vector<std::string> other_processes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "1g.10gb" for "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "" for a name without a slice. Pure.
std::string mig_slice_of(std::string_view device_name);

// The names of those of NVML's clock event reasons that make a sample useless, or "": hardware
// slowdown (clocks at half or less), thermal slowdown of hardware or software, power brake. The
// software power cap and clocks set by the card's owner are not among them: under this load they
// are normal. Pure.
std::string slowdown_text(std::uint64_t clock_event_reasons);

struct ProcessInfo {
  int pid = 0;
  int parent = 0;
  std::string name;

  friend bool operator==(const ProcessInfo&, const ProcessInfo&) = default;
};

// Parses the text of /proc/PID/stat; nullopt if the text is malformed. Pure.
std::optional<ProcessInfo> parse_proc_stat(std::string_view stat);

// The processes that do not belong to the same run as `self`, as "python3 (pid 4242)". A run
// consists of its program and the workers that the program started: self, its parent and the
// parent's other children. Process groups and sessions cannot tell runs apart: two runs started by
// one script share them. Pure.
std::vector<std::string> others_among(const std::vector<ProcessInfo>& processes,
                                      const ProcessInfo& self);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// What NVML tells of a GPU at work: clock, power, temperature, why its clocks are held down, and
// who else computes on it.
//
// libnvidia-ml belongs to the driver and is opened when an object is made. Without it, or where it
// does not answer, every answer is empty: a measurement then lacks its conditions but stands. NVML
// is asked by PCI bus id, because it does not number devices as CUDA does. The power is the card's
// own running mean (over a second on recent ones). Use one object from one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/outcome.h"

namespace gemm_tune {

class Nvml {
 public:
  // Of the CUDA device with this ordinal. Never throws for want of NVML or of the device.
  explicit Nvml(int ordinal);
  ~Nvml();
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;

  std::optional<GpuConditions> conditions() const;

  // The limit that holds for its power, the greatest clock of its memory, its MIG slice.
  GpuSettings settings() const;

  // Why the clocks are below what the load would get otherwise, see slowdown_text(); empty where
  // they are not, or nothing is known.
  std::string slowdown() const;

  // The other processes that compute on the GPU, see others_among(). Empty as well where NVML's
  // pids are not those of this pid namespace (it does not list this process then), and it does not
  // show processes of other containers: then only their effect on the samples can be noticed.
  std::vector<std::string> other_processes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "1g.10gb" of "NVIDIA H100 80GB HBM3 MIG 1g.10gb", or "" of a name without a slice. Pure.
std::string mig_slice_of(std::string_view device_name);

// The events among NVML's clock event reasons that make a sample useless, in words, or "": hardware
// slowdown (clocks at half or less), thermal slowdown of hardware or software, power brake. The
// software power cap is no such event: under this load it is the card's normal way of running, as
// are clocks set by its owner. Pure.
std::string slowdown_text(std::uint64_t clock_event_reasons);

struct ProcessInfo {
  int pid = 0;
  int parent = 0;
  std::string name;

  friend bool operator==(const ProcessInfo&, const ProcessInfo&) = default;
};

// The text of /proc/PID/stat, or nothing where it is no such text. Pure.
std::optional<ProcessInfo> parse_proc_stat(std::string_view stat);

// Those that do not belong to the same run as `self`, as "python3 (pid 4242)". A run's processes
// are its program and the workers that program started: self, its parent and the parent's other
// children. Process groups and sessions would not do: two runs started by one script share them.
// Pure.
std::vector<std::string> others_among(const std::vector<ProcessInfo>& processes,
                                      const ProcessInfo& self);

}  // namespace gemm_tune

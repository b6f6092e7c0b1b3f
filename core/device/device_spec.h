// SPDX-License-Identifier: Apache-2.0
// A GPU's limits and rates. They reject configs, feed the static model and identify stored results.
//
// The built-in table describes each architecture by a typical card, with its SM count, clock and
// bandwidth (core/device/gpu_cards.h has more cards). gpu/device.h fills the same struct from a
// real device. Units are in the names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gemm_tune {

struct DeviceSpec {
  std::string arch;  // "sm_86"
  std::string name;  // as the driver reports it, or the typical card of the built-in table
  int cc_major = 0, cc_minor = 0;
  int sm_count = 0;

  // Limits: CUDA C++ Programming Guide, "Compute Capabilities".
  int max_threads_per_cta = 1024;
  int max_threads_per_sm = 0;
  int max_ctas_per_sm = 0;
  int max_registers_per_thread = 255;
  int registers_per_sm = 65536;
  int registers_per_cta = 65536;
  int register_allocation_unit = 256;  // registers, per warp
  int smem_per_sm_bytes = 0;
  int max_smem_per_cta_bytes = 0;  // after opting in
  int smem_reserved_per_cta_bytes = 0;
  int smem_allocation_unit_bytes = 128;

  // Rates for the static model.
  int fp32_lanes_per_sm = 0;  // FFMA per clock per SM
  int clock_mhz = 0;          // boost
  double dram_gb_per_s = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;  // of the card

  // The number in `arch`: 86 for "sm_86".
  int sm() const { return 10 * cc_major + cc_minor; }

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

// sm_75 to sm_121, one typical card each, in ascending order.
std::span<const DeviceSpec> device_table();

// The number of an architecture: 86 for "sm_86"; 0 for a text without one.
int number_of_arch(std::string_view arch);

// The table's entry; nullopt for an architecture that the table lacks.
std::optional<DeviceSpec> find_device_spec(std::string_view arch);

// The cards that a person may mean, as by "RTX 3090" or "a100": the one with exactly these words in
// its name, whatever the case, "NVIDIA", "GeForce" and "Tesla" apart; else those with all of them.
std::vector<DeviceSpec> find_cards(std::string_view name);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// A time for a config from what is known without running it. A model, and always labelled as such.
//
// Roofline over the SM's pipes: issue slots, FFMAs or tensor cores, L1/shared-memory wavefronts, L2
// and DRAM bytes, by the element types of the config's signature;
// latency that too few warps or stages leave exposed; starts, ends and sums along K; over the CTAs
// of the busiest SM and their tail. Two tiers: from Traits alone (estimated registers), or with the
// compiled kernel's Resources. Its constants are those of the architecture's machine profile. Its
// purpose is order, not exact times. Pure, half a microsecond a call, a fifth of that for a config
// whose ConfigModel is kept; any thread.
#pragma once

#include <optional>

#include "core/candidate/outcome.h"
#include "core/device/device_spec.h"
#include "core/problem/problem.h"
#include "kernel_templates/traits.h"
#include "search/model/learned_correction.h"
#include "search/model/machine_profile.h"
#include "search/model/main_loop.h"
#include "search/model/warpgroup_cycles.h"

namespace gemm_tune {

struct Prediction {
  double time_us = 0;
  double correction = 1;  // learned; a factor of that time
  // The terms, for `explain`. Times are those the pipe alone would need for the whole problem.
  int ctas_per_sm = 0;
  double occupancy = 0;               // resident warps over the SM's maximum
  double waves = 0;                   // whole and partial
  double tail_efficiency = 0;         // useful CTA slots over all slots of the waves started
  double ffma_us = 0, tensor_us = 0;  // of the two pipes that multiply, a config uses one
  double issue_us = 0, l1_us = 0, l2_us = 0, dram_us = 0;
  double latency_us = 0;           // exposed, on the busiest SM
  double repack_us = 0;            // of the launch before, which copies operands
  double flops_per_dram_byte = 0;  // arithmetic intensity
};

// The registers of a thread where as many CTAs as the config asks for share an SM's.
int shared_registers(const Traits& traits, const DeviceSpec& device);

// Whether the operands of a k step are loaded during that step though registers let them be loaded
// before it. Only for FFMAs, with which that was measured.
bool loads_operands_late(const Traits& traits, const DeviceSpec& device,
                         const ModelConstants& constants);

// Whether the model's times of a config are corrected by what was learned (learned_correction.h).
bool has_learned_times(const Traits& traits, const ModelConstants& constants);

// What a config decides of the model on an architecture, whatever the problem.
class ConfigModel {
 public:
  // resources: of the compiled kernel where there is one. constants: live as long as the model.
  // device: its SMs do not count.
  ConfigModel(const Traits& traits, const DeviceSpec& device,
              const std::optional<Resources>& resources, const ModelConstants& constants);

  // Has more of it computed at once, for a config that many problems are asked for.
  void remember() { loop_.remember_busy_cycles(ctas_per_sm_); }

  // On a device of so many SMs. A config of which no CTA fits gets an infinite time.
  Prediction predict(const Problem& problem, int sm_count) const;

  // The time of predict() alone.
  double time_us(const Problem& problem, int sm_count) const;

  // What the learned correction reads at a problem; nothing where there is none for the config.
  std::optional<CorrectionFeatures> correction_features(const Problem& problem, int sm_count) const;

  // What is the same at every problem.
  int ctas_per_sm() const { return ctas_per_sm_; }
  const MainLoop& loop() const { return loop_; }
  const std::optional<WarpgroupStep>& warpgroup_step() const { return step_; }
  bool is_learned() const { return has_learned_times(traits_, *constants_); }

 private:
  struct Terms;
  Terms terms(const Problem& problem, int sm_count) const;
  CorrectionFeatures features(const Problem& problem, const Terms& terms) const;
  double dram_us(double bytes) const;
  double split_us(const Problem& problem) const;
  double repack_us(const Problem& problem, int sm_count) const;

  Traits traits_;
  LaunchRecipe recipe_;
  const ModelConstants* constants_;
  double clock_mhz_, dram_bytes_per_us_, l2_bytes_;
  double spill_bytes_ = 0;  // stores and loads per thread
  int ctas_per_sm_ = 0;
  double occupancy_ = 0;
  double a_row_bytes_, b_column_bytes_;  // that loads of an element of each move
  double slowdown_;                      // of an SM
  MainLoop loop_;
  std::optional<WarpgroupStep> step_;  // of a kernel by wgmma
};

// resources: of the compiled kernel where there is one. A config of which no CTA fits gets an
// infinite time.
Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources = std::nullopt);

// The same with other constants than those of the device's architecture.
Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources, const ModelConstants& constants);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// The outcome of a candidate: a plain value that crosses process boundaries and is stored
// unchanged.
//
// A candidate that fails is data, never an exception. "Not measured" is an empty optional.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gemm_tune {

enum class Disposition {
  ok,              // verified and timed, or predicted
  rejected,        // by a rule before compiling, or by its resources after compiling
  compile_failed,  // the compiler refused the candidate
  launch_failed,   // the driver refused the launch, or the kernel faulted
  wrong_result,    // verification found a wrong or unwritten element
  timed_out,       // its compiler or its kernel ran past the time limit
  crashed,         // its worker died
};

std::string_view to_string(Disposition disposition);
// Throws Error on an unknown word.
Disposition parse_disposition(std::string_view word);

enum class Source { measured, predicted };

std::string_view to_string(Source source);
Source parse_source(std::string_view word);

// The resources of a compiled kernel, from the compiler and the occupancy rules.
struct Resources {
  int registers = 0;    // per thread
  int spill_bytes = 0;  // spill stores + loads, per thread
  int stack_bytes = 0;  // per thread
  int smem_bytes = 0;   // dynamic + static, per CTA, without the runtime's reserved part
  int ctas_per_sm = 0;

  friend bool operator==(const Resources&, const Resources&) = default;
};

// A GPU's settings, as far as NVML reports them.
struct GpuSettings {
  std::optional<double> power_limit_w = {};
  std::optional<int> memory_mhz = {};  // highest clock of its memory
  std::string mig_slice = {};          // as in "1g.10gb"; empty for a whole GPU

  friend bool operator==(const GpuSettings&, const GpuSettings&) = default;
};

// The state of the GPU while the samples were taken, from NVML.
struct GpuConditions {
  int sm_mhz = 0;
  double power_w = 0;
  int temperature_c = 0;

  friend bool operator==(const GpuConditions&, const GpuConditions&) = default;
};

struct Timing {
  double median_us = 0;            // hot: the same operands launch after launch
  std::vector<double> samples_us;  // each the mean launch time of one batch between two events
  int launches_per_sample = 0;
  std::optional<double> cold_us =
      {};  // median with the operands rotated through more than L2 holds
  std::optional<GpuConditions> conditions = {};
  std::string disturbance =
      {};  // why repeated samples may still be off; empty for undisturbed samples

  friend bool operator==(const Timing&, const Timing&) = default;
};

// The place of a candidate in the finals of its run, by core/candidate/winner_rule.h.
struct Ranking {
  int rank = 0;                       // by the hot rule, from 1, the winner's
  std::optional<int> cold_rank = {};  // by cold times alone, where it has one
  bool tied = false;                  // the winner, or not shown to be slower than the fastest
  bool verified = false;  // finals also verified the specialisations that serve other problems

  friend bool operator==(const Ranking&, const Ranking&) = default;
};

// Which time decides between candidates.
enum class Objective {
  hot,   // the same operands launch after launch
  cold,  // operands that L2 does not hold
};

struct Outcome {
  Disposition disposition = Disposition::ok;
  std::string detail;  // the reason, empty for ok
  std::optional<Resources> resources;
  std::optional<Timing> timing;         // present iff timed on a GPU
  std::optional<double> predicted_us;   // the static model's time, if a prediction was requested
  std::optional<Ranking> ranking = {};  // present iff finals timed it in turn with others
  // The environment caused the failure: the worker was killed or stopped from outside, or memory
  // ran out. The candidate may be fine, so the outcome is never stored.
  bool by_environment = false;
  std::optional<double> compile_s = {};  // seconds in the compiler
  std::optional<double> gpu_s = {};      // seconds that a worker held the GPU
  // Of D at the problem, on random operands with alpha = 1 and beta = 0: the Frobenius norm of the
  // difference from an fp64 reference, over that of the reference.
  std::optional<double> error = {};

  // The measured time of one launch, else the predicted one.
  std::optional<double> time_us() const {
    return timing ? std::optional(timing->median_us) : predicted_us;
  }
  // The time that decides. By Objective::cold of a candidate without a cold time: its hot time,
  // which its cold time would exceed.
  std::optional<double> deciding_us(Objective objective) const {
    return objective == Objective::cold && timing && timing->cold_us ? timing->cold_us : time_us();
  }

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// One error over another, as of a config's results over cuBLAS's; 1 where both are 0, infinite
// where only the other is; nullopt where one is not known.
std::optional<double> error_ratio(const std::optional<double>& its,
                                  const std::optional<double>& others);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// What a measuring worker is asked, and what it answers. Plain values; how they cross the pipe is
// in tuner/work/protocol.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/candidate/outcome.h"
#include "core/problem/problem.h"
#include "db/database.h"
#include "tuner/measure/baseline_kind.h"

namespace gemm_tune {

// A kernel, or an algorithm of a library, which has no cubin.
struct CompiledConfig {
  std::string config;          // canonical text
  std::string cubin_key = {};  // of kernel_key(): the config alone does not tell what was compiled
  std::string cubin = {};      // its bytes: a worker shares no folder with whoever compiled it
};

// Which algorithms of libraries to try at the problem: Library::proposals().
struct ProposalsRequest {
  Problem problem;
  std::uint64_t seed = 0;  // of the operands
  int most = 100;          // of cublasLt's
};

struct ProposalsReply {
  std::vector<std::string> configs;  // canonical texts
};

// Verify the candidate at small shapes and at the problem, then time it there.
struct MeasureRequest {
  Problem problem;
  CompiledConfig candidate;
  std::uint64_t seed = 0;          // of the operands
  std::optional<double> best_us;   // so far: it is timed only as long as it could be faster
  bool small_shapes_only = false;  // verify there and time nothing: for a winner's specialisations
  // By Objective::cold, best_us is a cold time, and a candidate whose hot time is no longer is
  // timed with cold operands too.
  Objective objective = Objective::hot;
};

struct MeasureReply {
  Outcome outcome;  // its resources hold the driver's ctas_per_sm alone
};

// Re-time the finalists and the baselines, one sample of each in turn. No finalists: baselines
// alone.
struct FinalsRequest {
  Problem problem;
  std::vector<CompiledConfig> finalists;
  std::uint64_t seed = 0;
  std::vector<BaselineKind> baselines = {BaselineKind::cublas};
  Objective objective = Objective::hot;  // cold: with more rounds of cold operands
};

struct FinalsReply {
  std::vector<Timing> finalists;              // in the request's order
  std::vector<std::optional<double>> errors;  // of the finalists, as in Outcome
  std::vector<Baseline> baselines;            // likewise, without those that are absent
  std::vector<std::string> absent;            // a sentence for each baseline that cuBLAS refuses
  std::vector<std::string> others;  // processes of others that computed on the GPU meanwhile
};

}  // namespace gemm_tune

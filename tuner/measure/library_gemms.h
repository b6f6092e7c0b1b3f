// SPDX-License-Identifier: Apache-2.0
// What a measurer calls of cuBLAS and cublasLt: the baselines of finals, and candidates that are
// algorithms of these libraries.
//
// A library is opened when it is first needed. A baseline is verified before it is handed out: it
// must have done the same work. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/candidate/outcome.h"
#include "core/problem/problem.h"
#include "db/record.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/cuda_libraries/cublas_lt.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "runtime/library.h"
#include "tuner/measure/baseline_kind.h"
#include "tuner/measure/timing.h"
#include "tuner/measure/verify.h"

namespace gemm_tune {

// One way to do what a baseline does: of several of one name, the fastest counts.
struct BaselineGemm {
  Baseline what;  // without a timing
  Gemm gemm;
};

class LibraryGemms {
 public:
  // Both must outlive it, and it the Gemms that it returns. stream: the timer's.
  LibraryGemms(const Stream& stream, LaunchTimer& timer) : stream_(stream), timer_(timer) {}

  // As Library::proposals(); none where no library takes the call.
  std::vector<KnownConfig> proposals(const GemmCall& call, int most);

  // Enqueues calls like this one by the config, an algorithm of a library. Throws DeviceError where
  // the library refuses it.
  Gemm of_config(const std::string& config, const GemmCall& call);

  // The baselines of these kinds, those of one name side by side. absent: gets a sentence for each
  // kind that has none at the problem. Throws DeviceError where cuBLAS's own choice, or all that
  // cublasLt proposes, fails verification.
  std::vector<BaselineGemm> baselines(const std::vector<BaselineKind>& kinds,
                                      const Problem& problem, Verifier& verify,
                                      std::vector<std::string>& absent);

 private:
  BaselineGemm cublas(const Problem& problem, Verifier& verify);
  std::optional<BaselineGemm> cublas_autotuned(const Problem& problem, Verifier& verify,
                                               std::vector<std::string>& absent);
  std::optional<BaselineGemm> cublas_lt_first(const Problem& problem, Verifier& verify,
                                              std::vector<std::string>& absent);
  std::vector<BaselineGemm> cublas_lt_fastest(const Problem& problem, Verifier& verify);
  CublasLt& opened_lt();
  void* lt_workspace();

  const Stream& stream_;
  LaunchTimer& timer_;
  std::optional<Cublas> cublas_;
  std::optional<Cublas> autotuning_;  // a handle of its own: it keeps what cuBLAS's timings chose
  std::optional<CublasLt> cublas_lt_;
  Library algorithms_;
  std::optional<DeviceBuffer<char>> lt_workspace_;  // of both libraries' algorithms
  // The latest problem, and cublasLt's algorithms for it: fastest_first().
  std::optional<std::pair<Problem, std::vector<std::size_t>>> lt_order_;
};

// The fastest timing of each name, with its error, in the order of the baselines.
std::vector<Baseline> best_of_each(std::span<const BaselineGemm> baselines,
                                   std::span<const Timing> timings,
                                   std::span<const std::optional<double>> errors);

}  // namespace gemm_tune

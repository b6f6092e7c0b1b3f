// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/library_gemms.h"

#include <memory>

#include "core/error.h"
#include "gpu/cuda_libraries/cublas_types.h"
#include "gpu/launch/launch_graph.h"
#include "kernel_templates/registry/registry.h"
#include "tuner/measure/lt_algorithms.h"

namespace gemm_tune {
namespace {

// Of cublasLt's algorithms, so many are timed in turn with the finalists.
constexpr std::size_t kLtFinalists = 3;

// Why a library is not called for such products, as a sentence.
std::optional<std::string> why_no_baseline(BaselineKind kind, const Problem& problem) {
  const std::string name(to_string(kind));
  const auto [a, b] = std::pair(problem.signature.a, problem.signature.b);
  if (bytes_of(a) != bytes_of(b)) {
    return name + ": no library multiplies " + std::string(to_string(a)) + " by " +
           std::string(to_string(b));
  }
  const Epilogue& epilogue = problem.epilogue;
  const bool is_strided = problem.batch_kind == BatchKind::strided;
  if (epilogue.is_none() && (is_strided || kind != BaselineKind::cublas_lt)) return std::nullopt;
  if (kind == BaselineKind::cublas_autotuned) return name + ": cublasGemmEx has no epilogues";
  if (!is_strided) return name + ": cublasLt is called for strided batches only";
  if (cublas_abi::lt_number(epilogue.transposed())) return std::nullopt;
  return name + ": cublasLt has no epilogue " + to_string(epilogue);
}

}  // namespace

CublasLt& LibraryGemms::opened_lt() {
  if (!cublas_lt_) cublas_lt_.emplace();
  return *cublas_lt_;
}

void* LibraryGemms::lt_workspace() {
  if (!lt_workspace_) lt_workspace_.emplace(CublasLt::kWorkspaceBytes);
  return lt_workspace_->data();
}

std::vector<KnownConfig> LibraryGemms::proposals(const GemmCall& call, int most) {
  return library_takes(call) ? algorithms_.proposals(call, most) : std::vector<KnownConfig>();
}

Gemm LibraryGemms::of_config(const std::string& config, const GemmCall& call) {
  const auto prepared = std::make_shared<const LibraryCall>(
      algorithms_.prepare(check_config(parse_config(config)), call));
  return [prepared, config, workspace = lt_workspace(), this](const GemmCall& one) {
    if (prepared->launch(one, workspace, stream_.get())) return;
    throw DeviceError("the library refuses " + config);
  };
}

BaselineGemm LibraryGemms::cublas(const Problem& problem, Verifier& verify) {
  if (!cublas_) {
    cublas_.emplace();
    cublas_->set_stream(stream_.get());
  }
  BaselineGemm own{{Cublas::function_name(problem), cublas_->version(), {}},
                   [&library = *cublas_](const GemmCall& call) { library.gemm(call); }};
  if (auto wrong = verify.check(own.gemm, shape_of(problem))) {
    throw DeviceError(to_string(own.what) + " fails verification: " + *wrong);
  }
  return own;
}

std::optional<BaselineGemm> LibraryGemms::cublas_autotuned(const Problem& problem, Verifier& verify,
                                                           std::vector<std::string>& absent) {
  if (!autotuning_) {
    autotuning_.emplace();
    autotuning_->set_stream(stream_.get());
  }
  const std::string function = Cublas::autotuned_name(problem);
  const Baseline what{function + "-autotuned", autotuning_->version(), {}};
  const Gemm gemm = [&library = *autotuning_, function](const GemmCall& call) {
    if (const auto status = library.gemm_autotuned(call)) {
      throw DeviceError(function + " with autotuning failed with " + *status);
    }
  };
  const auto without = [&](const std::string& why) {
    absent.push_back(to_string(what) + ": " + why);
    return std::nullopt;
  };
  const auto timing_call = [&] { return verify.timing_call(shape_of(problem)); };
  if (const auto status = autotuning_->gemm_autotuned(timing_call())) return without(*status);
  try {
    // The first calls are cuBLAS's own timings, whatever it knows a problem by.
    verify.check(gemm, shape_of(problem));
    if (auto wrong = verify.check(gemm, shape_of(problem))) return without(*wrong);
    const GemmCall call = timing_call();  // another one: a check may replace the operands
    stream_.synchronize();
    LaunchGraph(stream_, [&] { gemm(call); });
  } catch (const CudaError&) {
    throw;
  } catch (const DeviceError& error) {
    return without(error.what());
  }
  return BaselineGemm{what, gemm};
}

// What a program gets that asks cublasLt for the epilogue and takes its first proposal.
std::optional<BaselineGemm> LibraryGemms::cublas_lt_first(const Problem& problem, Verifier& verify,
                                                          std::vector<std::string>& absent) {
  CublasLt& library = opened_lt();
  void* const workspace = lt_workspace();
  const GemmCall call = verify.timing_call(shape_of(problem));
  const auto plan = std::make_shared<const CublasLt::Plan>(library.plan(call, 1));
  const Baseline what{"cublasLtMatmul", library.version(), {}};
  const Gemm gemm = [plan, workspace, this](const GemmCall& one) {
    run_algorithm(*plan, 0, one, stream_, workspace);
  };
  const auto wrong = plan->size() == 0 ? std::optional<std::string>("has no algorithm")
                                       : verify.check(gemm, shape_of(problem));
  if (!wrong) return BaselineGemm{what, gemm};
  absent.push_back(to_string(what) + ": " + *wrong);
  return std::nullopt;
}

// The best few of what cublasLt proposes, right and timed quickly.
std::vector<BaselineGemm> LibraryGemms::cublas_lt_fastest(const Problem& problem,
                                                          Verifier& verify) {
  CublasLt& library = opened_lt();
  void* const workspace = lt_workspace();
  const GemmCall call = verify.timing_call(shape_of(problem));
  const auto plan = std::make_shared<const CublasLt::Plan>(library.plan(call));
  const Baseline what{"cublasLt", library.version(), {}, {}, static_cast<int>(plan->size())};
  // Finals may be held again soon.
  if (!lt_order_ || lt_order_->first != problem) {
    lt_order_.emplace(problem, fastest_first(*plan, call, timer_, stream_, workspace));
  }
  std::vector<BaselineGemm> best;
  for (const std::size_t i : lt_order_->second) {
    const Gemm gemm = [plan, i, workspace, this](const GemmCall& one) {
      run_algorithm(*plan, i, one, stream_, workspace);
    };
    if (verify.check(gemm, shape_of(problem))) continue;
    best.push_back({what, gemm});
    if (best.size() == kLtFinalists) break;
  }
  if (best.empty()) throw DeviceError(to_string(what) + " has none that is right");
  return best;
}

std::vector<BaselineGemm> LibraryGemms::baselines(const std::vector<BaselineKind>& kinds,
                                                  const Problem& problem, Verifier& verify,
                                                  std::vector<std::string>& absent) {
  std::vector<BaselineGemm> all;
  const auto add = [&](std::optional<BaselineGemm> one) {
    if (one) all.push_back(*std::move(one));
  };
  for (const BaselineKind kind : kinds) {
    if (const auto why = why_no_baseline(kind, problem)) {
      absent.push_back(*why);
      continue;
    }
    switch (kind) {
      case BaselineKind::cublas:
        add(problem.epilogue.is_none() ? cublas(problem, verify)
                                       : cublas_lt_first(problem, verify, absent));
        break;
      case BaselineKind::cublas_autotuned:
        add(cublas_autotuned(problem, verify, absent));
        break;
      case BaselineKind::cublas_lt:
        for (BaselineGemm& one : cublas_lt_fastest(problem, verify)) add(std::move(one));
        break;
    }
  }
  return all;
}

std::vector<Baseline> best_of_each(std::span<const BaselineGemm> baselines,
                                   std::span<const Timing> timings,
                                   std::span<const std::optional<double>> errors) {
  std::vector<Baseline> best;
  for (std::size_t i = 0; i < baselines.size(); ++i) {
    Baseline one = baselines[i].what;
    one.timing = timings[i];
    one.error = errors[i];
    if (best.empty() || best.back().name != one.name) {
      best.push_back(std::move(one));
    } else if (one.timing.median_us < best.back().timing.median_us) {
      best.back() = std::move(one);
    }
  }
  return best;
}

}  // namespace gemm_tune

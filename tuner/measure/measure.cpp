// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/measure.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "core/error.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/cuda_libraries/cublas_lt.h"
#include "gpu/cuda_libraries/cublas_types.h"
#include "gpu/device.h"
#include "gpu/launch/stream.h"
#include "gpu/nvml.h"
#include "kernel_templates/registry/registry.h"
#include "runtime/library.h"
#include "runtime/prepared_call.h"
#include "runtime/workspace.h"
#include "tuner/measure/lt_algorithms.h"
#include "tuner/measure/rotated_operands.h"
#include "tuner/measure/timing.h"
#include "tuner/measure/verify.h"

namespace gemm_tune {
namespace {

// A loaded candidate and how to launch it. Use from one thread.
class LoadedConfig {
 public:
  LoadedConfig(const CompiledConfig& compiled, int sm_count)
      : config_(check_config(parse_config(compiled.config))),
        sm_count_(sm_count),
        kernels_(std::make_unique<LoadedKernels>(compiled.cubin)) {}

  const KnownConfig& config() const { return config_; }

  int max_active_ctas(const Problem& problem) const {
    return gemm_tune::max_active_ctas(*kernels_, prepared(problem).plan());
  }

  bool shares_tiles() const {
    return config_.recipe.split_k > 1 || config_.recipe.tail_ctas_per_sm > 0 ||
           config_.traits.cuts_tiles;
  }

  std::int64_t workspace_bytes(const Problem& problem) const {
    return prepared(problem).plan().workspace_bytes;
  }

  // The workspace must have the bytes that the call's problem needs.
  void launch(const GemmCall& call, const Workspace& workspace, cudaStream_t stream) const {
    prepared(call.problem).launch(call, workspace.data(), stream);
  }

 private:
  // Of calls that are timed, one after the other has the same problem. Libraries' kernels wait for
  // the launch before; so do these, though what is served may overlap with it.
  const PreparedCall& prepared(const Problem& problem) const {
    if (!latest_ || latest_->first != problem) {
      const LaunchPlan plan = config_.plan(problem, sm_count_);
      latest_.emplace(problem, PreparedCall(*kernels_, plan.without_overlap_before()));
    }
    return latest_->second;
  }

  KnownConfig config_;
  int sm_count_;
  std::unique_ptr<LoadedKernels> kernels_;  // stay where they are when this object moves
  mutable std::optional<std::pair<Problem, PreparedCall>> latest_;
};

// A way to do what a baseline does; of several of one name, the fastest counts.
// A function of a library. what: without a timing.
struct Contender {
  Baseline what;
  Gemm gemm;
};

// More bytes of cold operands are not kept for the next candidate.
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 30;

// Of cublasLt's algorithms, so many are timed in turn with the finalists.
constexpr std::size_t kLtContenders = 3;

// The fastest timing of each function, with its error, in the contenders' order.
std::vector<Baseline> best_of_each(const std::vector<Contender>& contenders,
                                   std::span<const Timing> timings,
                                   std::span<const std::optional<double>> errors) {
  std::vector<Baseline> best;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    Baseline one = contenders[i].what;
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

// Why a library is not called for such products, as a sentence.
std::optional<std::string> why_no_contender(BaselineKind kind, const Problem& problem) {
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

Outcome launch_failure(const std::string& detail) {
  Outcome outcome;
  outcome.disposition = Disposition::launch_failed;
  outcome.detail = detail;
  return outcome;
}

Outcome wrong_result(Outcome outcome, const std::string& detail) {
  outcome.disposition = Disposition::wrong_result;
  outcome.detail = detail;
  return outcome;
}

}  // namespace

struct Measurer::Impl {
  explicit Impl(int device) : ordinal(device) {
    check_driver();
    set_device(ordinal);
    spec = query_device(ordinal);
    stream.emplace();
    nvml.emplace(ordinal);
    timer.emplace(*stream, *nvml);
  }

  // Fresh operands for every run: the verifier belongs to one seed.
  Verifier& verifier_for(std::uint64_t seed) {
    if (!verifier || verifier_seed != seed) {
      verifier.reset();
      verifier.emplace(spec, stream->get(), seed);
      verifier_seed = seed;
    }
    return *verifier;
  }

  Cublas& cublas_library() {
    if (!cublas) {
      cublas.emplace();
      cublas->set_stream(stream->get());
    }
    return *cublas;
  }

  Contender cublas_contender(const Problem& problem, Verifier& verify) {
    Cublas& library = cublas_library();
    Contender cublas_itself{{Cublas::function_name(problem), library.version(), {}},
                            [&library](const GemmCall& call) { library.gemm(call); }};
    // The baseline must have done the same work.
    if (auto wrong = verify.check(cublas_itself.gemm, shape_of(problem))) {
      throw DeviceError(to_string(cublas_itself.what) + " fails verification: " + *wrong);
    }
    return cublas_itself;
  }

  // The best few of what cublasLt proposes, right and timed quickly.
  std::vector<Contender> cublas_lt_contenders(const Problem& problem, Verifier& verify) {
    if (!cublas_lt) cublas_lt.emplace();
    if (!lt_workspace) lt_workspace.emplace(CublasLt::kWorkspaceBytes);
    const GemmCall call = verify.timing_call(shape_of(problem));
    const auto plan = std::make_shared<const CublasLt::Plan>(cublas_lt->plan(call));
    const Baseline what{"cublasLt", cublas_lt->version(), {}, {}, static_cast<int>(plan->size())};
    std::vector<Contender> best;
    // Finals may be held again soon.
    if (!lt_order || lt_order->first != problem) {
      lt_order.emplace(problem, fastest_first(*plan, call, *timer, *stream, lt_workspace->data()));
    }
    for (const std::size_t i : lt_order->second) {
      const Gemm gemm = [plan, i, this](const GemmCall& one) {
        run_algorithm(*plan, i, one, *stream, lt_workspace->data());
      };
      if (verify.check(gemm, shape_of(problem))) continue;
      best.push_back({what, gemm});
      if (best.size() == kLtContenders) break;
    }
    if (best.empty()) throw DeviceError(to_string(what) + " has none that is right");
    return best;
  }

  // What a program gets that asks cublasLt for the epilogue and takes its first proposal. absent:
  // gets a sentence where there is none.
  std::optional<Contender> plain_lt_contender(const Problem& problem, Verifier& verify,
                                              std::vector<std::string>& absent) {
    if (!cublas_lt) cublas_lt.emplace();
    if (!lt_workspace) lt_workspace.emplace(CublasLt::kWorkspaceBytes);
    const GemmCall call = verify.timing_call(shape_of(problem));
    const auto plan = std::make_shared<const CublasLt::Plan>(cublas_lt->plan(call, 1));
    const Baseline what{"cublasLtMatmul", cublas_lt->version(), {}};
    const Gemm gemm = [plan, this](const GemmCall& one) {
      run_algorithm(*plan, 0, one, *stream, lt_workspace->data());
    };
    const auto wrong = plan->size() == 0 ? std::optional<std::string>("has no algorithm")
                                         : verify.check(gemm, shape_of(problem));
    if (!wrong) return Contender{what, gemm};
    absent.push_back(to_string(what) + ": " + *wrong);
    return std::nullopt;
  }

  // absent: gets a sentence where there is none.
  std::optional<Contender> autotuned_contender(const Problem& problem, Verifier& verify,
                                               std::vector<std::string>& absent) {
    if (!autotuning) {
      autotuning.emplace();
      autotuning->set_stream(stream->get());
    }
    const std::string function = Cublas::autotuned_name(problem);
    const Baseline what{function + "-autotuned", autotuning->version(), {}};
    const Gemm gemm = [&library = *autotuning, function](const GemmCall& call) {
      if (const auto status = library.gemm_autotuned(call)) {
        throw DeviceError(function + " with autotuning failed with " + *status);
      }
    };
    const auto without = [&](const std::string& why) {
      absent.push_back(to_string(what) + ": " + why);
      return std::nullopt;
    };
    const auto timing_call = [&] { return verify.timing_call(shape_of(problem)); };
    if (const auto status = autotuning->gemm_autotuned(timing_call())) return without(*status);
    try {
      // The first calls are cuBLAS's own timings, whatever it knows a problem by.
      verify.check(gemm, shape_of(problem));
      if (auto wrong = verify.check(gemm, shape_of(problem))) return without(*wrong);
      const GemmCall call = timing_call();  // another one: a check may replace the operands
      stream->synchronize();
      LaunchGraph(*stream, [&] { gemm(call); });
    } catch (const CudaError&) {
      throw;
    } catch (const DeviceError& error) {
      return without(error.what());
    }
    return Contender{what, gemm};
  }

  std::vector<Contender> contenders(const FinalsRequest& request, Verifier& verify,
                                    std::vector<std::string>& absent) {
    std::vector<Contender> all;
    for (const BaselineKind kind : request.baselines) {
      if (const auto why = why_no_contender(kind, request.problem)) {
        absent.push_back(*why);
        continue;
      }
      if (kind == BaselineKind::cublas && !request.problem.epilogue.is_none()) {
        if (auto one = plain_lt_contender(request.problem, verify, absent)) {
          all.push_back(std::move(*one));
        }
      } else if (kind == BaselineKind::cublas) {
        all.push_back(cublas_contender(request.problem, verify));
      } else if (kind == BaselineKind::cublas_autotuned) {
        if (auto one = autotuned_contender(request.problem, verify, absent)) {
          all.push_back(std::move(*one));
        }
      } else {
        for (Contender& one : cublas_lt_contenders(request.problem, verify)) {
          all.push_back(std::move(one));
        }
      }
    }
    return all;
  }

  // Makes the workspace serve launches that need so many bytes; false where memory does not
  // suffice.
  bool reserve_workspace(std::int64_t bytes) {
    if (workspace.bytes() >= bytes) return true;
    stream->synchronize();
    workspace = Workspace();
    try {
      workspace = Workspace(bytes, stream->get());
    } catch (const CudaError& error) {
      if (error.code() != cudaErrorMemoryAllocation) throw;
      return false;
    }
    return true;
  }

  std::set<std::string> others() const {
    const std::vector<std::string> names = nvml->other_processes();
    return {names.begin(), names.end()};
  }

  // What is wrong with the config at these shapes, if anything.
  std::optional<std::string> find_wrong(Verifier& verify, const LoadedConfig& loaded,
                                        const std::vector<GemmCall>& shapes) {
    const Gemm gemm = [&](const GemmCall& call) {
      workspace.poison(loaded.workspace_bytes(call.problem), stream->get());
      loaded.launch(call, workspace, stream->get());
    };
    for (const GemmCall& shape : shapes) {
      if (auto wrong = verify.check(gemm, shape)) return wrong;
      if (loaded.shares_tiles() && !workspace.is_clean()) {
        return "counters of the workspace were left behind at " + to_string(problem_of(shape));
      }
    }
    if (loaded.shares_tiles()) return verify.check_repeats(gemm, shapes.front());
    return std::nullopt;
  }

  std::optional<double> error_of(Verifier& verify, const LoadedConfig& loaded,
                                 const GemmCall& shape) {
    return verify.relative_error(
        [&](const GemmCall& call) { loaded.launch(call, workspace, stream->get()); }, shape);
  }

  // Enqueues calls of the problem by an algorithm of a library. Throws DeviceError where the
  // library refuses it.
  Gemm gemm_of_library(const std::string& config, const GemmCall& call) {
    const auto prepared = std::make_shared<const LibraryCall>(
        libraries.prepare(check_config(parse_config(config)), call));
    if (!lt_workspace) lt_workspace.emplace(CublasLt::kWorkspaceBytes);
    return [prepared, config, this](const GemmCall& one) {
      if (prepared->launch(one, lt_workspace->data(), stream->get())) return;
      throw DeviceError("the library refuses " + config);
    };
  }

  // What a library refuses was not run.
  Outcome verify_and_time_library(const MeasureRequest& request) {
    Outcome outcome;
    Verifier& verify = verifier_for(request.seed);
    const GemmCall shape = shape_of(request.problem);
    try {
      const Gemm gemm = gemm_of_library(request.candidate.config, verify.timing_call(shape));
      if (auto wrong = verify.check(gemm, shape)) return wrong_result(outcome, *wrong);
      outcome.error = verify.relative_error(gemm, shape);
      time(request, verify.timing_call(shape), gemm, outcome);
    } catch (const CudaError&) {
      throw;
    } catch (const DeviceError& error) {
      outcome = {};
      outcome.disposition = Disposition::rejected;
      outcome.detail = error.what();
    }
    return outcome;
  }

  Outcome verify_and_time(const MeasureRequest& request, const LoadedConfig& loaded) {
    Outcome outcome;
    outcome.resources.emplace().ctas_per_sm = loaded.max_active_ctas(request.problem);
    std::vector<GemmCall> shapes =
        small_verification_shapes(loaded.config(), spec.sm_count, request.problem.epilogue);
    if (!request.small_shapes_only) shapes.push_back(shape_of(request.problem));
    std::int64_t bytes = 0;
    for (const GemmCall& shape : shapes) {
      bytes = std::max(bytes, loaded.workspace_bytes(problem_of(shape)));
    }
    if (!reserve_workspace(bytes)) {
      const std::string why = "no memory for its workspace of " + std::to_string(bytes) + " bytes";
      // What the card could hold is held by others at the moment.
      if (bytes <= device_memory_bytes(ordinal)) throw MemoryError(why);
      return launch_failure(why);
    }
    Verifier& verify = verifier_for(request.seed);
    if (auto wrong = find_wrong(verify, loaded, shapes)) return wrong_result(outcome, *wrong);
    if (request.small_shapes_only) return outcome;
    outcome.error = error_of(verify, loaded, shapes.back());
    time(
        request, verify.timing_call(shapes.back()),
        [&](const GemmCall& call) { loaded.launch(call, workspace, stream->get()); }, outcome);
    return outcome;
  }

  // Sets the outcome's timing.
  void time(const MeasureRequest& request, const GemmCall& call, const Gemm& gemm,
            Outcome& outcome) {
    SampleRule rule;
    rule.best_us = request.best_us;
    outcome.timing = timer->time([&](int) { gemm(call); }, rule);
    const bool is_beaten = request.best_us && outcome.timing->median_us > *request.best_us;
    if (request.objective == Objective::cold && !is_beaten) {
      outcome.timing->cold_us = cold_us(request.seed, call, gemm);
    }
  }

  // nullopt where no copies of the operands can be had, as for rotate_operands().
  std::optional<double> cold_us(std::uint64_t seed, const GemmCall& call, const Gemm& gemm) {
    if (!rotated || rotated->seed != seed || rotated->original != call) {
      rotated.reset();
      auto operands = rotate_operands(call, spec.l2_bytes, *stream);
      if (!operands) return std::nullopt;
      rotated.emplace(Rotated{seed, call, std::move(*operands)});
    }
    const std::vector<GemmCall>& copies = rotated->operands.copies;
    const auto launch = [&](int copy) { gemm(copies[static_cast<std::size_t>(copy)]); };
    const double us = timer->time_cold({launch}, static_cast<int>(copies.size())).front();
    // The next candidate's workspace may need the memory.
    if (rotated->operands.memory.size() > kMostKeptBytes) rotated.reset();
    return us;
  }

  int ordinal;
  DeviceSpec spec;
  std::optional<Stream> stream;
  std::optional<Nvml> nvml;
  std::optional<LaunchTimer> timer;
  std::optional<Verifier> verifier;
  std::uint64_t verifier_seed = 0;
  std::optional<Cublas> cublas;
  std::optional<Cublas> autotuning;  // a handle of its own: it keeps what cuBLAS's timings chose
  std::optional<CublasLt> cublas_lt;
  Library libraries;
  std::optional<DeviceBuffer<char>> lt_workspace;  // of both libraries' algorithms
  // The latest problem, and cublasLt's algorithms for it: fastest_first().
  std::optional<std::pair<Problem, std::vector<std::size_t>>> lt_order;
  // The cold operands of the latest candidate, for the next one.
  struct Rotated {
    std::uint64_t seed;
    GemmCall original;
    RotatedOperands operands;
  };
  std::optional<Rotated> rotated;
  Workspace workspace;  // of whatever is launched: one after another, in one stream
};

Measurer::Measurer(int ordinal) : impl_(std::make_unique<Impl>(ordinal)) {}
Measurer::~Measurer() = default;

ProposalsReply Measurer::propose(const ProposalsRequest& request) {
  const GemmCall call = impl_->verifier_for(request.seed).timing_call(shape_of(request.problem));
  ProposalsReply reply;
  if (!library_takes(call)) return reply;
  for (const KnownConfig& config : impl_->libraries.proposals(call, request.most)) {
    reply.configs.push_back(to_string(config.config()));
  }
  return reply;
}

MeasureReply Measurer::measure(const MeasureRequest& request) {
  if (names_library(request.candidate.config)) {
    try {
      return {impl_->verify_and_time_library(request)};
    } catch (const CudaError& error) {
      if (error.code() == cudaErrorMemoryAllocation) throw;
      return {launch_failure(error.what())};
    }
  }
  std::optional<LoadedConfig> loaded;
  try {
    loaded.emplace(request.candidate, impl_->spec.sm_count);
  } catch (const CudaError& error) {
    return {launch_failure(error.what())};
  }
  try {
    return {impl_->verify_and_time(request, *loaded)};
  } catch (const CudaError& error) {
    // Too little memory for the operands is not the candidate's fault.
    if (error.code() == cudaErrorMemoryAllocation) throw;
    return {launch_failure(error.what())};
  }
}

FinalsReply Measurer::finals(const FinalsRequest& request) {
  Verifier& verify = impl_->verifier_for(request.seed);
  FinalsReply reply;
  const std::vector<Contender> contenders = impl_->contenders(request, verify, reply.absent);
  const GemmCall shape = shape_of(request.problem);
  std::vector<LoadedConfig> loaded;
  loaded.reserve(request.finalists.size());
  std::vector<Gemm> finalists, of_libraries;
  for (const CompiledConfig& finalist : request.finalists) {
    if (names_library(finalist.config)) {
      finalists.push_back(impl_->gemm_of_library(finalist.config, verify.timing_call(shape)));
      of_libraries.push_back(finalists.back());
      continue;
    }
    loaded.emplace_back(finalist, impl_->spec.sm_count);
    const std::int64_t bytes = loaded.back().workspace_bytes(request.problem);
    if (!impl_->reserve_workspace(bytes)) {
      throw DeviceError("no memory for a finalist's workspace of " + std::to_string(bytes) +
                        " bytes");
    }
    finalists.push_back([this, &config = loaded.back()](const GemmCall& call) {
      config.launch(call, impl_->workspace, impl_->stream->get());
    });
  }
  for (const Gemm& gemm : finalists) {
    reply.errors.push_back(verify.relative_error(gemm, shape));
  }
  std::vector<std::optional<double>> errors;  // of the contenders
  for (const Contender& contender : contenders) {
    errors.push_back(verify.relative_error(contender.gemm, shape));
  }
  std::vector<GemmCall> calls = {verify.timing_call(shape)};
  std::vector<Launch> launches;
  for (const Contender& contender : contenders) {
    launches.push_back([&](int copy) { contender.gemm(calls[static_cast<std::size_t>(copy)]); });
  }
  for (const Gemm& gemm : finalists) {
    launches.push_back([&](int copy) { gemm(calls[static_cast<std::size_t>(copy)]); });
  }
  std::set<std::string> others = impl_->others();
  std::vector<Timing> timings = impl_->timer->time_interleaved(launches, FinalsRule());
  impl_->rotated.reset();
  if (auto rotated = rotate_operands(calls.front(), impl_->spec.l2_bytes, *impl_->stream)) {
    calls = std::move(rotated->copies);
    for (const GemmCall& call : calls) {  // cuBLAS may know a problem by its addresses' alignment
      for (const Contender& contender : contenders) contender.gemm(call);
      for (const Gemm& gemm : of_libraries) gemm(call);
    }
    impl_->stream->synchronize();
    const std::vector<double> cold_us = impl_->timer->time_cold(
        launches, static_cast<int>(calls.size()),
        request.objective == Objective::cold ? kDecidingColdRounds : kColdRounds);
    for (std::size_t i = 0; i < timings.size(); ++i) timings[i].cold_us = cold_us[i];
  }
  others.merge(impl_->others());
  reply.others.assign(others.begin(), others.end());
  reply.baselines = best_of_each(contenders, timings, errors);
  const auto own = timings.begin() + static_cast<std::ptrdiff_t>(contenders.size());
  reply.finalists.assign(std::make_move_iterator(own), std::make_move_iterator(timings.end()));
  return reply;
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/measure.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "core/error.h"
#include "gpu/cublas.h"
#include "gpu/cublas_lt.h"
#include "gpu/device.h"
#include "gpu/nvml.h"
#include "gpu/stream.h"
#include "kernel_templates/registry.h"
#include "runtime/prepared_call.h"
#include "runtime/workspace.h"
#include "tuner/measure/lt_algorithms.h"
#include "tuner/measure/rotated_operands.h"
#include "tuner/measure/timing.h"
#include "tuner/measure/verify.h"

namespace gemm_tune {
namespace {

// A loaded candidate and how to launch it.
class LoadedConfig {
 public:
  LoadedConfig(const CompiledConfig& compiled, int sm_count)
      : config_(check_config(parse_config(compiled.config))),
        kernels_(std::make_unique<LoadedKernels>(compiled.cubin, config_.recipe)),
        call_(*kernels_, config_.recipe, sm_count) {}

  const KnownConfig& config() const { return config_; }

  int max_active_ctas() const { return call_.max_active_ctas(); }

  bool shares_tiles() const {
    return config_.recipe.split_k > 1 || config_.recipe.tail_ctas_per_sm > 0;
  }

  std::int64_t workspace_bytes(const Problem& problem) const {
    return call_.workspace_bytes(problem);
  }

  // The workspace must have the bytes that the call's problem needs.
  void launch(const GemmCall& call, const Workspace& workspace, cudaStream_t stream) const {
    call_.launch(call, workspace.counters(), workspace.partials(), stream);
  }

 private:
  KnownConfig config_;
  std::unique_ptr<LoadedKernels> kernels_;  // stay where they are when this object moves
  PreparedCall call_;
};

// A way to do what a baseline does; of several of one name, the fastest counts.
struct Contender {
  std::string name;
  Gemm gemm;
};

// More bytes of cold operands are not kept for the next candidate.
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 30;

// Of cublasLt's algorithms, so many are timed in turn with the finalists.
constexpr std::size_t kLtContenders = 3;

// The fastest timing of each name, with its error, in the contenders' order.
std::vector<Baseline> best_of_each(const std::vector<Contender>& contenders,
                                   std::span<const Timing> timings,
                                   std::span<const std::optional<double>> errors) {
  std::vector<Baseline> best;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (best.empty() || best.back().name != contenders[i].name) {
      best.push_back({contenders[i].name, timings[i], errors[i]});
    } else if (timings[i].median_us < best.back().timing.median_us) {
      best.back() = {contenders[i].name, timings[i], errors[i]};
    }
  }
  return best;
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
    Contender cublas_itself{std::string(Cublas::function_name(problem)) + " " + library.version(),
                            [&library](const GemmCall& call) { library.gemm(call); }};
    // The baseline must have done the same work.
    if (auto wrong = verify.check(cublas_itself.gemm, shape_of(problem))) {
      throw DeviceError(cublas_itself.name + " fails verification: " + *wrong);
    }
    return cublas_itself;
  }

  // The best few of what cublasLt proposes, right and timed quickly.
  std::vector<Contender> cublas_lt_contenders(const Problem& problem, Verifier& verify) {
    if (!cublas_lt) cublas_lt.emplace();
    if (!lt_workspace) lt_workspace.emplace(CublasLt::kWorkspaceBytes);
    const GemmCall call = verify.timing_call(shape_of(problem));
    const auto plan = std::make_shared<const CublasLt::Plan>(cublas_lt->plan(call));
    const std::string name = "cublasLt " + cublas_lt->version() + " (best of " +
                             std::to_string(plan->size()) + " heuristics)";
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
      best.push_back({name, gemm});
      if (best.size() == kLtContenders) break;
    }
    if (best.empty()) throw DeviceError(name + " has none that is right");
    return best;
  }

  // absent: gets a sentence where there is none.
  std::optional<Contender> autotuned_contender(const Problem& problem, Verifier& verify,
                                               std::vector<std::string>& absent) {
    if (!autotuning) {
      autotuning.emplace();
      autotuning->set_stream(stream->get());
    }
    const std::string function = Cublas::autotuned_name(problem);
    const std::string name = function + "-autotuned " + autotuning->version();
    const Gemm gemm = [&library = *autotuning, function](const GemmCall& call) {
      if (const auto status = library.gemm_autotuned(call)) {
        throw DeviceError(function + " with autotuning failed with " + *status);
      }
    };
    const auto without = [&](const std::string& why) {
      absent.push_back(name + ": " + why);
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
    return Contender{name, gemm};
  }

  std::vector<Contender> contenders(const FinalsRequest& request, Verifier& verify,
                                    std::vector<std::string>& absent) {
    std::vector<Contender> all;
    for (const BaselineKind kind : request.baselines) {
      if (kind == BaselineKind::cublas) {
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
      workspace.poison_partials(loaded.workspace_bytes(call.problem), stream->get());
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

  Outcome verify_and_time(const MeasureRequest& request, const LoadedConfig& loaded) {
    Outcome outcome;
    outcome.resources.emplace().ctas_per_sm = loaded.max_active_ctas();
    std::vector<GemmCall> shapes = small_verification_shapes(loaded.config(), spec.sm_count);
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
    const GemmCall call = verify.timing_call(shapes.back());
    SampleRule rule;
    rule.best_us = request.best_us;
    outcome.timing = timer->time([&](int) { loaded.launch(call, workspace, stream->get()); }, rule);
    const bool is_beaten = request.best_us && outcome.timing->median_us > *request.best_us;
    if (request.objective == Objective::cold && !is_beaten) {
      outcome.timing->cold_us = cold_us(request.seed, call, loaded);
    }
    return outcome;
  }

  // nullopt where no copies of the operands can be had, as for rotate_operands().
  std::optional<double> cold_us(std::uint64_t seed, const GemmCall& call,
                                const LoadedConfig& loaded) {
    if (!rotated || rotated->seed != seed || rotated->original != call) {
      rotated.reset();
      auto operands = rotate_operands(call, spec.l2_bytes, *stream);
      if (!operands) return std::nullopt;
      rotated.emplace(Rotated{seed, call, std::move(*operands)});
    }
    const std::vector<GemmCall>& copies = rotated->operands.copies;
    const auto launch = [&](int copy) {
      loaded.launch(copies[static_cast<std::size_t>(copy)], workspace, stream->get());
    };
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
  std::optional<DeviceBuffer<char>> lt_workspace;
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

MeasureReply Measurer::measure(const MeasureRequest& request) {
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
  std::vector<LoadedConfig> loaded;
  for (const CompiledConfig& finalist : request.finalists) {
    loaded.emplace_back(finalist, impl_->spec.sm_count);
    const std::int64_t bytes = loaded.back().workspace_bytes(request.problem);
    if (!impl_->reserve_workspace(bytes)) {
      throw DeviceError("no memory for a finalist's workspace of " + std::to_string(bytes) +
                        " bytes");
    }
  }
  const GemmCall shape = shape_of(request.problem);
  for (const LoadedConfig& config : loaded) {
    reply.errors.push_back(impl_->error_of(verify, config, shape));
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
  for (const LoadedConfig& config : loaded) {
    launches.push_back([&, this](int copy) {
      config.launch(calls[static_cast<std::size_t>(copy)], impl_->workspace, impl_->stream->get());
    });
  }
  std::set<std::string> others = impl_->others();
  std::vector<Timing> timings = impl_->timer->time_interleaved(launches, FinalsRule());
  impl_->rotated.reset();
  if (auto rotated = rotate_operands(calls.front(), impl_->spec.l2_bytes, *impl_->stream)) {
    calls = std::move(rotated->copies);
    for (const GemmCall& call : calls) {  // cuBLAS may know a problem by its addresses' alignment
      for (const Contender& contender : contenders) contender.gemm(call);
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

// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/measure.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "core/error.h"
#include "gpu/device.h"
#include "gpu/launch/stream.h"
#include "gpu/nvml.h"
#include "kernel_templates/registry/registry.h"
#include "runtime/workspace.h"
#include "tuner/measure/library_gemms.h"
#include "tuner/measure/loaded_config.h"
#include "tuner/measure/rotated_operands.h"
#include "tuner/measure/timing.h"
#include "tuner/measure/verify.h"

namespace gemm_tune {
namespace {

// More bytes of cold operands are not kept for the next candidate.
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 30;

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

// Launches of each gemm on the copy of the operands that they are asked for. Both must outlive
// them.
std::vector<Launch> launches_of(const std::vector<Gemm>& gemms, std::span<const GemmCall> copies) {
  std::vector<Launch> launches;
  for (const Gemm& gemm : gemms) {
    launches.push_back([&gemm, copies](int copy) { gemm(copies[static_cast<std::size_t>(copy)]); });
  }
  return launches;
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
    libraries.emplace(*stream, *timer);
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

  // What a library refuses was not run.
  Outcome verify_and_time_library(const MeasureRequest& request) {
    Outcome outcome;
    Verifier& verify = verifier_for(request.seed);
    const GemmCall shape = shape_of(request.problem);
    try {
      const Gemm gemm = libraries->of_config(request.candidate.config, verify.timing_call(shape));
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

  // Enqueues calls of the shape by a finalist, which has run before.
  Gemm gemm_of(const CompiledConfig& finalist, const GemmCall& shape, Verifier& verify) {
    if (names_library(finalist.config)) {
      return libraries->of_config(finalist.config, verify.timing_call(shape));
    }
    const auto loaded = std::make_shared<const LoadedConfig>(finalist, spec.sm_count);
    const std::int64_t bytes = loaded->workspace_bytes(shape.problem);
    if (!reserve_workspace(bytes)) {
      throw DeviceError("no memory for a finalist's workspace of " + std::to_string(bytes) +
                        " bytes");
    }
    return [loaded, this](const GemmCall& call) { loaded->launch(call, workspace, stream->get()); };
  }

  // Sets the cold times of the gemms' timings where copies of the operands can be had.
  void time_cold(const GemmCall& call, const std::vector<Gemm>& gemms,
                 const std::vector<Gemm>& of_libraries, std::size_t rounds,
                 std::vector<Timing>& timings) {
    rotated.reset();  // its memory may be needed
    const auto operands = rotate_operands(call, spec.l2_bytes, *stream);
    if (!operands) return;
    for (const GemmCall& copy : operands->copies) {
      // cuBLAS may know a problem by its addresses' alignment.
      for (const Gemm& gemm : of_libraries) gemm(copy);
    }
    stream->synchronize();
    const std::vector<double> cold_us = timer->time_cold(
        launches_of(gemms, operands->copies), static_cast<int>(operands->copies.size()), rounds);
    for (std::size_t i = 0; i < timings.size(); ++i) timings[i].cold_us = cold_us[i];
  }

  int ordinal;
  DeviceSpec spec;
  std::optional<Stream> stream;
  std::optional<Nvml> nvml;
  std::optional<LaunchTimer> timer;
  std::optional<Verifier> verifier;
  std::uint64_t verifier_seed = 0;
  std::optional<LibraryGemms> libraries;
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
  for (const KnownConfig& config : impl_->libraries->proposals(call, request.most)) {
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
  const GemmCall shape = shape_of(request.problem);
  FinalsReply reply;
  const std::vector<BaselineGemm> baselines =
      impl_->libraries->baselines(request.baselines, request.problem, verify, reply.absent);
  std::vector<Gemm> gemms;  // the baselines first, as the timer expects them
  for (const BaselineGemm& baseline : baselines) gemms.push_back(baseline.gemm);
  std::vector<Gemm> of_libraries = gemms;
  for (const CompiledConfig& finalist : request.finalists) {
    gemms.push_back(impl_->gemm_of(finalist, shape, verify));
    if (names_library(finalist.config)) of_libraries.push_back(gemms.back());
  }
  std::vector<std::optional<double>> errors;
  for (const Gemm& gemm : gemms) errors.push_back(verify.relative_error(gemm, shape));
  const GemmCall call = verify.timing_call(shape);
  std::set<std::string> others = impl_->others();
  std::vector<Timing> timings =
      impl_->timer->time_interleaved(launches_of(gemms, {&call, 1}), FinalsRule());
  impl_->time_cold(call, gemms, of_libraries,
                   request.objective == Objective::cold ? kDecidingColdRounds : kColdRounds,
                   timings);
  others.merge(impl_->others());
  reply.others.assign(others.begin(), others.end());
  reply.baselines = best_of_each(baselines, timings, errors);
  const auto own = static_cast<std::ptrdiff_t>(baselines.size());
  reply.errors.assign(errors.begin() + own, errors.end());
  reply.finalists.assign(std::make_move_iterator(timings.begin() + own),
                         std::make_move_iterator(timings.end()));
  return reply;
}

}  // namespace gemm_tune

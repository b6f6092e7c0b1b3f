// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/trials.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "kernel_templates/registry/library_families.h"
#include "search/model/static_model.h"
#include "tuner/job/finals.h"
#include "tuner/job/log.h"
#include "tuner/plan/filter.h"

namespace gemm_tune {
namespace {

constexpr std::chrono::milliseconds kHeartbeat{1000};
constexpr int kFinalsAttempts = 3;
// The candidates in work beyond one for each compiler: enough that no compiler or GPU waits for the
// next. More would be chosen before the results that could improve the choice are known.
constexpr std::size_t kCompilingAhead = 2;
constexpr std::size_t kMeasuringAhead = 4;  // for each GPU

// A generous limit: verification needs a few launches, timing some tens at most. The slowest rung
// reaches about 0.1 TFLOP/s on the smallest card of the table.
std::chrono::milliseconds measure_limit(const TuneRequest& request, const Problem& problem) {
  constexpr double kSlowestFlopsPerMs = 1e8;
  return request.measure_limit +
         std::chrono::milliseconds(static_cast<long>(20 * flops(problem) / kSlowestFlopsPerMs));
}

Outcome failure_of(const TaskResult& result, const std::string& step) {
  if (result.status == TaskResult::Status::refused) throw DeviceError(result.detail);
  Outcome outcome;
  outcome.disposition = result.status == TaskResult::Status::timed_out ? Disposition::timed_out
                                                                       : Disposition::crashed;
  outcome.detail = step + ": " + result.detail;
  outcome.by_environment = result.by_environment;
  return outcome;
}

}  // namespace

Trials::Trials(const TuneRequest& request, CompiledKernels& kernels, TaskPools& pools)
    : request_(request),
      kernels_(kernels),
      pools_(pools),
      compilers_(pools.compilers()),
      measurers_(pools.measurers()) {}

void Trials::wait(int also) { pools_.wait(kHeartbeat, also); }

void Trials::abandon() {
  compilers_.abandon();
  measurers_.abandon();
  compiling_.clear();
}

std::size_t Trials::abandon_compilations() {
  std::size_t abandoned = 0;
  const auto is_candidate = [](const Waiting& one) { return one.is_candidate; };
  for (auto entry = compiling_.begin(); entry != compiling_.end();) {
    const auto& [task, waiting] = entry->second;
    if (!std::all_of(waiting.begin(), waiting.end(), is_candidate)) {
      ++entry;
      continue;
    }
    abandoned += waiting.size();
    compilers_.abandon(task);
    entry = compiling_.erase(entry);
  }
  return abandoned;
}

void Trials::tell_lanes(Progress& progress) const {
  const Load now = load();
  progress.compilers = {now.compilers.busy, now.compilers.all};
  if (request_.measure) progress.gpus = {now.measurers.busy, now.measurers.all};
}

bool Trials::wants_more() const {
  const std::size_t gpus = request_.measure ? measurers_.size() : 0;
  return compilers_.pending() + measurers_.pending() <
         compilers_.size() + kCompilingAhead + kMeasuringAhead * gpus;
}

void Trials::compile_ahead(const std::vector<KnownConfig>& configs, const Epilogue& epilogue) {
  for (const KnownConfig& config : configs) {
    compile(
        config, epilogue, [](const CompileReply&) {}, [](const Outcome&) {});
  }
}

// Repeats a task once per run if the environment made it fail, so that a candidate that always
// takes all memory costs two tries at most.
void Trials::submit(TaskPool& pool, const Task& task) {
  Task attempt = task;
  attempt.done = [this, &pool, task](const TaskResult& result) {
    if (result.by_environment && retried_.insert(task.verb + task.request.dump()).second) {
      return submit(pool, task);
    }
    task.done(result);
  };
  pool.submit(std::move(attempt));
}

// Calls `then` with the reply, or `failed` if the compiler process itself crashed or hung.
void Trials::compile(const KnownConfig& config, const Epilogue& epilogue, OnCompiled then,
                     Done failed, For what) {
  if (const CompileReply* const known = kernels_.find(config, epilogue)) return then(*known);
  const std::pair kernel(to_string(config.config()), to_string(epilogue));
  Compilation& compilation = compiling_[kernel];
  compilation.waiting.push_back({std::move(then), std::move(failed), what == For::a_candidate});
  if (compilation.waiting.size() > 1) return;
  compilation.task = next_compilation_++;
  const CompileRequest request{kernel.first, request_.device.arch,
                               kernels_.users_source(*config.family), false, kernel.second};
  submit(compilers_, {"compile", request, request_.compile_limit, false,
                      [this, kernel](const TaskResult& result) { compiled(kernel, result); },
                      nullptr, compilation.task});
}

void Trials::compiled(const std::pair<std::string, std::string>& kernel, const TaskResult& result) {
  const auto entry = compiling_.extract(kernel);
  if (result.status != TaskResult::Status::reply) {
    for (const Waiting& one : entry.mapped().waiting) one.failed(failure_of(result, "compiler"));
    return;
  }
  auto answer = result.reply.get<CompileReply>();
  answer.config = kernel.first;
  answer.epilogue = kernel.second;
  const CompileReply& reply = kernels_.add(std::move(answer));
  for (const Waiting& one : entry.mapped().waiting) one.then(reply);
}

// The outcome as far as the compiler's answer decides it: a failure, a rejection, or a prediction.
Outcome Trials::after_compile(const KnownConfig& config, const Problem& problem,
                              const CompileReply& compiled) const {
  Outcome outcome;
  outcome.compile_s = compiled.seconds;
  if (!compiled.ok) {
    outcome.disposition = Disposition::compile_failed;
    outcome.detail = compiled.log;
    return outcome;
  }
  outcome.resources = complete_resources(compiled.resources, config, request_.device);
  outcome.predicted_us =
      predict(config.traits, problem, request_.device, outcome.resources).time_us;
  if (auto reason = reject_after_compile(*outcome.resources)) {
    outcome.disposition = Disposition::rejected;
    outcome.detail = *reason;
  }
  return outcome;
}

MeasureRequest Trials::measure_request(const Problem& problem, CompiledConfig candidate) const {
  MeasureRequest request;
  request.problem = problem;
  request.candidate = std::move(candidate);
  request.seed = request_.seed;
  request.objective = request_.rule.objective;
  return request;
}

void Trials::propose(const Problem& problem,
                     std::function<void(const std::vector<KnownConfig>&)> done) {
  const ProposalsRequest request{problem, request_.seed};
  submit(measurers_, {"propose", request, measure_limit(request_, problem), false,
                      [done = std::move(done)](const TaskResult& result) {
                        std::vector<KnownConfig> configs;
                        if (result.status == TaskResult::Status::reply) {
                          for (const std::string& text : result.reply.get<ProposalsReply>().configs)
                            configs.push_back(check_config(parse_config(text)));
                        }
                        done(configs);
                      }});
}

void Trials::measure(MeasureRequest request, bool fresh, const BestSoFar& best_us, Done done) {
  const nlohmann::json body = request;
  const CompiledConfig candidate = request.candidate;
  const std::chrono::milliseconds limit = measure_limit(request_, request.problem);
  const auto measured = [this, request = std::move(request), best_us,
                         done = std::move(done)](const TaskResult& result) {
    if (result.status != TaskResult::Status::reply) return done(failure_of(result, "GPU"));
    Outcome outcome = result.reply.get<MeasureReply>().outcome;
    const bool was_run = outcome.disposition != Disposition::rejected;
    if (outcome.disposition == Disposition::ok || !was_run || result.fresh) {
      return done(std::move(outcome));
    }
    measure(request, /*fresh=*/true, best_us, done);
  };
  // What is large, or better known by then, is put in when a worker is free.
  const auto complete = [this, candidate, best_us](nlohmann::json& body_now) {
    body_now["candidate"] = kernels_.with_cubin(candidate);
    if (best_us) body_now["best_us"] = best_us();
  };
  submit(measurers_, {"measure", body, limit, fresh, measured, complete});
}

void Trials::start(const KnownConfig& config, const Problem& problem, const BestSoFar& best_us,
                   Done done) {
  if (config.family->is_library()) {
    return measure(measure_request(problem, {to_string(config.config())}), /*fresh=*/false, best_us,
                   std::move(done));
  }
  const auto then = [this, config, problem, best_us, done](const CompileReply& reply) {
    Outcome compiled = after_compile(config, problem, reply);
    if (compiled.disposition != Disposition::ok || !request_.measure) {
      return done(std::move(compiled));
    }
    measure(measure_request(problem, {reply.config, reply.cubin_key}), /*fresh=*/false, best_us,
            [compiled = std::move(compiled), done](Outcome outcome) {
              // The driver's occupancy replaces ours if the driver was asked.
              std::optional<Resources> resources = compiled.resources;
              if (outcome.resources) resources->ctas_per_sm = outcome.resources->ctas_per_sm;
              outcome.resources = resources;
              outcome.predicted_us = compiled.predicted_us;
              outcome.compile_s = compiled.compile_s;
              done(std::move(outcome));
            });
  };
  compile(config, problem.epilogue, then, done, For::a_candidate);
}

void Trials::verify(const KnownConfig& config, const Problem& problem, Done done) {
  const auto then = [this, config, problem, done](const CompileReply& reply) {
    Outcome compiled = after_compile(config, problem, reply);
    if (compiled.disposition == Disposition::compile_failed) return done(std::move(compiled));
    MeasureRequest request = measure_request(problem, {reply.config, reply.cubin_key});
    request.small_shapes_only = true;
    measure(std::move(request), /*fresh=*/false, nullptr, done);
  };
  compile(config, problem.epilogue, then, done);
}

void Trials::publish(const KnownConfig& winner, const Epilogue& epilogue) {
  if (!request_.kernel_cache || winner.family->is_library()) return;
  std::size_t left = 0;
  bool written = true;
  for (const KnownConfig& variant : served_variants(winner)) {
    if (!request_.completes_kernel_cache && kernels_.find(variant, epilogue) == nullptr) continue;
    ++left;
    const auto then = [&](const CompileReply& reply) {
      written = (!reply.ok || kernels_.publish(reply)) && written;
      --left;
    };
    // One that does not compile will not be launched either.
    compile(variant, epilogue, then, [&left](const Outcome&) { --left; });
  }
  while (left > 0 && !interrupted()) wait();
  if (left > 0) abandon();
  if (!written) {
    log_warning("'" + request_.kernel_cache->string() +
                "' takes no more compiled kernels: the library will compile this winner");
  }
}

// Compiles the configs: cubins of earlier runs are not in this run's folder. False if interrupted.
bool Trials::compile_all(const std::vector<KnownConfig>& configs, const Epilogue& epilogue) {
  std::size_t left = 0;
  for (const KnownConfig& config : configs) {
    if (config.family->is_library()) continue;
    ++left;
    compile(
        config, epilogue, [&left](const CompileReply&) { --left; },
        [](const Outcome& outcome) {
          throw DeviceError("a finalist compiled before and now does not: " + outcome.detail);
        });
  }
  while (left > 0 && !interrupted()) wait();
  if (left > 0) abandon();
  return left == 0;
}

std::optional<TimedFinals> Trials::finals(const std::vector<KnownConfig>& configs,
                                          const Problem& problem) {
  return finals(configs, problem, request_.baselines);
}

std::optional<double> Trials::cublas_error(const Problem& problem) {
  const std::optional<TimedFinals> reply = finals({}, problem, {BaselineKind::cublas});
  if (!reply) return std::nullopt;
  if (const auto error = measured_cublas_error(reply->baselines)) return error;
  throw DeviceError("cuBLAS could not be run at " + to_string(problem) +
                    ", and so has no error to hold candidates against");
}

std::optional<TimedFinals> Trials::finals(const std::vector<KnownConfig>& configs,
                                          const Problem& problem,
                                          const std::vector<BaselineKind>& baselines) {
  if (!compile_all(configs, problem.epilogue)) return std::nullopt;
  FinalsRequest request;
  request.problem = problem;
  request.seed = request_.seed;
  request.baselines = baselines;
  request.objective = request_.rule.objective;
  std::vector<CompiledConfig> finalists;
  for (const KnownConfig& config : configs) {
    if (config.family->is_library()) {
      finalists.push_back({to_string(config.config())});
      continue;
    }
    const CompileReply& reply = *kernels_.find(config, problem.epilogue);
    if (!reply.ok) throw DeviceError("a finalist compiled before and now does not: " + reply.log);
    finalists.push_back({reply.config, reply.cubin_key});
  }
  const auto complete = [&](nlohmann::json& body) {
    for (const CompiledConfig& finalist : finalists) {
      body["finalists"].push_back(kernels_.with_cubin(finalist));
    }
  };
  // Repeats the finals, because a worker may be killed from outside. The finalists have run before.
  for (int attempt = 1;; ++attempt) {
    std::optional<TaskResult> result;
    // A baseline may try many algorithms, which takes time as well.
    const auto limit = measure_limit(request_, problem) * request.baselines.size();
    measurers_.submit(
        {"finals", request, limit, false, [&](TaskResult r) { result = std::move(r); }, complete});
    while (!result && !interrupted()) wait();
    if (!result) {
      abandon();
      return std::nullopt;
    }
    if (result->status == TaskResult::Status::reply) {
      return TimedFinals{result->reply.get<FinalsReply>(), result->gpu};
    }
    const std::string detail = failure_of(*result, "finals").detail;
    if (attempt == kFinalsAttempts) throw DeviceError(detail);
  }
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include "choose/layered.h"
#include "db/layers.h"
#include "dispatch/recipe.h"
#include "dispatch/refinement.h"
#include "gpu/device.h"
#include "gpu/stream.h"
#include "runtime/jit.h"

namespace gemm_tune {
namespace {

// An application with endless different shapes must not fill the memory. Each answer beyond these
// is found anew, which takes up to a millisecond where a search's configs are compared. Problems
// that were tuned on the device do not count.
constexpr std::size_t kMostRemembered = 16384;
constexpr std::size_t kMostDevices = 1024;

std::map<std::string, Tuned> read_tuned(const Dispatcher::Settings& settings) {
  const std::vector<std::filesystem::path> layers = layer_files(settings.layer_folders);
  std::optional<Database> own;
  if (!is_missing_above(layers, settings.database)) {
    own.emplace(settings.database, Database::Mode::read_only);
  }
  std::map<std::string, Tuned> tuned = load_layered(own ? &*own : nullptr, layers).tuned;
  if (!own && tuned.empty()) Database(settings.database, Database::Mode::read_only);  // says why
  return tuned;
}

bool is_for_tuned(const Choice& choice, const DeviceKey& device, const Problem& problem) {
  return choice.winner && sameness(choice.winner->problem, problem) != Sameness::none &&
         choice.winner->device == device;
}

}  // namespace

Dispatcher::Generation::Generation(const Settings& settings)
    : tuned(read_tuned(settings)), recipes(kMostRemembered), servers(kMostRemembered) {}

const Tuned& Dispatcher::Generation::of(const std::string& arch) const {
  static const Tuned kNothing;
  const auto found = tuned.find(arch);
  return found == tuned.end() ? kNothing : found->second;
}

Dispatcher::Dispatcher(Settings settings) : settings_(std::move(settings)), devices_(kMostDevices) {
  reload();
  if (settings_.refined_choices) refined_choices_.emplace(*settings_.refined_choices);
  if (!settings_.kernel_cache) return;
  try {
    kernel_cache_.emplace(*settings_.kernel_cache);
  } catch (const Error&) {
    if (settings_.cache_need == CacheNeed::required) throw;
  }
}

void Dispatcher::reload() {
  // Reads one after the other, so that what was read last stays.
  const std::lock_guard reloading(reloading_);
  generations_.push_back(std::make_unique<Generation>(settings_));
  current_.store(generations_.back().get(), std::memory_order_release);
}

Allowed Dispatcher::allowed(bool with_cublas) const {
  switch (settings_.policy) {
    case Policy::best:
      return {with_cublas, /*untuned=*/true};
    case Policy::tuned_only:
      return {false, /*untuned=*/false};
    case Policy::deterministic:
      return {false, /*untuned=*/true};
  }
  throw Error("a policy outside the closed list");
}

bool Dispatcher::recall(const Question& question, gt_recipe* recipe) const {
  const Generation& generation = *current_.load(std::memory_order_acquire);
  const gt_recipe* const known = generation.recipes.find(question);
  if (known == nullptr) return false;
  *recipe = *known;
  return true;
}

void Dispatcher::lookup(const Question& question, const Problem& problem, bool with_cublas,
                        gt_recipe* recipe) const {
  const Generation& generation = *current_.load(std::memory_order_acquire);
  const DeviceKey device{std::string(question.arch), std::string(question.name), question.sm_count};
  const Choice choice = choose(generation.of(device.arch), device, problem, allowed(with_cublas));
  *recipe = recipe_of(choice, device, problem);
  generation.recipes.add({device.arch, device.name, device.sm_count, question.words}, *recipe,
                         !is_for_tuned(choice, device, problem));
}

const DeviceKey& Dispatcher::device(int ordinal) const {
  if (const DeviceKey* const known = devices_.find(Ordinal{ordinal})) return *known;
  const DeviceKey* const added = devices_.add({ordinal}, device_key(query_device(ordinal)));
  if (added == nullptr) throw DeviceError("more than " + std::to_string(kMostDevices) + " devices");
  return *added;
}

DeviceName Dispatcher::current_device_name() const {
  const DeviceKey& key = device(current_device());
  return {key.arch, key.name, key.sm_count};
}

void Dispatcher::gemm(const GemmCall& call, cudaStream_t stream) {
  if (changes_nothing(call)) return;
  const std::int64_t batch = call.problem.batch;
  if (batch <= kMaxBatch) return launch(call, stream);
  for (std::int64_t first = 0; first < batch; first += kMaxBatch) {
    launch(part_of(call, first, std::min<std::int64_t>(kMaxBatch, batch - first)), stream);
  }
}

void Dispatcher::launch(GemmCall call, cudaStream_t stream) {
  const int ordinal = current_device();
  if (call.beta == 0) call.C = call.D;  // it is not read; cuBLAS has one matrix for both
  call.problem.alignment = alignment_of(call);
  Generation& generation = *current_.load(std::memory_order_acquire);
  CallKey key(call.problem, form_of(call), ordinal);
  if (!cublas_takes(call)) key.forbid_cublas();
  if (const Server* const known = generation.servers.find(key)) {
    return enqueue(*known, call, ordinal, stream);
  }
  const DeviceKey& on = device(ordinal);
  const OutsideCapture loading;
  const Choice choice =
      choose(generation.of(on.arch), on, call.problem, allowed(cublas_takes(call)));
  const auto [server, lasts] = first_sight(generation, choice, call, ordinal, stream);
  if (lasts) generation.servers.add(key, server, !is_for_tuned(choice, on, call.problem));
  enqueue(server, call, ordinal, stream);
}

void Dispatcher::enqueue(const Server& server, const GemmCall& call, int ordinal,
                         cudaStream_t stream) {
  if (server.cublas != nullptr) {
    if (server.cublas_lt && server.cublas_lt->takes(call) &&
        server.cublas_lt->gemm(call, ordinal, stream, workspaces_)) {
      return;
    }
    return server.cublas->gemm(call, ordinal, stream, workspaces_);
  }
  workspaces_.lend(server.workspace_bytes, ordinal, stream, [&](int* counters, float* partials) {
    server.kernel->launch(call, server.grid, counters, partials, stream);
  });
}

Dispatcher::FirstSight Dispatcher::first_sight(const Generation& generation, const Choice& choice,
                                               const GemmCall& call, int ordinal,
                                               cudaStream_t stream) {
  const bool may_differ = settings_.policy != Policy::deterministic &&
                          !is_for_tuned(choice, device(ordinal), call.problem);
  if (!may_differ) return {prepare(choice, call, ordinal)};
  if (std::optional<Server> known = refined_before(call, ordinal)) return {std::move(*known)};
  if (settings_.refine_ms <= 0 || is_capturing(stream)) return {prepare(choice, call, ordinal)};
  // Who waited for another thread's refinement might wait for work that its own stream waits for.
  const std::unique_lock alone(refining_, std::try_to_lock);
  if (!alone) return {prepare(choice, call, ordinal), false};
  return {refined(generation, choice, call, ordinal, stream)};
}

// The answer of the file, if this call can have it.
std::optional<Dispatcher::Server> Dispatcher::refined_before(const GemmCall& call, int ordinal) {
  if (!refined_choices_) return std::nullopt;
  const DeviceKey& on = device(ordinal);
  const std::optional<std::string> answer =
      refined_choices_->find(on, refined_question(call.problem, form_of(call)));
  if (!answer) return std::nullopt;
  Choice known;
  if (allowed(cublas_takes(call)).cublas) {
    known.match = Match::cublas;
    known.config = builtin_default(call.problem, on.arch);
    if (*answer == RefinedChoices::kCublas) return prepare(known, call, ordinal);
    if (auto algorithm = cublas_lt_.find(*answer, call, ordinal)) {
      Server server = prepare(known, call, ordinal);
      server.cublas_lt = std::move(algorithm);
      return server;
    }
  }
  try {
    known.match = Match::nearest;
    known.config = check_config(parse_config(*answer));
  } catch (const UsageError&) {  // of another version, or no config
    return std::nullopt;
  }
  if (why_illegal(known.config->recipe, call.problem)) return std::nullopt;
  return prepare(known, call, ordinal);
}

// A candidate that fails leaves its place to the others; where all do, prepare() says why.
Dispatcher::Server Dispatcher::refined(const Generation& generation, const Choice& choice,
                                       const GemmCall& call, int ordinal, cudaStream_t stream) {
  constexpr std::size_t kKernels = 3;
  const DeviceKey& on = device(ordinal);
  struct Candidate {
    Server server;
    std::string answer;
  };
  std::vector<Candidate> candidates;
  std::optional<std::size_t> best;
  std::size_t timed = 0;
  try {
    Refinement timing(call, stream, settings_.refine_ms);
    std::optional<Server> cublas;
    bool has_kernel = false;
    for (const Choice& one : likeliest(generation.of(on.arch), on, call.problem,
                                       allowed(cublas_takes(call)), kKernels)) {
      if (has_kernel && timing.is_half_over()) break;
      try {
        const Server server = prepare(one, call, ordinal);
        const bool is_cublas = server.cublas != nullptr;
        if (is_cublas) cublas = server;
        has_kernel = has_kernel || !is_cublas;
        candidates.push_back(
            {server, is_cublas ? RefinedChoices::kCublas : to_string(one.config->config())});
      } catch (const Error&) {
        continue;
      }
    }
    if (cublas) {
      for (const auto& algorithm : cublas_lt_.proposals(call, ordinal)) {
        candidates.push_back({*cublas, algorithm->name()});
        candidates.back().server.cublas_lt = algorithm;
      }
    }
    std::vector<Refinement::Enqueue> ways;
    for (const Candidate& one : candidates) {
      ways.emplace_back(
          [&](const GemmCall& way, cudaStream_t into) { enqueue(one.server, way, ordinal, into); });
    }
    const std::vector<std::optional<double>> time_us = timing.median_us(ways);
    for (std::size_t i = 0; i < time_us.size(); ++i) {
      if (!time_us[i]) continue;
      ++timed;
      if (!best || *time_us[i] < *time_us[*best]) best = i;
    }
  } catch (const Error&) {  // no memory for another D
  }
  if (!best) return prepare(choice, call, ordinal);
  // What was alone is no answer for other processes.
  if (refined_choices_ && timed > 1) {
    refined_choices_->add(on, refined_question(call.problem, form_of(call)),
                          candidates[*best].answer);
  }
  return candidates[*best].server;
}

Dispatcher::Server Dispatcher::prepare(const Choice& choice, const GemmCall& call, int ordinal) {
  const DeviceKey& on = device(ordinal);
  if (choice.match == Match::cublas) {
    try {
      return {std::nullopt, &cublas_.on(ordinal), nullptr, {}, 0};
    } catch (const DeviceError&) {
      if (!choice.config) throw;  // no kernel could take its place
    }
  }
  if (!choice.config) {
    throw NoKernelError("no kernel can serve " + to_string(call.problem) + ": " +
                        choice.explanation);
  }
  const PreparedCall kernel(kernels(ordinal, on.arch, *choice.config, form_of(call)),
                            choice.config->recipe, on.sm_count);
  return {kernel, nullptr, nullptr, kernel.grid(call.problem),
          kernel.workspace_bytes(call.problem)};
}

const LoadedKernels& Dispatcher::kernels(int ordinal, const std::string& arch,
                                         const KnownConfig& config, const CallForm& form) {
  return kernels_.get({ordinal, to_string(config.config()), form}, [&] {
    const KernelStore* const store = kernel_cache_ ? &*kernel_cache_ : nullptr;
    return LoadedKernels(jit_cubin(config, form, arch, store), config.recipe);
  });
}

}  // namespace gemm_tune

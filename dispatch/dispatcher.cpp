// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "dispatch/recipe.h"
#include "gpu/device.h"
#include "gpu/stream.h"
#include "runtime/jit.h"

namespace gemm_tune {
namespace {

// An application with endless different shapes must not fill the memory. Each answer beyond these
// is found anew, which takes microseconds where its kernel is loaded.
constexpr std::size_t kMostRemembered = 16384;
constexpr std::size_t kMostDevices = 1024;

std::map<std::string, Tuned> read_tuned(const std::filesystem::path& path) {
  const Database database(path, Database::Mode::read_only);
  std::map<std::string, Tuned> tuned;
  for (const DeviceKey& device : database.devices()) {
    if (tuned.count(device.arch) == 0) {
      tuned.emplace(device.arch, load_tuned(database, device.arch));
    }
  }
  return tuned;
}

bool is_for_tuned(const Choice& choice, const Problem& problem) {
  return choice.winner && choice.winner->problem == key_of(problem);
}

}  // namespace

Dispatcher::Generation::Generation(const std::filesystem::path& database)
    : tuned(read_tuned(database)), recipes(kMostRemembered), servers(kMostRemembered) {}

Choice Dispatcher::Generation::choose(const DeviceKey& device, const Problem& problem,
                                      Allowed allowed) const {
  static const Tuned kNothing;
  const auto found = tuned.find(device.arch);
  return gemm_tune::choose(found == tuned.end() ? kNothing : found->second, device, problem,
                           allowed);
}

Dispatcher::Dispatcher(Settings settings) : settings_(std::move(settings)), devices_(kMostDevices) {
  reload();
  if (!settings_.kernel_cache) return;
  try {
    kernel_cache_.emplace(*settings_.kernel_cache);
  } catch (const Error&) {
    if (settings_.cache_need == CacheNeed::required) throw;
  }
}

void Dispatcher::reload() {
  auto read = std::make_unique<Generation>(settings_.database);
  const std::lock_guard reloading(reloading_);
  generations_.push_back(std::move(read));
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
  const Choice choice = generation.choose(device, problem, allowed(with_cublas));
  *recipe = recipe_of(choice, device, problem);
  generation.recipes.add({device.arch, device.name, device.sm_count, question.words}, *recipe,
                         !is_for_tuned(choice, problem));
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
  for (std::int64_t first = 0; first < batch; first += kMaxBatch) {
    launch(part_of(call, first, std::min<std::int64_t>(kMaxBatch, batch - first)), stream);
  }
}

void Dispatcher::launch(GemmCall call, cudaStream_t stream) {
  const int ordinal = current_device();
  call.problem = problem_of(call);
  Generation& generation = *current_.load(std::memory_order_acquire);
  CallKey key(call.problem, form_of(call), ordinal);
  if (!cublas_takes(call)) key.forbid_cublas();
  const Server* known = generation.servers.find(key);
  std::optional<Server> made;
  if (known == nullptr) {
    const OutsideCapture loading;
    const Choice choice =
        generation.choose(device(ordinal), call.problem, allowed(cublas_takes(call)));
    made = prepare(choice, call, ordinal);
    generation.servers.add(key, *made, !is_for_tuned(choice, call.problem));
    known = &*made;
  }
  if (known->cublas != nullptr) return known->cublas->gemm(call, ordinal, stream, workspaces_);
  const PreparedCall& kernel = *known->kernel;
  workspaces_.lend(
      kernel.workspace_bytes(call.problem), ordinal, stream,
      [&](int* counters, float* partials) { kernel.launch(call, counters, partials, stream); });
}

Dispatcher::Server Dispatcher::prepare(const Choice& choice, const GemmCall& call, int ordinal) {
  const DeviceKey& on = device(ordinal);
  if (choice.match == Match::cublas) {
    try {
      return {std::nullopt, &cublas_.on(ordinal)};
    } catch (const DeviceError&) {
      if (!choice.config) throw;  // no kernel could take its place
    }
  }
  if (!choice.config) {
    throw NoKernelError("no kernel can serve " + to_string(call.problem) + ": " +
                        choice.explanation);
  }
  return {PreparedCall(kernels(ordinal, on.arch, *choice.config, form_of(call)),
                       choice.config->recipe, on.sm_count)};
}

const LoadedKernels& Dispatcher::kernels(int ordinal, const std::string& arch,
                                         const KnownConfig& config, const CallForm& form) {
  return kernels_.get({ordinal, to_string(config.config()), form}, [&] {
    const KernelStore* const store = kernel_cache_ ? &*kernel_cache_ : nullptr;
    return LoadedKernels(jit_cubin(config, form, arch, store), config.recipe);
  });
}

}  // namespace gemm_tune

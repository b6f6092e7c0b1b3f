// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "gpu/device.h"
#include "gpu/stream.h"
#include "runtime/jit.h"

namespace gemm_tune {
namespace {

// An application with endless different shapes must not fill the memory; preparing a call anew
// whose kernel is loaded takes microseconds.
constexpr std::size_t kMaxPrepared = 16384;

std::map<std::string, std::vector<Winner>> read_winners(const std::filesystem::path& path) {
  const Database database(path, Database::Mode::read_only);
  std::map<std::string, std::vector<Winner>> winners;
  for (const DeviceKey& device : database.devices()) {
    if (winners.count(device.arch) == 0) {
      winners[device.arch] = load_winners(database, device.arch);
    }
  }
  return winners;
}

}  // namespace

DeviceKey current_device_key() { return device_key(query_device(current_device())); }

Dispatcher::Dispatcher(const std::filesystem::path& database,
                       const std::optional<std::filesystem::path>& kernel_cache, CacheNeed need)
    : winners_(read_winners(database)) {
  if (!kernel_cache) return;
  try {
    kernel_cache_.emplace(*kernel_cache);
  } catch (const Error&) {
    if (need == CacheNeed::required) throw;
  }
}

Choice Dispatcher::lookup(const DeviceKey& device, const Problem& problem) const {
  static const std::vector<Winner> kNoWinners;
  const auto found = winners_.find(device.arch);
  return choose(found == winners_.end() ? kNoWinners : found->second, device, problem);
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
  const PreparedCall prepared = this->prepared({ordinal, call.problem, form_of(call)});
  workspaces_.lend(
      prepared.workspace_bytes(call.problem), ordinal, stream,
      [&](int* counters, float* partials) { prepared.launch(call, counters, partials, stream); });
}

PreparedCall Dispatcher::prepared(const Key& key) {
  if (const auto known = remembered(key)) return *known;
  const OutsideCapture loading;
  const PreparedCall made = prepare(key);
  const std::unique_lock writing(prepared_mutex_);
  if (prepared_.size() >= kMaxPrepared) prepared_.clear();
  prepared_.emplace(key, made);
  return made;
}

std::optional<PreparedCall> Dispatcher::remembered(const Key& key) const {
  const std::shared_lock reading(prepared_mutex_);
  const auto found = prepared_.find(key);
  return found == prepared_.end() ? std::nullopt : std::optional<PreparedCall>(found->second);
}

PreparedCall Dispatcher::prepare(const Key& key) {
  const int ordinal = key.ordinal;
  const DeviceKey& device =
      devices_.get(ordinal, [&] { return device_key(query_device(ordinal)); });
  const Choice choice = lookup(device, key.problem);
  if (!choice.config) {
    throw NoKernelError("no kernel can serve " + to_string(key.problem) + ": " +
                        choice.explanation);
  }
  return {kernels(ordinal, device.arch, *choice.config, key.form), choice.config->recipe,
          device.sm_count};
}

const LoadedKernels& Dispatcher::kernels(int ordinal, const std::string& arch,
                                         const KnownConfig& config, const CallForm& form) {
  return kernels_.get({ordinal, to_string(config.config()), form}, [&] {
    const KernelStore* const store = kernel_cache_ ? &*kernel_cache_ : nullptr;
    return LoadedKernels(jit_cubin(config, form, arch, store), config.recipe);
  });
}

}  // namespace gemm_tune

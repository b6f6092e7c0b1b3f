// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.h"

#include <algorithm>
#include <utility>

#include "gpu/device.h"
#include "gpu/stream.h"
#include "kernel_templates/launch_args.h"
#include "runtime/jit.h"

namespace gemm_tune {
namespace {

// An application with endless different shapes must not fill the memory; making a plan anew for a
// kernel that is loaded takes microseconds.
constexpr std::size_t kMaxPlans = 16384;

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
                       const std::optional<std::filesystem::path>& kernel_cache)
    : winners_(read_winners(database)) {
  if (kernel_cache) kernel_cache_.emplace(*kernel_cache);
}

Choice Dispatcher::lookup(const DeviceKey& device, const Problem& problem) const {
  static const std::vector<Winner> kNoWinners;
  const auto found = winners_.find(device.arch);
  return choose(found == winners_.end() ? kNoWinners : found->second, device, problem);
}

void Dispatcher::sgemm(const GemmCall& call, cudaStream_t stream) {
  if (changes_nothing(call)) return;
  const std::int64_t batch = call.problem.batch;
  for (std::int64_t first = 0; first < batch; first += kMaxBatch) {
    launch(part_of(call, first, std::min<std::int64_t>(kMaxBatch, batch - first)), stream);
  }
}

void Dispatcher::launch(GemmCall call, cudaStream_t stream) {
  const int ordinal = current_device();
  call.problem = problem_of(call);
  const Plan plan = this->plan({ordinal, call.problem, c_operand(call)});
  const std::int64_t bytes = workspace_bytes(plan.recipe, call.problem, plan.sm_count);
  if (bytes == 0) return launch(plan, call, nullptr, nullptr, stream);
  if (is_capturing(stream)) {
    const CapturedWorkspace own(bytes, stream);
    return launch(plan, call, own.counters(), own.partials(), stream);
  }
  StreamWorkspaces& own = workspaces(ordinal, stream);
  const std::lock_guard enqueuing(own.mutex);
  if (own.grown.empty() || own.grown.back().bytes() < bytes) {
    const OutsideCapture other_streams;
    // At least twice the last, so that all of them together stay below twice the largest.
    const std::int64_t last = own.grown.empty() ? 0 : own.grown.back().bytes();
    own.grown.emplace_back(std::max(bytes, 2 * last), stream);
  }
  const Workspace& workspace = own.grown.back();
  launch(plan, call, workspace.counters(), workspace.partials(), stream);
}

void Dispatcher::launch(const Plan& plan, const GemmCall& call, int* counters, float* partials,
                        cudaStream_t stream) const {
  const Grid grid = grid_of(plan.recipe, call.problem, plan.sm_count);
  GemmArgs args = launch_args(call, grid, counters, partials);
  void* parameters[] = {&args};
  plan.kernel->launch(grid, plan.recipe.block_threads, plan.recipe.smem_bytes, stream, parameters);
}

Dispatcher::StreamWorkspaces& Dispatcher::workspaces(int ordinal, cudaStream_t stream) {
  unsigned long long id = 0;
  GT_CUDA(cudaStreamGetId(stream, &id));
  const std::lock_guard guard(workspaces_mutex_);
  return workspaces_[{ordinal, id}];
}

Dispatcher::Plan Dispatcher::plan(const PlanKey& key) {
  if (const auto known = remembered_plan(key)) return *known;
  const OutsideCapture loading;
  const Plan made = make_plan(key);
  const std::unique_lock writing(plans_mutex_);
  if (plans_.size() >= kMaxPlans) plans_.clear();
  plans_.emplace(key, made);
  return made;
}

std::optional<Dispatcher::Plan> Dispatcher::remembered_plan(const PlanKey& key) const {
  const std::shared_lock reading(plans_mutex_);
  const auto found = plans_.find(key);
  return found == plans_.end() ? std::nullopt : std::optional<Plan>(found->second);
}

Dispatcher::Plan Dispatcher::make_plan(const PlanKey& key) {
  const int ordinal = key.ordinal;
  const DeviceKey& device =
      devices_.get(ordinal, [&] { return device_key(query_device(ordinal)); });
  const Choice choice = lookup(device, key.problem);
  if (!choice.config) {
    throw NoKernelError("no kernel can serve " + to_string(key.problem) + ": " +
                        choice.explanation);
  }
  return {&kernel(ordinal, device.arch, *choice.config, key.c), choice.config->recipe,
          device.sm_count};
}

const LoadedKernel& Dispatcher::kernel(int ordinal, const std::string& arch,
                                       const KnownConfig& config, COperand c) {
  return kernels_.get({ordinal, to_string(config.config()), c}, [&] {
    const CubinCache* const cache = kernel_cache_ ? &*kernel_cache_ : nullptr;
    return LoadedKernel(jit_cubin(config, c, arch, cache));
  });
}

}  // namespace gemm_tune

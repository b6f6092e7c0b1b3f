// SPDX-License-Identifier: Apache-2.0
#include "runtime/cublas_lt_calls.h"

#include <utility>

#include "core/error.h"

namespace gemm_tune {
namespace {

constexpr int kProposals = 16;

std::string prefix_of(const CublasLt& lt) { return "cublaslt " + lt.version() + " "; }

}  // namespace

CublasLtCalls::Algorithm::Algorithm(OnDevice& device, std::shared_ptr<const CublasLt::Plan> plan,
                                    std::size_t index, std::string name)
    : device_(device), plan_(std::move(plan)), index_(index), name_(std::move(name)) {}

bool CublasLtCalls::Algorithm::gemm(const GemmCall& call, int ordinal, cudaStream_t stream,
                                    WorkspacePool& workspaces) const {
  bool is_taken = false;
  const auto bytes = static_cast<std::int64_t>(plan_->workspace_bytes(index_));
  workspaces.lend_scratch(bytes, ordinal, stream, [&](void* memory) {
    const std::lock_guard enqueuing(device_.mutex);
    is_taken = plan_->run(index_, call, stream, memory);
  });
  return is_taken;
}

std::vector<std::shared_ptr<const CublasLtCalls::Algorithm>> CublasLtCalls::proposals(
    const GemmCall& call, int ordinal) {
  std::vector<std::shared_ptr<const Algorithm>> all;
  try {
    OnDevice& device = *devices_.get(ordinal, [] { return std::make_unique<OnDevice>(); });
    const std::lock_guard planning(device.mutex);
    const std::string prefix = prefix_of(device.lt);
    const auto plan = std::make_shared<const CublasLt::Plan>(device.lt.plan(call, kProposals));
    for (std::size_t i = 0; i < plan->size(); ++i) {
      all.push_back(std::make_shared<const Algorithm>(device, plan, i, prefix + plan->text(i)));
    }
  } catch (const DeviceError&) {  // no cublasLt
  }
  return all;
}

std::shared_ptr<const CublasLtCalls::Algorithm> CublasLtCalls::find(std::string_view name,
                                                                    const GemmCall& call,
                                                                    int ordinal) {
  if (name.substr(0, 9) != "cublaslt ") return nullptr;
  for (std::shared_ptr<const Algorithm>& one : proposals(call, ordinal)) {
    if (one->name() == name) return std::move(one);
  }
  return nullptr;
}

}  // namespace gemm_tune

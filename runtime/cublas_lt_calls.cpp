// SPDX-License-Identifier: Apache-2.0
#include "runtime/cublas_lt_calls.h"

#include <utility>

#include "core/error.h"

namespace gemm_tune {
namespace {

std::string prefix_of(const CublasLt& lt) { return "cublaslt " + lt.version() + " "; }

}  // namespace

CublasLtCalls::Algorithm::Algorithm(std::shared_ptr<const CublasLt::Plan> plan, std::size_t index,
                                    std::string name)
    : plan_(std::move(plan)), index_(index), name_(std::move(name)) {}

void CublasLtCalls::Algorithm::gemm(const GemmCall& call, int ordinal, cudaStream_t stream,
                                    WorkspacePool& workspaces) const {
  const auto bytes = static_cast<std::int64_t>(plan_->workspace_bytes(index_));
  workspaces.lend_scratch(bytes, ordinal, stream, [&](void* memory) {
    const std::lock_guard enqueuing(mutex_);
    if (!plan_->run(index_, call, stream, memory)) {
      throw DeviceError("cublasLt refuses a call that it proposed an algorithm for");
    }
  });
}

std::vector<std::shared_ptr<const CublasLtCalls::Algorithm>> CublasLtCalls::proposals(
    const GemmCall& call, int ordinal, int most) {
  std::vector<std::shared_ptr<const Algorithm>> all;
  try {
    const CublasLt& lt = *devices_.get(ordinal, [] { return std::make_unique<CublasLt>(); });
    const auto plan = std::make_shared<const CublasLt::Plan>(lt.plan(call, most));
    for (std::size_t i = 0; i < plan->size(); ++i) {
      all.push_back(std::make_shared<const Algorithm>(plan, i, prefix_of(lt) + plan->text(i)));
    }
  } catch (const DeviceError&) {  // no cublasLt
  }
  return all;
}

std::shared_ptr<const CublasLtCalls::Algorithm> CublasLtCalls::find(std::string_view name,
                                                                    const GemmCall& call,
                                                                    int ordinal) {
  if (name.substr(0, 9) != "cublaslt ") return nullptr;
  try {
    const CublasLt& lt = *devices_.get(ordinal, [] { return std::make_unique<CublasLt>(); });
    const std::string prefix = prefix_of(lt);
    if (name.substr(0, prefix.size()) != prefix) return nullptr;
    const auto plan =
        std::make_shared<const CublasLt::Plan>(lt.restored(call, name.substr(prefix.size())));
    if (plan->size() == 0) return nullptr;
    return std::make_shared<const Algorithm>(plan, 0, std::string(name));
  } catch (const DeviceError&) {
    return nullptr;
  }
}

}  // namespace gemm_tune

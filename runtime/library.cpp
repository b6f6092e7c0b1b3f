// SPDX-License-Identifier: Apache-2.0
#include "runtime/library.h"

#include "core/error.h"

namespace gemm_tune {
namespace {

bool is_choice(const KernelFamily& family) { return &family == &cublas_family(); }

KnownConfig config_of(const LtAlgorithm& algorithm) {
  return known_config(cublas_lt_family(), {algorithm.begin(), algorithm.end()});
}

LtAlgorithm algorithm_of(const KnownConfig& config) {
  LtAlgorithm algorithm{};
  std::copy_n(config.values.begin(), algorithm.size(), algorithm.begin());
  return algorithm;
}

}  // namespace

std::map<std::string, std::string> library_revisions_here() {
  try {
    return {{cublas_family().name, Cublas::installed_version()},
            {cublas_lt_family().name, CublasLt::installed_version()}};
  } catch (const DeviceError&) {
    return {};
  }
}

bool LibraryCall::launch(const GemmCall& call, void* workspace, cudaStream_t stream) const {
  const std::lock_guard enqueuing(library_.mutex_);
  if (plan_) {
    return plan_->has_shape_of(call) && plan_->run(0, call, stream, workspace);
  }
  Cublas& cublas = library_.cublas();
  cublas.set_stream(stream);  // which takes the scratch memory away
  cublas.set_workspace(workspace, workspace_bytes_);
  cublas.gemm(call);
  return true;
}

Cublas& Library::cublas() { return cublas_ ? *cublas_ : cublas_.emplace(); }

CublasLt& Library::cublas_lt() { return cublas_lt_ ? *cublas_lt_ : cublas_lt_.emplace(); }

std::vector<KnownConfig> Library::proposals(const GemmCall& call, int most) {
  std::vector<KnownConfig> all;
  const std::lock_guard asking(mutex_);
  try {
    cublas();
    all.push_back(library_choice());
    const CublasLt::Plan plan = cublas_lt().plan(call, most);
    for (std::size_t i = 0; i < plan.size(); ++i) all.push_back(config_of(plan.algorithm(i)));
  } catch (const DeviceError&) {  // a library is missing
  }
  return all;
}

std::string Library::revision(const KernelFamily& family) {
  const std::lock_guard asking(mutex_);
  return is_choice(family) ? cublas().version() : cublas_lt().version();
}

LibraryCall Library::prepare(const KnownConfig& config, const GemmCall& call) {
  const std::lock_guard preparing(mutex_);
  if (is_choice(*config.family)) {
    cublas();
    return {*this, library_workspace_bytes(config)};
  }
  std::optional<CublasLt::Plan> plan = cublas_lt().plan_of(algorithm_of(config), call);
  if (!plan) throw DeviceError("cublasLt refuses " + to_string(config.config()));
  const auto bytes = static_cast<std::int64_t>(plan->workspace_bytes(0));
  return {*this, bytes, std::move(plan)};
}

void Library::gemm(const LibraryCall& algorithm, const GemmCall& call, int ordinal,
                   cudaStream_t stream, WorkspacePool& workspaces, const GivenWorkspace& given) {
  const auto is_taken_by = [&](const LibraryCall& one) {
    bool is_taken = false;
    workspaces.lend_scratch(one.workspace_bytes(), given, ordinal, stream,
                            [&](void* memory) { is_taken = one.launch(call, memory, stream); });
    return is_taken;
  };
  if (!is_taken_by(algorithm)) is_taken_by(prepare(library_choice(), call));
}

}  // namespace gemm_tune

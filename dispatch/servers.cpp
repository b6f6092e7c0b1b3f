// SPDX-License-Identifier: Apache-2.0
#include "dispatch/servers.h"

#include <utility>

#include "core/error.h"
#include "gpu/device.h"
#include "runtime/jit.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kMostGpus = 1024;

}  // namespace

Servers::Servers() : devices_(kMostGpus) {}

const DeviceKey& Servers::device(int ordinal) const {
  if (const DeviceKey* const known = devices_.find(Ordinal{ordinal})) return *known;
  const DeviceKey* const added = devices_.add({ordinal}, device_key(query_device(ordinal)));
  if (added == nullptr) throw DeviceError("more than " + std::to_string(kMostGpus) + " devices");
  return *added;
}

Server Servers::prepare(const KnownConfig& config, const std::string& library_version,
                        const GemmCall& call, int ordinal) {
  if (config.family->is_library()) {
    Library& library = this->library(ordinal);
    if (!library_version.empty() && library_version != library.revision(*config.family)) {
      throw DeviceError(to_string(config.config()) + " is of version " + library_version);
    }
    return {nullptr, std::make_shared<const LibraryCall>(library.prepare(config, call))};
  }
  const DeviceKey& on = device(ordinal);
  const LoadedKernels& loaded = kernels(ordinal, on.arch, config, form_of(call));
  return {std::make_shared<const PreparedCall>(loaded, config.plan(call.problem, on.sm_count)),
          nullptr};
}

Library& Servers::library(int ordinal) {
  return *libraries_.get(ordinal, [] { return std::make_unique<Library>(); });
}

const LoadedKernels& Servers::kernels(int ordinal, const std::string& arch,
                                      const KnownConfig& config, const CallForm& form) {
  return *kernels_.get({ordinal, to_string(config.config()), form}, [&] {
    const KernelStore* const store = store_ ? &*store_ : nullptr;
    return std::make_unique<const LoadedKernels>(jit_cubin(config, form, arch, store));
  });
}

void Servers::enqueue(const Server& server, const GemmCall& call, int ordinal, cudaStream_t stream,
                      const GivenWorkspace& given) {
  if (server.library) {
    return library(ordinal).gemm(*server.library, call, ordinal, stream, workspaces_, given);
  }
  workspaces_.lend(server.kernel->plan().workspace_bytes_of(call), given, ordinal, stream,
                   [&](void* workspace) { server.kernel->launch(call, workspace, stream); });
}

}  // namespace gemm_tune

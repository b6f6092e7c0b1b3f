// SPDX-License-Identifier: Apache-2.0
// What serves calls: kernels loaded on a device, and algorithms of libraries ready for a problem.
//
// Which of them serves which call is the dispatcher's to know. Any number of threads.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "core/problem/gemm_call.h"
#include "db/record.h"
#include "kernel_templates/registry/registry.h"
#include "runtime/kernel_store.h"
#include "runtime/library.h"
#include "runtime/loaded_kernels.h"
#include "runtime/once_per_key.h"
#include "runtime/prepared_call.h"
#include "runtime/remembered.h"
#include "runtime/workspace_pool.h"

namespace gemm_tune {

// What serves a problem on a device: a kernel or an algorithm of a library.
struct Server {
  std::shared_ptr<const PreparedCall> kernel;
  std::shared_ptr<const LibraryCall> library;
};

class Servers {
 public:
  Servers();

  // The directory of compiled kernels from now on; before, they are kept in memory alone. Not
  // beside other calls. Throws as KernelStore's constructor does.
  void keep_kernels_in(const std::filesystem::path& directory) { store_.emplace(directory); }

  // Makes what serves calls like this one by the config, on the device of this ordinal, which is
  // current: compiles and loads a kernel where that was not done before. It must not outlive this
  // object. library_version: that a library's algorithm is of; empty: any. Throws DeviceError.
  Server prepare(const KnownConfig& config, const std::string& library_version,
                 const GemmCall& call, int ordinal);

  // Launches the call in the stream. given: where that is being captured.
  void enqueue(const Server& server, const GemmCall& call, int ordinal, cudaStream_t stream,
               const GivenWorkspace& given = {});

  const LoadedKernels& kernels(int ordinal, const std::string& arch, const KnownConfig& config,
                               const CallForm& form);
  Library& library(int ordinal);

  // The device as the database's key. Throws DeviceError.
  const DeviceKey& device(int ordinal) const;

 private:
  struct Ordinal {
    int value;
    std::size_t hash() const { return static_cast<std::size_t>(value); }
    friend bool operator==(const Ordinal&, const Ordinal&) = default;
  };

  std::optional<KernelStore> store_;
  mutable Remembered<Ordinal, DeviceKey> devices_;
  // By ordinal, config text and form of the call. Never shrinks: a kernel may still be running.
  OncePerKey<std::tuple<int, std::string, CallForm>, std::unique_ptr<const LoadedKernels>> kernels_;
  OncePerKey<int, std::unique_ptr<Library>> libraries_;  // by ordinal
  WorkspacePool workspaces_;
};

}  // namespace gemm_tune

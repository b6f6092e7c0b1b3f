// SPDX-License-Identifier: Apache-2.0
// Calls that cuBLAS and cublasLt serve on one device, by configs of
// kernel_templates/registry/library_families.h.
//
// Both are opened when first needed. Calls on one device are enqueued one after the other. Any
// number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/problem/gemm_call.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/cuda_libraries/cublas_lt.h"
#include "gpu/cuda_libraries/cublas_types.h"
#include "kernel_templates/registry/library_families.h"
#include "runtime/workspace_pool.h"

namespace gemm_tune {

// Whether the libraries have a function for a call of the problem: of its types, without an
// epilogue, something to multiply, and matrices of whole elements.
inline bool library_takes(const Problem& problem) {
  const Alignment& aligned = problem.alignment;
  const Signature& types = problem.signature;
  return problem.K > 0 && problem.epilogue.is_none() && problem.batch_kind != BatchKind::groups &&
         cublas_abi::has_function(types) && aligned.a >= bytes_of(types.a) &&
         aligned.b >= bytes_of(types.b) && aligned.c >= bytes_of(types.c) &&
         aligned.d >= bytes_of(types.d);
}

// Whether they have one for the call: also C in D, no epilogue, leading dimensions within 32 bits.
// The call's problem has the alignment of its matrices (problem_of()).
inline bool library_takes(const GemmCall& call) {
  return library_takes(call.problem) && call.alpha != 0 && form_of(call) == CallForm() &&
         std::max({call.lda, call.ldb, call.ldc}) <= std::numeric_limits<int>::max();
}

// The versions of this machine's libraries, as revisions of their families; empty where one is
// missing. Needs no GPU.
std::map<std::string, std::string> library_revisions_here();

class Library;

// A config of a library, ready for calls of one problem. As PreparedCall is of a kernel.
class LibraryCall {
 public:
  // Scratch memory of one call.
  std::int64_t workspace_bytes() const { return workspace_bytes_; }

  // Enqueues the call. False where the algorithm does not take it: its rows are otherwise far apart
  // than those for which the algorithm was prepared, or its matrices less aligned than the
  // algorithm needs. workspace: of workspace_bytes(). Throws DeviceError.
  bool launch(const GemmCall& call, void* workspace, cudaStream_t stream) const;

 private:
  friend class Library;
  LibraryCall(Library& library, std::int64_t workspace_bytes,
              std::optional<CublasLt::Plan> plan = std::nullopt)
      : library_(library), workspace_bytes_(workspace_bytes), plan_(std::move(plan)) {}

  Library& library_;
  std::int64_t workspace_bytes_;
  std::optional<CublasLt::Plan> plan_;  // of one algorithm; nothing: cuBLAS chooses
};

class Library {
 public:
  // Belongs to the device that is current when it is made and used.
  Library() = default;

  // What a call of this kind may be served by: cuBLAS's own choice, then what cublasLt proposes, in
  // the order of cublasLt's own time estimates and `most` at most; none of a library that cannot be
  // opened. call: library_takes().
  std::vector<KnownConfig> proposals(const GemmCall& call, int most);

  // The library's version, which is the revision of its family's rows. Throws DeviceError where the
  // library cannot be opened.
  std::string revision(const KernelFamily& family);

  // The config for calls like this one. Must not outlive this object. Throws DeviceError where the
  // library cannot be opened or refuses the algorithm for the call.
  LibraryCall prepare(const KnownConfig& config, const GemmCall& call);

  // Enqueues the call by the algorithm or, where that does not take it, by cuBLAS's own choice.
  // given: of a captured call.
  void gemm(const LibraryCall& algorithm, const GemmCall& call, int ordinal, cudaStream_t stream,
            WorkspacePool& workspaces, const GivenWorkspace& given);

 private:
  friend class LibraryCall;

  Cublas& cublas();
  CublasLt& cublas_lt();

  std::mutex mutex_;
  std::optional<Cublas> cublas_;  // guarded by mutex_, as the next
  std::optional<CublasLt> cublas_lt_;
};

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "gpu/launch/launch_graph.h"

#include <utility>

namespace gemm_tune {

LaunchGraph::LaunchGraph(const Stream& stream, const std::function<void()>& enqueue) {
  GT_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    // The stream must not stay in capture mode. The exception under way reports the failure.
    cudaStreamEndCapture(stream.get(), &graph);
    cudaGraphDestroy(graph);
    throw;
  }
  GT_CUDA(cudaStreamEndCapture(stream.get(), &graph));
  const cudaError_t code = cudaGraphInstantiate(&executable_, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(code, "cudaGraphInstantiate");
}

LaunchGraph::~LaunchGraph() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

LaunchGraph::LaunchGraph(LaunchGraph&& other) noexcept
    : executable_(std::exchange(other.executable_, nullptr)) {}

LaunchGraph& LaunchGraph::operator=(LaunchGraph&& other) noexcept {
  std::swap(executable_, other.executable_);
  return *this;
}

void LaunchGraph::launch(cudaStream_t stream) const {
  GT_CUDA(cudaGraphLaunch(executable_, stream));
}

}  // namespace gemm_tune

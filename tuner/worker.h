// The child's side: answers requests until the pipe closes. `gemm-tune worker`, not for people.
#pragma once

namespace gemm_tune {

inline constexpr const char* kWorkerCommand = "worker";
inline constexpr int kWorkerFd = 3;  // where a worker finds its pipe

// Serves compile, device, measure and finals requests (tuner/protocol.h) on kWorkerFd. Returns the
// process's exit code.
int run_worker();

}  // namespace gemm_tune

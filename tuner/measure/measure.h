// SPDX-License-Identifier: Apache-2.0
// What the measuring worker does on its GPU: verify, then time.
//
// One object per process and device; it keeps operands and references between requests. A candidate
// whose outcome is neither ok nor rejected may have spoilt the process's CUDA context or what its
// memory holds: the process should end then.
#pragma once

#include <memory>

#include "tuner/measure/requests.h"

namespace gemm_tune {

class Measurer {
 public:
  // Throws DeviceError where the device cannot be used.
  explicit Measurer(int ordinal);
  ~Measurer();

  ProposalsReply propose(const ProposalsRequest& request);
  MeasureReply measure(const MeasureRequest& request);
  FinalsReply finals(const FinalsRequest& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemm_tune

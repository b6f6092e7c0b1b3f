// SPDX-License-Identifier: Apache-2.0
// Whether a kernel computes what it should, on a GPU: the check before every timing.
//
// Each shape is run twice into a C full of NaN or known values, with guard bands around it and
// poison in the gaps between its rows and between the matrices of a batch: on whole numbers whose
// sums are exact in fp32, which must match an fp64 reference, rounded once to D's type, with
// beta = 0 over the NaN; and on uniform random data with alpha and beta, within the bound of the
// problem's accuracy class, which holds for any order of summation and any K
// (core/types/error_bound.h, docs/verification.md). A and B are of f32, f16 or bf16, so are C and
// D, and C is D. The reference is a kernel of its own and does not rest on cuBLAS. One object per
// device, one thread.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_spec.h"
#include "core/problem/gemm_call.h"
#include "gpu/launch/kernel.h"
#include "gpu/launch/memory.h"
#include "tuner/measure/verify_shapes.h"

namespace gemm_tune {

// The seed of A and B in a run with this seed. Random ones are the same in every run, so that the
// errors of all runs may be compared; whole numbers (integer_range > 0) are the run's own.
std::uint64_t seed_of_operands(std::uint64_t run_seed, int integer_range);

// Mirrored in epilogue_check.cuh: the operands of an epilogue, in its functors' order.
struct CheckedOperands {
  const void* at[kMostOperands];
};

// Enqueues one GEMM.
using Gemm = std::function<void(const GemmCall& call)>;

class Verifier {
 public:
  // Compiles its kernels for the current device, which `device` describes. seed: of the run.
  Verifier(const DeviceSpec& device, cudaStream_t stream, std::uint64_t seed);

  // What is wrong, as a sentence fragment; nothing if the result is right. Throws CudaError where
  // the kernel faults and where memory does not suffice, DeviceError where the accuracy class needs
  // tensor cores that the device lacks.
  std::optional<std::string> check(const Gemm& gemm, const GemmCall& shape);

  // The relative error of D on random operands with alpha = 1 and beta = 0, in the Frobenius norm;
  // nullopt where it is no number. Equal results have the same error to the bit.
  std::optional<double> relative_error(const Gemm& gemm, const GemmCall& shape);

  // What differs between two runs on the same operands, as a sentence fragment; nothing if C is the
  // same bit for bit. For small shapes: it is compared on the host.
  std::optional<std::string> check_repeats(const Gemm& gemm, const GemmCall& shape);

  // The call to time at the shape: random operands, alpha = 1, beta = 0. Valid until the next call
  // with another shape.
  GemmCall timing_call(const GemmCall& shape);

 private:
  struct Operands {
    DeviceBuffer<char> A, B;
    DeviceBuffer<double> sum, magnitude;  // of op(A) * op(B) and |op(A)| * |op(B)|, packed
    std::uint64_t last_use;               // by the count of uses
  };
  struct Kernels {
    LoadedKernel fill, reference, check, squares;
  };
  struct Case {
    int integer_range;  // 0: uniform in [-1, 1)
    double alpha, beta;
  };
  static constexpr Case kRandom = {0, 0.75, -0.5};  // uniform data with both scalings

  Kernels load_kernels(const Epilogue& epilogue) const;
  // Compiled when first needed.
  const Kernels& kernels(const Epilogue& epilogue = {});
  // The epilogue's operands: those that it reads are filled, those that it writes poisoned.
  void fill_epilogue(GemmCall& call, const Case& kind);
  CheckedOperands checked_operands() const;
  std::optional<std::string> check_case(const Gemm& gemm, const GemmCall& shape, const Case& kind);
  const Operands& operands(const GemmCall& shape, int integer_range);
  // For further operands, by the rule of kept_operands.h.
  void make_room_for(const GemmCall& shape);
  // C between its guards, with what the case wants in it.
  void fill_c(const GemmCall& shape, const Case& kind);
  GemmCall call_at(const GemmCall& shape, const Case& kind);
  // The call as a program makes it: of a batch of pointers with arrays of addresses.
  GemmCall with_addresses(const GemmCall& call);
  void fill(DeviceBuffer<char>& buffer, Matrices matrices, std::uint64_t seed, int integer_range,
            bool poisoned);

  std::string arch_;
  int sm_;                    // 90 for sm_90
  std::size_t memory_bytes_;  // of the card
  cudaStream_t stream_;
  std::uint64_t seed_;
  std::map<Epilogue, Kernels> kernels_;
  std::map<std::pair<GemmCall, int>, Operands> operands_;  // by shape and integer range
  std::uint64_t uses_ = 0;                                 // of operands
  DeviceBuffer<char> c_;                                   // with its guards
  DeviceBuffer<char> addresses_;                           // of a batch of pointers
  std::array<DeviceBuffer<char>, kMostOperands> epilogue_buffers_;
};

}  // namespace gemm_tune

// Whether a kernel computes what it should, on a GPU: the check before every timing.
//
// Each shape is run twice into a C full of NaN or known values, between guard bands: on whole
// numbers whose result is exact in fp32, which must match an fp64 reference bitwise with beta = 0
// over the NaN; and on uniform random data with alpha and beta, within Higham's bound for any order
// of summation: |c - want| <= gamma(K + 3) (|alpha| |A| |B| + |beta| |C|), gamma(n) = n u / (1 - n
// u), u = 2^-24 (Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, section 3.1; the
// three beyond K are the two scalings and the last addition). The reference is a kernel of its own
// and does not rest on cuBLAS. One object per device, one thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/kernel.h"
#include "gpu/memory.h"
#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/registry.h"

namespace gemm_tune {

struct Shape {
  std::int64_t M = 0, N = 0, K = 0, lda = 0, ldb = 0, ldc = 0;

  auto operator<=>(const Shape&) const = default;
};

// Packed where that has the problem's alignment class; otherwise each leading dimension is the
// smallest that gives the class.
Shape shape_of(const Problem& problem);

// Small shapes at which a config of this kind is checked before the tuned one: several tiles with
// gaps between rows; for a predicated kernel also a tiny one and one that is ragged on every edge.
std::vector<Shape> small_verification_shapes(const KnownConfig& config);

// Enqueues one GEMM.
using Gemm = std::function<void(const GemmArgs&)>;

class Verifier {
 public:
  // Compiles its kernels for the current device's arch. seed: of all operands.
  Verifier(const std::string& arch, cudaStream_t stream, std::uint64_t seed);

  // What is wrong, as a sentence fragment; nothing if the result is right. Throws CudaError where
  // the kernel faults and where memory does not suffice.
  std::optional<std::string> check(const Gemm& gemm, const Shape& shape);

  // Arguments for timing at the shape: random operands, alpha = 1, beta = 0. Valid until the next
  // call with another shape.
  GemmArgs timing_args(const Shape& shape);

 private:
  struct Operands {
    DeviceBuffer<float> A, B;
    DeviceBuffer<double> sum, magnitude;  // of A * B and |A| * |B|, packed
  };
  struct Kernels {
    LoadedKernel fill, reference, check;
  };
  struct Case {
    int integer_range;  // 0: uniform in [-1, 1)
    float alpha, beta;
    double gamma;  // 0: bitwise
  };

  static Kernels load_kernels(const std::string& arch);
  std::optional<std::string> check_case(const Gemm& gemm, const Shape& shape, const Case& kind);
  const Operands& operands(const Shape& shape, int integer_range);
  // Operands of the tuned shape can be gigabytes: those of one large shape are kept at a time, and
  // small ones until they are too many.
  void make_room(const Shape& shape);
  float* fresh_c(const Shape& shape, const Case& kind);
  void fill(DeviceBuffer<float>& buffer, std::int64_t guard, std::int64_t rows, std::int64_t cols,
            std::int64_t ld, std::uint64_t seed, int integer_range, bool poisoned);

  cudaStream_t stream_;
  std::uint64_t seed_;
  Kernels kernels_;
  std::map<std::pair<Shape, int>, Operands> operands_;  // by shape and integer range
  DeviceBuffer<float> c_;
};

}  // namespace gemm_tune

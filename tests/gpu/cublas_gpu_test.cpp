// SPDX-License-Identifier: Apache-2.0
#include <type_traits>
#include <utility>
#include <vector>

#include "core/types/float16.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/launch/launch_graph.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/gpu/gpu_test.h"

namespace gemm_tune {
namespace {

using CublasGpuTest = GpuTest;

// A [2,3] with lda 4, B [3,2] with ldb 3, C [2,2] with ldc 3, all row-major; A * B is
// [[58, 64], [139, 154]].
template <class T>
struct Operands {
  DeviceBuffer<T> a{8}, b{9}, c{6};

  Operands() {
    a.copy_from_host(std::vector<T>{1, 2, 3, -1, 4, 5, 6, -1});
    b.copy_from_host(std::vector<T>{7, 8, -1, 9, 10, -1, 11, 12, -1});
    c.copy_from_host(std::vector<T>{1, 1, -5, 1, 1, -5});
  }
  GemmCall call() const {
    GemmCall call;
    call.problem = packed_problem(2, 2, 3);
    call.problem.signature =
        signature_of(std::is_same_v<T, double> ? ElementType::f64 : ElementType::f32);
    call.lda = 4;
    call.ldb = 3;
    call.ldc = 3;
    return in_place(call, a.data(), b.data(), c.data());
  }
  std::vector<T> result() const {
    std::vector<T> host(6);
    c.copy_to_host(host);
    return host;
  }
};

TEST_F(CublasGpuTest, MultipliesRowMajorMatricesWithLeadingDimensions) {
  for (const Cublas::Math math : {Cublas::Math::standard, Cublas::Math::pedantic}) {
    Operands<float> x;
    const Stream stream;
    Cublas cublas;
    cublas.set_stream(stream.get());
    GemmCall call = x.call();
    call.alpha = 2;
    call.beta = 10;
    cublas.gemm(call, math);
    stream.synchronize();
    EXPECT_EQ(x.result(), (std::vector<float>{126, 138, -5, 288, 318, -5}));
  }
}

TEST_F(CublasGpuTest, MultipliesInDoublePrecision) {
  Operands<double> x;
  const Stream stream;
  Cublas cublas;
  cublas.set_stream(stream.get());
  cublas.gemm(x.call());
  stream.synchronize();
  EXPECT_EQ(x.result(), (std::vector<double>{58, 64, -5, 139, 154, -5}));
}

TEST_F(CublasGpuTest, RefusesSizesBeyond32Bits) {
  Operands<float> x;
  Cublas cublas;
  GemmCall call = x.call();
  call.lda = std::int64_t{1} << 32;
  EXPECT_THROW(cublas.gemm(call), DeviceError);
}

// The same product, with A stored [3,2] or B stored [2,3] where the layout says so.
TEST_F(CublasGpuTest, TransposesWhatTheLayoutSays) {
  Operands<float> x;
  DeviceBuffer<float> a_t(6), b_t(8);
  a_t.copy_from_host(std::vector<float>{1, 4, 2, 5, 3, 6});
  b_t.copy_from_host(std::vector<float>{7, 9, 11, -1, 8, 10, 12, -1});
  const Stream stream;
  Cublas cublas;
  cublas.set_stream(stream.get());
  for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
    GemmCall call = x.call();
    call.problem.layout = layout;
    if (transposes_a(layout)) call.A = a_t.data(), call.lda = 2;
    if (transposes_b(layout)) call.B = b_t.data(), call.ldb = 4;
    x.c.fill_bytes(0xFF);
    cublas.gemm(call);
    stream.synchronize();
    const std::vector<float> c = x.result();
    EXPECT_EQ(std::vector<float>({c[0], c[1], c[3], c[4]}), std::vector<float>({58, 64, 139, 154}))
        << to_string(layout);
  }
}

TEST_F(CublasGpuTest, MultipliesABatchWithStrides) {
  DeviceBuffer<float> a(4), b(5), c(7);
  a.copy_from_host(std::vector<float>{2, -1, 3, 5});       // 2, 3; two apart
  b.copy_from_host(std::vector<float>{7, -1, -1, 11, 0});  // 7, 11; three apart
  c.copy_from_host(std::vector<float>(7, -5));
  const Stream stream;
  Cublas cublas;
  cublas.set_stream(stream.get());
  GemmCall call = packed_call(packed_problem(1, 1, 1, Layout::nn, 2));
  call.stride_a = 2;
  call.stride_b = 3;
  call.stride_c = 5;
  cublas.gemm(in_place(call, a.data(), b.data(), c.data()));
  stream.synchronize();
  std::vector<float> result(7);
  c.copy_to_host(result);
  EXPECT_EQ(result, (std::vector<float>{14, -5, -5, -5, -5, 33, -5}));
}

// Or refuses: of an earlier version, or in a first call that is captured.
TEST_F(CublasGpuTest, AutotunesInAFirstCallAndMultipliesInTheNext) {
  Operands<float> x;
  const Stream stream;
  Cublas cublas;
  cublas.set_stream(stream.get());
  const std::optional<std::string> refusal = cublas.gemm_autotuned(x.call());
  if (refusal) {
    EXPECT_TRUE(refusal->starts_with("CUBLAS_STATUS_")) << *refusal;
    return;
  }
  stream.synchronize();
  x.c.copy_from_host(std::vector<float>{1, 1, -5, 1, 1, -5});
  EXPECT_EQ(cublas.gemm_autotuned(x.call()), std::nullopt);
  stream.synchronize();
  EXPECT_EQ(x.result(), (std::vector<float>{58, 64, -5, 139, 154, -5}));
  const LaunchGraph graph(stream,
                          [&] { EXPECT_EQ(cublas.gemm_autotuned(x.call()), std::nullopt); });
}

TEST_F(CublasGpuTest, RefusesACallWhoseCIsNotD) {
  Operands<float> x, other;
  Cublas cublas;
  GemmCall call = x.call();
  call.C = other.c.data();
  EXPECT_THROW(cublas.gemm(call), DeviceError);
}

// The product of the first test, then the same rows as a batch. Every number is one that bf16
// holds.
TEST_F(CublasGpuTest, MultipliesOperandsOf16Bits) {
  const Stream stream;
  Cublas cublas;
  cublas.set_stream(stream.get());
  for (const auto& [type, format] :
       {std::pair(ElementType::f16, kF16), {ElementType::bf16, kBf16}}) {
    const auto bits_of = [&, format = format](const std::vector<float>& values) {
      std::vector<std::uint16_t> bits;
      for (const float value : values) bits.push_back(from_float(format, value));
      return bits;
    };
    DeviceBuffer<std::uint16_t> a(8), b(9), c16(6);
    DeviceBuffer<float> c32(6);
    a.copy_from_host(bits_of({1, 2, 3, -1, 4, 5, 6, -1}));
    b.copy_from_host(bits_of({7, 8, -1, 9, 10, -1, 11, 12, -1}));
    for (const ElementType d : {ElementType::f32, type}) {
      const std::vector<float> before = {1, 1, -5, 1, 1, -5};
      c32.copy_from_host(before);
      c16.copy_from_host(bits_of(before));
      GemmCall call = packed_call(packed_problem(2, 2, 3));
      call.problem.signature = signature_of(type, d);
      call.lda = 4;
      call.ldb = call.ldc = 3;
      call.alpha = 2;
      call.beta = 10;
      void* const D = d == type ? static_cast<void*>(c16.data()) : c32.data();
      cublas.gemm(in_place(call, a.data(), b.data(), D));
      call.problem = packed_problem(1, 2, 3, Layout::nn, 2);
      call.problem.signature = signature_of(type, d);
      call.stride_a = 4;
      call.stride_b = 0;
      call.stride_c = 3;
      call.alpha = 1;
      call.beta = -1;
      cublas.gemm(in_place(call, a.data(), b.data(), D));
      stream.synchronize();
      // 58 - 126, 64 - 138, 139 - 288, 154 - 318.
      const std::vector<float> after = {-68, -74, -5, -149, -164, -5};
      if (d == type) {
        std::vector<std::uint16_t> result(6);
        c16.copy_to_host(result);
        EXPECT_EQ(result, bits_of(after)) << to_string(type);
      } else {
        std::vector<float> result(6);
        c32.copy_to_host(result);
        EXPECT_EQ(result, after) << to_string(type);
      }
    }
  }
}

TEST_F(CublasGpuTest, IsVersion13) {
  const Cublas cublas;
  EXPECT_EQ(cublas.version().substr(0, 3), "13.");
}

}  // namespace
}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>
#include <vector>

#include "core/types/float16.h"
#include "gpu/cuda_libraries/cublas_lt.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/gpu/gpu_test.h"

namespace gemm_tune {
namespace {

class CublasLtGpuTest : public GpuTest {
 protected:
  DeviceBuffer<char> workspace_{CublasLt::kWorkspaceBytes};
};

constexpr std::int64_t kM = 24, kN = 40, kK = 56, kBatch = 3, kGap = 8;

float a_at(std::int64_t batch, std::int64_t i, std::int64_t k) {
  return static_cast<float>((3 * i + 5 * k + batch) % 7 - 3);
}
float b_at(std::int64_t batch, std::int64_t k, std::int64_t j) {
  return static_cast<float>((2 * k + 7 * j + 2 * batch) % 5 - 2);
}

// Batches of small integers, where every algorithm must agree exactly. Rows and matrices have gaps.
struct LtOperands {
  explicit LtOperands(Layout layout, std::int64_t shift = 0) {
    const bool ta = transposes_a(layout), tb = transposes_b(layout);
    call.problem = packed_problem(kM, kN, kK, layout, kBatch);
    call.lda = (ta ? kM : kK) + kGap, call.ldb = (tb ? kK : kN) + kGap, call.ldc = kN + kGap;
    call.stride_a = call.lda * (ta ? kK : kM) + kGap;
    call.stride_b = call.ldb * (tb ? kN : kK) + kGap;
    call.stride_c = call.ldc * kM + kGap;
    const auto floats = [&](std::int64_t stride) {
      return std::vector<float>(static_cast<std::size_t>(shift + kBatch * stride), -9.0F);
    };
    std::vector<float> host_a = floats(call.stride_a), host_b = floats(call.stride_b);
    for (std::int64_t batch = 0; batch < kBatch; ++batch) {
      for (std::int64_t k = 0; k < kK; ++k) {
        for (std::int64_t i = 0; i < kM; ++i) {
          const std::int64_t at = ta ? k * call.lda + i : i * call.lda + k;
          host_a[static_cast<std::size_t>(shift + batch * call.stride_a + at)] = a_at(batch, i, k);
        }
        for (std::int64_t j = 0; j < kN; ++j) {
          const std::int64_t at = tb ? j * call.ldb + k : k * call.ldb + j;
          host_b[static_cast<std::size_t>(shift + batch * call.stride_b + at)] = b_at(batch, k, j);
        }
      }
    }
    a = DeviceBuffer<float>(host_a.size());
    a.copy_from_host(host_a);
    b = DeviceBuffer<float>(host_b.size());
    b.copy_from_host(host_b);
    host_c = floats(call.stride_c);
    c = DeviceBuffer<float>(host_c.size());
    clear();
    call = in_place(call, a.data() + shift, b.data() + shift, c.data() + shift);
    call.alpha = 2;
    for (std::int64_t batch = 0; batch < kBatch; ++batch) {
      for (std::int64_t i = 0; i < kM; ++i) {
        for (std::int64_t j = 0; j < kN; ++j) {
          float sum = 0;
          for (std::int64_t k = 0; k < kK; ++k) sum += a_at(batch, i, k) * b_at(batch, k, j);
          host_c[static_cast<std::size_t>(shift + batch * call.stride_c + i * call.ldc + j)] =
              2 * sum;
        }
      }
    }
  }

  void clear() { c.copy_from_host(std::vector<float>(c.size(), -9.0F)); }

  std::vector<float> result() const {
    std::vector<float> host(c.size());
    c.copy_to_host(host);
    return host;
  }

  GemmCall call;
  DeviceBuffer<float> a, b, c;
  std::vector<float> host_c;  // what is right, the gaps as they were
};

TEST_F(CublasLtGpuTest, EveryAlgorithmMultipliesBatchesInEveryLayout) {
  const Stream stream;
  const CublasLt lt;
  for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
    LtOperands x(layout);
    const CublasLt::Plan plan = lt.plan(x.call);
    ASSERT_GT(plan.size(), 0u) << to_string(layout);
    EXPECT_LE(plan.size(), 100u);
    for (std::size_t i = 0; i < plan.size(); ++i) {
      x.clear();
      if (!plan.run(i, x.call, stream.get(), workspace_.data())) continue;
      stream.synchronize();
      EXPECT_EQ(x.result(), x.host_c) << to_string(layout) << " by algorithm " << i;
    }
    EXPECT_TRUE(plan.run(0, x.call, stream.get(), workspace_.data()));
    stream.synchronize();
  }
}

// Sums below 256, which bf16 holds, in D of either type.
TEST_F(CublasLtGpuTest, MultipliesOperandsOf16Bits) {
  constexpr std::int64_t kSize = 32;
  constexpr std::size_t kCells = kSize * kSize;
  const Stream stream;
  const CublasLt lt;
  for (const auto& [type, format] :
       {std::pair(ElementType::f16, kF16), {ElementType::bf16, kBf16}}) {
    std::vector<std::uint16_t> host_a(kCells), host_b(kCells), right16(kCells);
    std::vector<float> right(kCells);
    for (std::int64_t i = 0; i < kSize; ++i) {
      for (std::int64_t j = 0; j < kSize; ++j) {
        const auto at = static_cast<std::size_t>(i * kSize + j);
        host_a[at] = from_float(format, a_at(0, i, j));
        host_b[at] = from_float(format, b_at(0, i, j));
        for (std::int64_t k = 0; k < kSize; ++k) right[at] += a_at(0, i, k) * b_at(0, k, j);
        ASSERT_LE(std::abs(right[at]), 256);
        right16[at] = from_float(format, right[at]);
      }
    }
    DeviceBuffer<std::uint16_t> a(kCells), b(kCells), d16(kCells);
    DeviceBuffer<float> d32(kCells);
    a.copy_from_host(host_a);
    b.copy_from_host(host_b);
    for (const ElementType d : {ElementType::f32, type}) {
      Problem problem = packed_problem(kSize, kSize, kSize);
      problem.signature = signature_of(type, d);
      void* const D = d == type ? static_cast<void*>(d16.data()) : d32.data();
      const GemmCall call = in_place(packed_call(problem), a.data(), b.data(), D);
      const CublasLt::Plan plan = lt.plan(call, 5);
      ASSERT_GT(plan.size(), 0u) << to_string(problem);
      for (std::size_t i = 0; i < plan.size(); ++i) {
        d16.fill_bytes(0xff);
        d32.fill_bytes(0xff);
        if (!plan.run(i, call, stream.get(), workspace_.data())) continue;
        stream.synchronize();
        std::vector<std::uint16_t> result16(kCells);
        std::vector<float> result(kCells);
        d16.copy_to_host(result16);
        d32.copy_to_host(result);
        const bool is_right = d == type ? result16 == right16 : result == right;
        EXPECT_TRUE(is_right) << to_string(problem) << " by algorithm " << i;
      }
      ASSERT_TRUE(plan.run(0, call, stream.get(), workspace_.data()));
      stream.synchronize();
    }
  }
}

TEST_F(CublasLtGpuTest, AddressesThatAreMerelyFloatsWillDo) {
  const Stream stream;
  const CublasLt lt;
  LtOperands x(Layout::nn, 1);
  const CublasLt::Plan plan = lt.plan(x.call, 5);
  ASSERT_GT(plan.size(), 0u);
  EXPECT_LE(plan.size(), 5u);
  ASSERT_TRUE(plan.run(0, x.call, stream.get(), workspace_.data()));
  stream.synchronize();
  EXPECT_EQ(x.result(), x.host_c);
}

// cublasLt takes each of its proposals back, made of numbers, and the result is right.
TEST_F(CublasLtGpuTest, EveryProposalCanBeMadeOfItsNumbers) {
  const Stream stream;
  const CublasLt lt;
  LtOperands x(Layout::tn);
  const CublasLt::Plan plan = lt.plan(x.call);
  ASSERT_GT(plan.size(), 0u);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const LtAlgorithm numbers = plan.algorithm(i);
    const std::optional<CublasLt::Plan> again = lt.plan_of(numbers, x.call);
    ASSERT_TRUE(again.has_value()) << i;
    EXPECT_EQ(again->algorithm(0), numbers) << i;
    if (!plan.run(i, x.call, stream.get(), workspace_.data())) continue;
    x.clear();
    ASSERT_TRUE(again->run(0, x.call, stream.get(), workspace_.data())) << i;
    stream.synchronize();
    EXPECT_EQ(x.result(), x.host_c) << i;
  }
}

TEST_F(CublasLtGpuTest, APlanIsForCallsOfItsShape) {
  const CublasLt lt;
  LtOperands x(Layout::nn);
  const CublasLt::Plan plan = lt.plan(x.call, 1);
  GemmCall other = x.call;
  other.alpha = 3;
  EXPECT_TRUE(plan.has_shape_of(other));
  ++other.lda;
  EXPECT_FALSE(plan.has_shape_of(other));
  other = x.call;
  ++other.problem.K;
  EXPECT_FALSE(plan.has_shape_of(other));
}

TEST_F(CublasLtGpuTest, IsVersion13) { EXPECT_EQ(CublasLt().version().substr(0, 3), "13."); }

}  // namespace
}  // namespace gemm_tune

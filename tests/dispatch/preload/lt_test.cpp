// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmul through the drop-in: what its descriptors may say, and what they may not.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "core/problem/epilogue.h"
#include "tests/dispatch/call_fields.h"
#include "tests/dispatch/preload/interposed.h"

namespace gemm_tune {
namespace {

constexpr int kF32 = 0, kF16 = 2, kComputeF32 = 68, kFastTf32 = 77;
constexpr int kScaleType = 1, kPointerMode = 2, kTransposeA = 3, kTransposeB = 4, kEpilogue = 7,
              kBiasPointer = 8, kSmCountTarget = 15, kBiasType = 26;
constexpr int kOrder = 1, kBatchCount = 5, kBatchStride = 6;
constexpr int kBias = 4, kReluBias = 6, kGeluBias = 36;
constexpr std::size_t kWorkspace = 12345;

// What is not set is padding with this in it.
struct Descriptor {
  std::array<std::int64_t, 32> words;

  explicit Descriptor(int compute_type = kComputeF32) {
    words.fill(0x7777777777777777);
    cublasLtMatmulDescInit_internal(words.data(), sizeof words, compute_type, kF32);
  }
  template <class T>
  void set(int attribute, T value) {
    cublasLtMatmulDescSetAttribute(words.data(), attribute, &value, sizeof value);
  }
};

struct Layout {
  std::array<std::int64_t, 8> words;

  Layout(int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld) {
    words.fill(0x5555555555555555);
    cublasLtMatrixLayoutInit_internal(words.data(), sizeof words, type, rows, columns, ld);
  }
  template <class T>
  void set(int attribute, T value) {
    cublasLtMatrixLayoutSetAttribute(words.data(), attribute, &value, sizeof value);
  }
};

// D[m,8] = A^T B with A stored 12 x m.
struct Product {
  int m = new_size();
  Descriptor descriptor;
  Layout a{kF32, 12, std::uint64_t(m), 16}, b{kF32, 12, 8, 20}, c{kF32, std::uint64_t(m), 8, m + 4},
      d = c;
  float alpha = 2, beta = 0;
  const float* C = matrix;
  float* D = matrix;
  void* workspace = nullptr;
  int stream = 0;

  Product() { descriptor.set(kTransposeA, 1); }

  int call(FakeHandle& handle) {
    return cublasLtMatmul(&handle, descriptor.words.data(), &alpha, matrix + 1, a.words.data(),
                          matrix + 2, b.words.data(), &beta, C, c.words.data(), D, d.words.data(),
                          nullptr, workspace, kWorkspace, reinterpret_cast<CUstream_st*>(&stream));
  }
};

class LtTest : public InterposedTest {
 protected:
  void expect_by_cublas(Product& product) {
    const int before = handle_.calls;
    EXPECT_EQ(product.call(handle_), kByCublas);
    EXPECT_EQ(handle_.calls, before + 1);
    EXPECT_STREQ(handle_.function, "cublasLtMatmul");
    EXPECT_EQ(handle_.ldc, kWorkspace);
  }
  void expect_served(Product& product) {
    EXPECT_EQ(product.call(handle_), kServed);
    EXPECT_EQ(handle_.calls, 0);
  }
};

TEST_F(LtTest, EveryFieldFindsItsPlace) {
  Product product;
  product.beta = 3;
  expect_served(product);
  const gt_gemm_call& call = library_.call;
  EXPECT_EQ(library_.stream, static_cast<void*>(&product.stream));
  EXPECT_EQ(call.order, GT_COLUMN_MAJOR);
  EXPECT_EQ(call.trans_a, GT_TRANSPOSE);
  EXPECT_EQ(call.trans_b, GT_NO_TRANSPOSE);
  EXPECT_EQ(edges(call), (Numbers{product.m, 8, 12}));
  EXPECT_EQ(call.batch, 1);
  EXPECT_EQ(call.alpha, 2);
  EXPECT_EQ(call.beta, 3);
  EXPECT_EQ(call.A, matrix + 1);
  EXPECT_EQ(call.B, matrix + 2);
  EXPECT_EQ(call.C, matrix);
  EXPECT_EQ(call.D, matrix);
  EXPECT_EQ(call.lda, 16);
  EXPECT_EQ(call.ldb, 20);
  EXPECT_EQ(call.ldc, product.m + 4);
  EXPECT_EQ(call.epilogue, 0U);
}

TEST_F(LtTest, ServesABiasAndAReluOfItWithCApart) {
  const float bias = 1;
  for (const auto& [epilogue, expected] :
       {std::pair(kBias, "bias_row"), std::pair(kReluBias, "bias_row+relu")}) {
    Product product;
    product.descriptor.set(kEpilogue, epilogue);
    product.descriptor.set<const void*>(kBiasPointer, &bias);
    product.C = matrix + 3;
    product.beta = 3;
    expect_served(product);
    EXPECT_EQ(library_.call.epilogue, find_epilogue(expected)->bits());
    EXPECT_EQ(library_.call.operands[0], &bias);
    EXPECT_EQ(library_.call.C, matrix + 3);
    EXPECT_EQ(library_.call.D, matrix);
    product.descriptor.set(kBiasType, kF32);
    expect_served(product);
    product.descriptor.set(kBiasType, kF16);
    expect_by_cublas(product);
    handle_.calls = 0;
  }
}

// As XLA calls it.
TEST_F(LtTest, BesideABetaOf0CIsNotReadAndMayBeNullOrLieOtherwiseThanD) {
  Product product;
  const auto expect_only_d = [&] {
    expect_served(product);
    EXPECT_EQ(library_.call.C, matrix);
    EXPECT_EQ(library_.call.D, matrix);
  };
  product.C = nullptr;
  expect_only_d();
  product.c = Layout(kF32, std::uint64_t(product.m), 8, product.m);
  expect_only_d();
  product.C = matrix + 3;
  expect_only_d();
  product.beta = 3;
  expect_by_cublas(product);  // C is read, and lies otherwise
  product.c = product.d;
  product.C = nullptr;
  expect_by_cublas(product);
}

TEST_F(LtTest, TheStrideOfASingleMatrixSaysNothing) {
  Product product;
  product.beta = 3;
  product.c.set(kBatchStride, std::int64_t{7});
  expect_served(product);
}

TEST_F(LtTest, ServesBatches) {
  Product product;
  std::int64_t stride = 100;
  for (Layout* const layout : {&product.a, &product.b, &product.c, &product.d}) {
    layout->set(kBatchCount, std::int32_t{5});
    layout->set(kBatchStride, stride += (layout == &product.d ? 0 : 100));
  }
  expect_served(product);
  EXPECT_EQ(library_.call.batch, 5);
  EXPECT_EQ(library_.call.stride_a, 200);
  EXPECT_EQ(library_.call.stride_b, 300);
  EXPECT_EQ(library_.call.stride_c, 400);
}

TEST_F(LtTest, AnOperandStoredByRowsIsTheTransposeStoredByColumns) {
  Product product;  // A^T and B as before, of matrices that are stored as JAX stores them
  product.descriptor.set(kTransposeA, 0);
  product.a = Layout(kF32, std::uint64_t(product.m), 12, 16);
  product.b = Layout(kF32, 12, 8, 10);
  for (Layout* const layout : {&product.a, &product.b}) layout->set(kOrder, 1);
  expect_served(product);
  EXPECT_EQ(library_.call.trans_a, GT_TRANSPOSE);
  EXPECT_EQ(library_.call.trans_b, GT_TRANSPOSE);
  EXPECT_EQ(library_.call.M, product.m);
  EXPECT_EQ(library_.call.N, 8);
  EXPECT_EQ(library_.call.K, 12);
  EXPECT_EQ(library_.call.lda, 16);
  EXPECT_EQ(library_.call.ldb, 10);
  Product twice;  // the transpose of what is stored by rows
  twice.a = Layout(kF32, 12, std::uint64_t(twice.m), twice.m + 1);
  twice.a.set(kOrder, 1);
  expect_served(twice);
  EXPECT_EQ(library_.call.trans_a, GT_NO_TRANSPOSE);
  EXPECT_EQ(library_.call.lda, twice.m + 1);
}

TEST_F(LtTest, OtherSettingsAreForCublas) {
  const auto expect_other = [&](auto change) {
    Product product;
    change(product);
    expect_by_cublas(product);
  };
  expect_other([](Product& p) { p.descriptor = Descriptor(kFastTf32); });
  expect_other([](Product& p) { p.descriptor.set(kScaleType, kF16); });
  expect_other([](Product& p) { p.descriptor.set(kPointerMode, 1); });
  expect_other([](Product& p) { p.descriptor.set(kEpilogue, kGeluBias); });
  expect_other([](Product& p) { p.descriptor.set(kEpilogue, kBias); });  // without a bias
  expect_other(
      [](Product& p) { p.descriptor.set<const void*>(kBiasPointer, &p); });  // none adds it
  expect_other([](Product& p) { p.descriptor.set(kSmCountTarget, 66); });
  expect_other(
      [](Product& p) { p.descriptor.set(kTransposeB, 1); });  // whose sizes do not fit then
  expect_other([](Product& p) { p.descriptor.set(30, 1); });  // of a later version
  expect_other([](Product& p) { p.a.set(kOrder, 2); });       // in blocks
  expect_other([](Product& p) {
    p.descriptor.set(kTransposeA, 3);  // conjugated alone, which cuBLAS refuses
    p.a = Layout(kF32, 12, std::uint64_t(p.m), p.m + 1);
    p.a.set(kOrder, 1);
  });
  expect_other([](Product& p) {
    p.d.set(kOrder, 1);
    p.c.set(kOrder, 1);
  });
  expect_other([](Product& p) { p.b.set(kBatchCount, std::int32_t{2}); });
  expect_other([](Product& p) { p.c = Layout(kF32, std::uint64_t(p.m), 9, p.m + 4); });
  expect_other([](Product& p) { p.c = Layout(kF32, std::uint64_t(p.m), 8, p.m - 1); });
  expect_other([](Product& p) { p.c = Layout(kF16, std::uint64_t(p.m), 8, p.m + 4); });
  expect_other([](Product& p) { p.c = p.d = Layout(kF16, std::uint64_t(p.m), 8, p.m); });
  expect_other([](Product& p) { p.a = Layout(kF16, 12, std::uint64_t(p.m), 16); });
}

// Which a captured call takes: of nodes that allocate memory XLA can make no part of its graph.
TEST_F(LtTest, TheProgramsWorkspaceGoesWithTheCall) {
  alignas(256) static char memory[512];
  Product product;
  product.workspace = memory;
  expect_served(product);
  EXPECT_EQ(library_.call.workspace, static_cast<void*>(memory));
  EXPECT_EQ(library_.call.workspace_bytes, std::int64_t{kWorkspace});
  for (void* const unusable : {static_cast<void*>(nullptr), static_cast<void*>(memory + 16)}) {
    product.workspace = unusable;
    expect_served(product);
    EXPECT_EQ(library_.call.workspace_bytes, 0);
  }
  library_.gemm_status = GT_NO_KERNEL;
  expect_by_cublas(product);
  library_.gemm_status = GT_OK;
  EXPECT_EQ(sgemm(handle_, new_size()), kServed);
  EXPECT_EQ(library_.call.workspace_bytes, -1);
}

TEST_F(LtTest, NullPointersAreForCublasToRefuse) {
  const float one = 1;
  EXPECT_EQ(cublasLtMatmul(&handle_, nullptr, &one, matrix, nullptr, matrix, nullptr, &one, matrix,
                           nullptr, matrix, nullptr, nullptr, nullptr, 0, nullptr),
            kByCublas);
}

}  // namespace
}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// What the drop-in serves, hands on and leaves alone.
#include "tests/dispatch/preload/interposed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/dispatch/call_fields.h"

namespace gemm_tune {
namespace {

// op(A)^T * op(B) of m x 8 x 12, whose addresses stand at x, x + 1 and x + 2, was served.
void expect_pointers_served(int status, const FakeHandle& h, const gt_gemm_call& call,
                            float* const* x, std::int64_t m, gt_type ab, gt_type cd,
                            std::int64_t batch) {
  EXPECT_EQ(status, kServed);
  EXPECT_EQ(h.calls, 0);
  EXPECT_EQ(call.batch_kind, GT_POINTERS);
  EXPECT_EQ(call.batch, batch);
  EXPECT_EQ(edges(call), (Numbers{m, 8, 12}));
  EXPECT_EQ(call.trans_a, GT_TRANSPOSE);
  EXPECT_EQ(call.trans_b, GT_NO_TRANSPOSE);
  EXPECT_EQ(types(call), (Numbers{ab, ab, cd, cd}));
  EXPECT_EQ(call.A, x);
  EXPECT_EQ(call.B, x + 1);
  EXPECT_EQ(call.C, x + 2);
  EXPECT_EQ(call.D, x + 2);
  EXPECT_EQ(leading_dimensions(call), (Numbers{16, 20, m + 4}));
  EXPECT_EQ(call.alpha, 2);
  EXPECT_EQ(call.beta, 3);
}

// Expects of each call in turn that cuBLAS got it as it was.
class ExpectForwarded {
 public:
  explicit ExpectForwarded(const FakeHandle& handle) : h_(handle) {}

  void operator()(int status, const char* function, std::int64_t m, std::int64_t batch) {
    EXPECT_EQ(status, kByCublas);
    EXPECT_EQ(h_.calls, ++calls_) << function;
    EXPECT_STREQ(h_.function, function);
    EXPECT_EQ(h_.m, m);
    EXPECT_EQ(h_.ldc, m + 1);
    EXPECT_EQ(h_.batch, batch);
  }

 private:
  const FakeHandle& h_;
  int calls_ = 0;
};

TEST_F(InterposedTest, ServesASgemmThroughTheLibraryInTheHandlesStream) {
  const int m = new_size();
  int stream = 0;
  handle_.stream = &stream;
  EXPECT_EQ(sgemm(handle_, m), kServed);
  EXPECT_EQ(handle_.calls, 0);
  EXPECT_EQ(library_.stream, &stream);
  EXPECT_EQ(library_.call.order, GT_COLUMN_MAJOR);
  EXPECT_EQ(library_.call.M, m);
  EXPECT_EQ(library_.call.N, 8);
  EXPECT_EQ(library_.call.lda, m);
  EXPECT_EQ(library_.call.alpha, 2);
  EXPECT_EQ(library_.call.beta, 3);
  EXPECT_EQ(library_.call.batch, 1);
}

TEST_F(InterposedTest, ServesEveryFunctionAndItsVariantFor64BitIntegers) {
  const void* const alpha = &kAlpha;
  const void* const beta = &kBeta;
  FakeHandle& h = handle_;
  float* const x = matrix;
  const auto expect_served = [&](int status, int m, gt_type ab, gt_type cd, std::int64_t batch) {
    EXPECT_EQ(status, kServed);
    EXPECT_EQ(h.calls, 0);
    EXPECT_EQ(library_.call.M, m);
    EXPECT_EQ(library_.call.N, 8);
    EXPECT_EQ(library_.call.K, 12);
    EXPECT_EQ(library_.call.trans_a, GT_TRANSPOSE);
    EXPECT_EQ(library_.call.trans_b, GT_NO_TRANSPOSE);
    EXPECT_EQ(library_.call.type_a, ab);
    EXPECT_EQ(library_.call.type_b, ab);
    EXPECT_EQ(library_.call.type_d, cd);
    EXPECT_EQ(library_.call.A, x);
    EXPECT_EQ(library_.call.B, x + 1);
    EXPECT_EQ(library_.call.D, x + 2);
    EXPECT_EQ(library_.call.lda, 16);
    EXPECT_EQ(library_.call.ldb, 20);
    EXPECT_EQ(library_.call.ldc, m + 4);
    EXPECT_EQ(library_.call.batch, batch);
    EXPECT_EQ(library_.call.stride_a, batch == 1 ? 0 : 1000);
    EXPECT_EQ(library_.call.stride_b, batch == 1 ? 0 : 2000);
    EXPECT_EQ(library_.call.stride_c, batch == 1 ? 0 : 3000);
  };
  int m = new_size();
  expect_served(cublasSgemm_v2(&h, 1, 0, m, 8, 12, &kAlpha, x, 16, x + 1, 20, &kBeta, x + 2, m + 4),
                m, GT_F32, GT_F32, 1);
  m = new_size();
  expect_served(
      cublasSgemm_v2_64(&h, 1, 0, m, 8, 12, &kAlpha, x, 16, x + 1, 20, &kBeta, x + 2, m + 4), m,
      GT_F32, GT_F32, 1);
  m = new_size();
  expect_served(cublasSgemmStridedBatched(&h, 1, 0, m, 8, 12, &kAlpha, x, 16, 1000, x + 1, 20, 2000,
                                          &kBeta, x + 2, m + 4, 3000, 5),
                m, GT_F32, GT_F32, 5);
  m = new_size();
  expect_served(cublasSgemmStridedBatched_64(&h, 1, 0, m, 8, 12, &kAlpha, x, 16, 1000, x + 1, 20,
                                             2000, &kBeta, x + 2, m + 4, 3000, 6),
                m, GT_F32, GT_F32, 6);
  m = new_size();
  expect_served(
      cublasSgemmEx(&h, 1, 0, m, 8, 12, &kAlpha, x, 2, 16, x + 1, 2, 20, &kBeta, x + 2, 0, m + 4),
      m, GT_F16, GT_F32, 1);
  m = new_size();
  expect_served(cublasSgemmEx_64(&h, 1, 0, m, 8, 12, &kAlpha, x, 14, 16, x + 1, 14, 20, &kBeta,
                                 x + 2, 14, m + 4),
                m, GT_BF16, GT_BF16, 1);
  m = new_size();
  expect_served(cublasGemmEx(&h, 1, 0, m, 8, 12, alpha, x, 0, 16, x + 1, 0, 20, beta, x + 2, 0,
                             m + 4, 68, -1),
                m, GT_F32, GT_F32, 1);
  m = new_size();
  expect_served(cublasGemmEx_64(&h, 1, 0, m, 8, 12, alpha, x, 2, 16, x + 1, 2, 20, beta, x + 2, 2,
                                m + 4, 68, 99),
                m, GT_F16, GT_F16, 1);
  m = new_size();
  expect_served(cublasGemmStridedBatchedEx(&h, 1, 0, m, 8, 12, alpha, x, 0, 16, 1000, x + 1, 0, 20,
                                           2000, beta, x + 2, 0, m + 4, 3000, 7, 68, -1),
                m, GT_F32, GT_F32, 7);
  m = new_size();
  expect_served(cublasGemmStridedBatchedEx_64(&h, 1, 0, m, 8, 12, alpha, x, 14, 16, 1000, x + 1, 14,
                                              20, 2000, beta, x + 2, 0, m + 4, 3000, 8, 68, -1),
                m, GT_BF16, GT_F32, 8);
}

// The address of a matrix for each of A, B and C, as the functions of batches of pointers take it.
struct Pointers {
  float* addresses[3] = {matrix, matrix + 1, matrix + 2};
  float* const* const x = addresses;
  void* const* const d = reinterpret_cast<void* const*>(addresses);
  const void* const* const v = const_cast<const void* const*>(d);
};

TEST_F(InterposedTest, ServesBatchesOfPointers) {
  FakeHandle& h = handle_;
  const Pointers p;
  const auto expect_served = [&](int status, int m, gt_type ab, gt_type cd, std::int64_t batch) {
    expect_pointers_served(status, h, library_.call, p.x, m, ab, cd, batch);
  };
  int m = new_size();
  expect_served(cublasSgemmBatched(&h, 1, 0, m, 8, 12, &kAlpha, p.x, 16, p.x + 1, 20, &kBeta,
                                   p.x + 2, m + 4, 5),
                m, GT_F32, GT_F32, 5);
  m = new_size();
  expect_served(cublasSgemmBatched_64(&h, 1, 0, m, 8, 12, &kAlpha, p.x, 16, p.x + 1, 20, &kBeta,
                                      p.x + 2, m + 4, 6),
                m, GT_F32, GT_F32, 6);
  m = new_size();
  expect_served(cublasGemmBatchedEx(&h, 1, 0, m, 8, 12, &kAlpha, p.v, 2, 16, p.v + 1, 2, 20, &kBeta,
                                    p.d + 2, 2, m + 4, 7, 68, -1),
                m, GT_F16, GT_F16, 7);
  m = new_size();
  expect_served(cublasGemmBatchedEx_64(&h, 1, 0, m, 8, 12, &kAlpha, p.v, 14, 16, p.v + 1, 14, 20,
                                       &kBeta, p.d + 2, 0, m + 4, 8, 68, -1),
                m, GT_BF16, GT_F32, 8);
}

TEST_F(InterposedTest, ServesOneGroupAsTheBatchOfPointersThatItIs) {
  FakeHandle& h = handle_;
  const Pointers p;
  const int op_a[] = {1}, op_b[] = {0};
  const auto expect_served = [&](int status, std::int64_t m, gt_type type, std::int64_t batch) {
    expect_pointers_served(status, h, library_.call, p.x, m, type, type, batch);
  };
  {
    const int m = new_size(), n = 8, k = 12, lda = 16, ldb = 20, ldc = m + 4, batch = 5;
    expect_served(cublasSgemmGroupedBatched(&h, op_a, op_b, &m, &n, &k, &kAlpha, p.x, &lda, p.x + 1,
                                            &ldb, &kBeta, p.x + 2, &ldc, 1, &batch),
                  m, GT_F32, 5);
  }
  const std::int64_t n = 8, k = 12, lda = 16, ldb = 20, batch = 6;
  std::int64_t m = new_size(), ldc = m + 4;
  expect_served(cublasSgemmGroupedBatched_64(&h, op_a, op_b, &m, &n, &k, &kAlpha, p.x, &lda,
                                             p.x + 1, &ldb, &kBeta, p.x + 2, &ldc, 1, &batch),
                m, GT_F32, 6);
  m = new_size(), ldc = m + 4;
  expect_served(
      cublasGemmGroupedBatchedEx_64(&h, op_a, op_b, &m, &n, &k, &kAlpha, p.v, 2, &lda, p.v + 1, 2,
                                    &ldb, &kBeta, p.d + 2, 2, &ldc, 1, &batch, 68),
      m, GT_F16, 6);
}

TEST_F(InterposedTest, HandsGroupsOnAsTheyAre) {
  FakeHandle& h = handle_;
  float* addresses[1] = {matrix};
  float* const* const x = addresses;
  const void* const* const v = const_cast<const void* const*>(reinterpret_cast<void* const*>(x));
  void* const* const d = reinterpret_cast<void* const*>(addresses);
  const int op[] = {0, 0}, m[] = {5, 7}, k[] = {8, 8}, ld[] = {9, 9}, batch[] = {3, 4};
  const int* const none = nullptr;
  const int served = library_.served;
  EXPECT_EQ(cublasSgemmGroupedBatched(&h, op, op, m, k, k, &kAlpha, x, ld, x, ld, &kBeta, x, ld, 2,
                                      batch),
            kByCublas);
  EXPECT_STREQ(h.function, "cublasSgemmGroupedBatched");
  EXPECT_EQ(cublasGemmGroupedBatchedEx(&h, op, op, m, k, k, &kAlpha, v, 0, ld, v, 0, ld, &kBeta, d,
                                       0, ld, 2, batch, 68),
            kByCublas);
  EXPECT_STREQ(h.function, "cublasGemmGroupedBatchedEx");
  EXPECT_EQ(h.m, 5);
  EXPECT_EQ(h.ldc, 9);
  EXPECT_EQ(h.batch, 3);
  for (const int groups : {-1, 0, 1}) {  // arrays that are missing are cuBLAS's to refuse
    EXPECT_EQ(cublasSgemmGroupedBatched(&h, none, none, none, none, none, nullptr, x, none, x, none,
                                        nullptr, x, none, groups, none),
              kByCublas);
  }
  EXPECT_EQ(h.calls, 5);
  EXPECT_EQ(library_.served, served);
}

TEST_F(InterposedTest, HandsBatchesOfPointersOnAsTheyAre) {
  FakeHandle& h = handle_;
  h.pointer_mode = 1;
  float* addresses[1] = {matrix};
  float* const* const x = addresses;
  const void* const* const v = const_cast<const void* const*>(reinterpret_cast<void* const*>(x));
  void* const* const d = reinterpret_cast<void* const*>(addresses);
  ExpectForwarded expect_forwarded(h);
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;  // beyond 32 bits
  expect_forwarded(cublasSgemmBatched(&h, 0, 0, 5, 8, 12, matrix, x, 16, x, 20, matrix, x, 6, 9),
                   "cublasSgemmBatched", 5, 9);
  expect_forwarded(cublasSgemmBatched_64(&h, 0, 0, kLarge, 8, 12, matrix, x, 16, x, 20, matrix, x,
                                         kLarge + 1, kLarge),
                   "cublasSgemmBatched_64", kLarge, kLarge);
  expect_forwarded(cublasGemmBatchedEx(&h, 0, 0, 5, 8, 12, matrix, v, 0, 16, v, 0, 20, matrix, d, 0,
                                       6, 9, 68, -1),
                   "cublasGemmBatchedEx", 5, 9);
  expect_forwarded(cublasGemmBatchedEx_64(&h, 0, 0, kLarge, 8, 12, matrix, v, 0, 16, v, 0, 20,
                                          matrix, d, 0, kLarge + 1, kLarge, 68, -1),
                   "cublasGemmBatchedEx_64", kLarge, kLarge);
}

TEST_F(InterposedTest, HandsEveryFunctionOnAsItIs) {
  FakeHandle& h = handle_;
  h.pointer_mode = 1;
  float* const x = matrix;
  ExpectForwarded expect_forwarded(h);
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;  // beyond 32 bits
  expect_forwarded(cublasSgemm_v2(&h, 0, 0, 5, 8, 12, x, x, 16, x, 20, x, x, 6), "cublasSgemm_v2",
                   5, 1);
  expect_forwarded(cublasSgemm_v2_64(&h, 0, 0, kLarge, 8, 12, x, x, 16, x, 20, x, x, kLarge + 1),
                   "cublasSgemm_v2_64", kLarge, 1);
  expect_forwarded(
      cublasSgemmStridedBatched(&h, 0, 0, 5, 8, 12, x, x, 16, 1, x, 20, 2, x, x, 6, 3, 9),
      "cublasSgemmStridedBatched", 5, 9);
  expect_forwarded(cublasSgemmStridedBatched_64(&h, 0, 0, kLarge, 8, 12, x, x, 16, 1, x, 20, 2, x,
                                                x, kLarge + 1, 3, kLarge),
                   "cublasSgemmStridedBatched_64", kLarge, kLarge);
  expect_forwarded(cublasSgemmEx(&h, 0, 0, 5, 8, 12, x, x, 0, 16, x, 0, 20, x, x, 0, 6),
                   "cublasSgemmEx", 5, 1);
  expect_forwarded(
      cublasSgemmEx_64(&h, 0, 0, kLarge, 8, 12, x, x, 0, 16, x, 0, 20, x, x, 0, kLarge + 1),
      "cublasSgemmEx_64", kLarge, 1);
  expect_forwarded(cublasGemmEx(&h, 0, 0, 5, 8, 12, x, x, 0, 16, x, 0, 20, x, x, 0, 6, 68, -1),
                   "cublasGemmEx", 5, 1);
  expect_forwarded(
      cublasGemmEx_64(&h, 0, 0, kLarge, 8, 12, x, x, 0, 16, x, 0, 20, x, x, 0, kLarge + 1, 68, -1),
      "cublasGemmEx_64", kLarge, 1);
  expect_forwarded(cublasGemmStridedBatchedEx(&h, 0, 0, 5, 8, 12, x, x, 0, 16, 1, x, 0, 20, 2, x, x,
                                              0, 6, 3, 9, 68, -1),
                   "cublasGemmStridedBatchedEx", 5, 9);
  expect_forwarded(cublasGemmStridedBatchedEx_64(&h, 0, 0, kLarge, 8, 12, x, x, 0, 16, 1, x, 0, 20,
                                                 2, x, x, 0, kLarge + 1, 3, kLarge, 68, -1),
                   "cublasGemmStridedBatchedEx_64", kLarge, kLarge);
}

TEST_F(InterposedTest, WhatCublasCallsInsideIsItsOwn) {
  const int m = new_size();
  handle_.pointer_mode = 1;  // which cuBLAS's own call resets
  handle_.calls_gemm_ex = true;
  const int served = library_.served;
  EXPECT_EQ(sgemm(handle_, m), kByCublas);
  EXPECT_EQ(handle_.calls, 2);
  EXPECT_STREQ(handle_.function, "cublasGemmEx");
  EXPECT_EQ(library_.served, served);
}

TEST_F(InterposedTest, ACallIsCublassWhereTheLibraryRefusesOrFails) {
  library_.lookup_status = GT_INVALID_ARGUMENT;
  const int refused = new_size();
  EXPECT_EQ(sgemm(handle_, refused), kByCublas);
  library_.lookup_status = GT_OK;
  EXPECT_EQ(sgemm(handle_, refused), kServed);  // the addresses were bad, not the shape
  library_.gemm_status = GT_DEVICE_ERROR;
  EXPECT_EQ(sgemm(handle_, refused), kByCublas);
  library_.lookup_status = GT_DEVICE_ERROR;
  EXPECT_EQ(sgemm(handle_, new_size()), kByCublas);
}

// Not even where a later call of the shape would get another choice than the call looked up.
TEST_F(InterposedTest, TheLibraryIsAskedForKernelsAlone) {
  EXPECT_EQ(sgemm(handle_, new_size()), kServed);
  EXPECT_EQ(library_.policy, GT_POLICY_TUNED_ONLY);
}

TEST_F(InterposedTest, AShapeIsLookedUpOnce) {
  const int m = new_size();
  const int before = library_.lookups;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sgemm(handle_, m), kServed);
  EXPECT_EQ(library_.lookups, before + 1);
  library_.recipe.tuned_us = 11;
  await_refreshes(library_);
  EXPECT_EQ(sgemm(handle_, m), kServed);  // as long as the database has no other winners
  EXPECT_EQ(sgemm(handle_, new_size()), kByCublas);
}

TEST_F(InterposedTest, AWinnerThatIsTunedMeanwhileServesFromThenOn) {
  const int m = new_size(), other = new_size();
  library_.recipe.match = GT_MATCH_NONE;
  EXPECT_EQ(sgemm(handle_, m), kByCublas);
  library_.lookup_status = GT_DEVICE_ERROR;
  EXPECT_EQ(sgemm(handle_, other), kByCublas);
  library_.lookup_status = GT_OK;
  library_.recipe.match = GT_MATCH_EXACT;
  await_refreshes(library_);
  EXPECT_EQ(sgemm(handle_, m), kByCublas);
  library_.has_others = true;
  while (sgemm(handle_, m) != kServed) std::this_thread::yield();
  while (sgemm(handle_, other) != kServed) std::this_thread::yield();
  library_.recipe.tuned_us = 11;
  library_.has_others = true;
  while (sgemm(handle_, m) != kByCublas) std::this_thread::yield();
}

TEST_F(InterposedTest, ADatabaseThatCannotBeReadAgainLeavesTheVerdicts) {
  const int m = new_size();
  EXPECT_EQ(sgemm(handle_, m), kServed);
  library_.refresh_status = GT_DATABASE_ERROR;
  library_.recipe.tuned_us = 11;
  library_.has_others = true;
  await_refreshes(library_);
  EXPECT_EQ(sgemm(handle_, m), kServed);
  library_.refresh_status = GT_OK;
  while (sgemm(handle_, m) != kByCublas) std::this_thread::yield();
}

TEST_F(InterposedTest, NoCallIsLostWhileWinnersCome) {
  library_.records = false;
  std::vector<int> sizes;
  for (int i = 0; i < 10; ++i) sizes.push_back(new_size());
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      FakeHandle own;
      int served = 0;
      for (int i = 0; i < 5000; ++i) {
        served += sgemm(own, sizes[static_cast<std::size_t>(i % 10)]) == kServed;
      }
      EXPECT_EQ(served, 5000);
      ++done;
    });
  }
  while (done < 4) {
    library_.has_others = true;
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  library_.records = true;
}

TEST_F(InterposedTest, NothingIsTimedWhereNoReportIsAskedFor) {
  const int m = new_size();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sgemm(handle_, m), kServed);
  EXPECT_EQ(fake_driver()->events, 0);
}

TEST_F(InterposedTest, AThreadWithoutAContextIsCublass) {
  fake_driver()->has_context = false;
  EXPECT_EQ(sgemm(handle_, new_size()), kByCublas);
}

TEST_F(InterposedTest, ACallOnAnotherDeviceThanTheHandlesIsCublass) {
  void* created = nullptr;
  ASSERT_EQ(cublasCreate_v2(&created), 0);
  const std::unique_ptr<FakeHandle> handle(static_cast<FakeHandle*>(created));
  const int m = new_size();
  EXPECT_EQ(sgemm(*handle, m), kServed);
  fake_driver()->device = 4;
  EXPECT_EQ(sgemm(*handle, m), kByCublas);
  EXPECT_EQ(sgemm(handle_, m), kServed);  // of whose device nothing is known
  fake_driver()->device = 3;
  EXPECT_EQ(sgemm(*handle, m), kServed);
}

TEST_F(InterposedTest, AHandleThatAnswersNothingIsCublass) {
  handle_.getter_status = 1;
  EXPECT_EQ(sgemm(handle_, new_size()), kByCublas);
}

TEST_F(InterposedTest, ManyThreadsShareTheDropIn) {
  library_.records = false;
  const int served_before = library_.served;
  std::vector<int> sizes;
  for (int i = 0; i < 10; ++i) sizes.push_back(new_size());
  std::vector<std::thread> threads;
  std::atomic<int> by_cublas = 0, served = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      FakeHandle own;
      for (int i = 0; i < 2000; ++i) {
        own.math_mode = (i + t) % 4 == 0 ? 3 : 0;
        const int status = sgemm(own, sizes[static_cast<std::size_t>(i % 10)]);
        ++(status == kServed ? served : by_cublas);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 8 * 1500);
  EXPECT_EQ(by_cublas, 8 * 500);
  EXPECT_EQ(library_.served - served_before, 8 * 1500);
  library_.records = true;
}

}  // namespace
}  // namespace gemm_tune

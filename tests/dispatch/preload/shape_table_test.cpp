// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/report/shape_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "dispatch/preload/report/counts.h"

namespace gemm_tune::preload {
namespace {

CublasCall sized(std::int64_t m) {
  CublasCall call;
  call.m = m;
  call.n = call.k = call.lda = call.ldb = call.ldc = 64;
  return call;
}

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

std::vector<int> alignments(const CublasCall& call) {
  const ShapeKey key = key_of(call, 0);
  return {key.alignment_a, key.alignment_b, key.alignment_c};
}

TEST(ShapeTableTest, AKeyHasTheAlignmentOfEachOperand) {
  using All = std::vector<int>;
  CublasCall call = sized(64);
  EXPECT_EQ(alignments(call), (All{16, 16, 16}));
  call.lda = 66;
  EXPECT_EQ(alignments(call), (All{8, 16, 16}));
  call.ldc = 63;
  EXPECT_EQ(alignments(call), (All{8, 16, 4}));
  call = sized(64);
  call.B = at(1048);
  EXPECT_EQ(alignments(call), (All{16, 8, 16}));
  call.stride_a = 1;
  EXPECT_EQ(alignments(call), (All{16, 8, 16}));  // one product: strides do not count
  call.batch = 2;
  EXPECT_EQ(alignments(call), (All{4, 8, 16}));
  call = sized(64);
  call.type_a = call.type_b = call.type_c = 2;
  call.lda = 65;
  EXPECT_EQ(alignments(call), (All{2, 16, 16}));
}

TEST(ShapeTableTest, TheAlignmentOfCIsTheLeastOfASeparateCThatIsReadAndOfD) {
  CublasCall call = sized(64);
  call.input_c = at(1028);
  EXPECT_EQ(key_of(call, 0).alignment_c, 4);
  EXPECT_EQ(key_of(call, 0).separate_c, 1);
  EXPECT_EQ(key_of(call, 0, false), key_of(sized(64), 0));
  call.input_c = at(1024);
  call.C = const_cast<void*>(at(1032));
  EXPECT_EQ(key_of(call, 0).alignment_c, 8);
}

TEST(ShapeTableTest, AShapeIsFoundAgainAndOthersAreOthers) {
  Counts counts("");
  const auto owned = std::make_unique<ShapeTable>(counts);
  ShapeTable& table = *owned;
  Shape* const first = table.find(key_of(sized(64), 0));
  EXPECT_EQ(table.find(key_of(sized(64), 0)), first);
  EXPECT_NE(table.find(key_of(sized(65), 0)), first);
  EXPECT_NE(table.find(key_of(sized(64), 1)), first);
  CublasCall turned = sized(64);
  turned.op_b = 1;
  EXPECT_NE(table.find(key_of(turned, 0)), first);
}

TEST(ShapeTableTest, AFullTableSaysSoAndKeepsWhatItHas) {
  Counts counts("");
  const auto owned = std::make_unique<ShapeTable>(counts);
  ShapeTable& table = *owned;
  Shape* const first = table.find(key_of(sized(0), 0));
  std::size_t refused = 0;
  for (std::int64_t m = 1; m < 40000; ++m) refused += table.find(key_of(sized(m), 0)) == nullptr;
  EXPECT_GT(refused, 40000U - 16385);
  std::size_t kept = 0;
  table.for_each([&](const Shape&) { ++kept; });
  EXPECT_EQ(kept, 40000 - refused);
  EXPECT_GT(kept, 16384U * 9 / 10);
  EXPECT_EQ(table.find(key_of(sized(0), 0)), first);
}

TEST(ShapeTableTest, ManyThreadsCountEveryCallOnce) {
  Counts counts("");
  const auto owned = std::make_unique<ShapeTable>(counts);
  ShapeTable& table = *owned;
  constexpr int kThreads = 8, kCalls = 5000, kShapes = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table] {
      for (int i = 0; i < kCalls; ++i) {
        Shape* const shape = table.find(key_of(sized(i % kShapes), 0));
        if (i % 2 == 0) {
          shape->count_served();
        } else {
          shape->count_declined(Reason::slower);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t served = 0, slower = 0;
  int shapes = 0;
  table.for_each([&](const Shape& shape) {
    ++shapes;
    served += shape.served;
    slower += shape.declined[static_cast<std::size_t>(Reason::slower)];
  });
  EXPECT_EQ(shapes, kShapes);
  EXPECT_EQ(served, 20000U);
  EXPECT_EQ(slower, 20000U);
}

}  // namespace
}  // namespace gemm_tune::preload

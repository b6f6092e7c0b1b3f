// SPDX-License-Identifier: Apache-2.0
#include "dispatch/call_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "core/error.h"
#include "dispatch/c_values.h"

namespace gemm_tune {
namespace {

// Calls of which many are valid and many are not, close to each other.
class RandomQuestions {
 public:
  gt_gemm_call next() {
    gt_gemm_call call = GT_GEMM_CALL_INIT;
    call.order = one_of(20) == 0 ? static_cast<gt_order>(2) : static_cast<gt_order>(one_of(2));
    call.trans_a = static_cast<gt_transpose>(one_of(2));
    call.trans_b =
        one_of(20) == 0 ? static_cast<gt_transpose>(7) : static_cast<gt_transpose>(one_of(2));
    call.type_a = call.type_b = call.type_c = call.type_d = static_cast<gt_type>(one_of(8));
    if (one_of(2) == 0) call.type_b = static_cast<gt_type>(one_of(8));
    if (one_of(2) == 0) call.type_c = call.type_d = static_cast<gt_type>(one_of(8));
    if (one_of(30) == 0) call.type_d = static_cast<gt_type>(one_of(100));
    if (one_of(3) == 0) call.accuracy = static_cast<gt_accuracy>(one_of(18));
    if (one_of(3) == 0) {
      call.batch = one_of(4);
      call.stride_a = stride();
      call.stride_b = stride();
      call.stride_c = stride();
    }
    if (one_of(20) == 0) call.epilogue = gt_epilogue{1} << one_of(4);
    if (one_of(20) == 0) call.batch_kind = GT_POINTERS;
    call.M = size();
    call.N = size();
    call.K = size();
    call.lda = ld();
    call.ldb = ld();
    call.ldc = one_of(30) == 0 ? std::int64_t{1} << 31 : ld();
    call.A = address();
    call.B = address();
    call.C = address();
    call.D = one_of(3) == 0 ? const_cast<void*>(call.C) : const_cast<void*>(address());
    call.alpha = one_of(3);
    call.beta = one_of(3);
    return call;
  }

 private:
  int one_of(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  std::int64_t size() { return one_of(20) == 0 ? one_of(3) - 1 : 8 * (1 + one_of(3)); }
  std::int64_t ld() {
    return one_of(2) == 0 ? 0 : one_of(8) == 0 ? one_of(30) - 1 : 24 + one_of(9);
  }
  std::int64_t stride() {
    return one_of(3) == 0 ? 0 : one_of(16) == 0 ? -one_of(2000) : 300 + one_of(700);
  }
  const void* address() {
    const int way = one_of(8);
    return reinterpret_cast<const void*>(
        way == 0 ? std::uintptr_t{0}
                 : static_cast<std::uintptr_t>(0x1000 + (way < 5 ? 0 : 1 << one_of(5))));
  }

  std::mt19937 random_{1};
};

std::optional<CallKey> checked_key(const gt_gemm_call& call) {
  try {
    return CallKey(row_major_call(call, Addresses::optional), 2 + call.order);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

TEST(CallKeyTest, TheKeyOfAnUncheckedCallIsThatOfTheCheckedOneOrOfNone) {
  RandomQuestions questions;
  int valid = 0, plain = 0, batches = 0, refused = 0;
  std::vector<CallKey> of_valid, of_refused;
  for (int i = 0; i < 400'000; ++i) {
    const gt_gemm_call call = questions.next();
    const std::optional<CallKey> fast = plain_key(call, 2 + call.order),
                                 checked = checked_key(call);
    if (checked) {
      ++valid;
      of_valid.push_back(*checked);
      if (fast) {
        ++plain;
        batches += call.batch > 1 ? 1 : 0;
        ASSERT_EQ(*fast, *checked) << i;
      } else {
        ASSERT_TRUE(call.batch != 1 || call.epilogue != 0 || call.batch_kind != GT_STRIDED) << i;
      }
    } else if (fast) {
      ++refused;
      of_refused.push_back(*fast);
    }
  }
  EXPECT_GT(plain, 10'000);
  EXPECT_GT(batches, 1'000);
  EXPECT_GT(valid, plain);
  EXPECT_GT(refused, 1'000);
  // No key of a call that is refused is that of a valid one.
  const auto less = [](const CallKey& a, const CallKey& b) { return a.words < b.words; };
  std::sort(of_valid.begin(), of_valid.end(), less);
  for (const CallKey& one : of_refused) {
    ASSERT_FALSE(std::binary_search(of_valid.begin(), of_valid.end(), one, less));
  }
}

TEST(CallKeyTest, HashesOfNeighboursFillATableEvenly) {
  constexpr std::size_t kSlots = 4096;
  std::vector<int> taken(kSlots);
  for (std::int64_t m = 1; m <= 16; ++m) {
    for (std::int64_t n = 1; n <= 16; ++n) {
      for (std::int64_t k = 1; k <= 16; ++k) {
        ++taken[CallKey(packed_call(packed_problem(64 * m, 64 * n, 64 * k)), 0).hash() % kSlots];
      }
    }
  }
  // Of 4096 random numbers the fullest of 4096 slots has 6 or 7, and 37 % are empty.
  EXPECT_LE(*std::max_element(taken.begin(), taken.end()), 10);
  EXPECT_LE(std::count(taken.begin(), taken.end(), 0), 2000);
}

}  // namespace
}  // namespace gemm_tune

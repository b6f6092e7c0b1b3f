// SPDX-License-Identifier: Apache-2.0
// Many threads that look up in one handle, whose memory of answers they share.
#include <gemm_tune/gemm_tune.h>
#include <gtest/gtest.h>

#include <cstring>
#include <gemm_tune/gemm_tune.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_database.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

struct Question {
  gt_device device;
  gt_gemm_call call;
  gt_recipe answer;
  std::string config;  // the answer's, which outlives the handle
};

constexpr gt_device kTuned = {"sm_86", "NVIDIA GeForce RTX 3090", 82};
constexpr gt_device kUntuned = {"sm_90", "NVIDIA H100 80GB HBM3", 132};

bool same(const gt_recipe& a, const gt_recipe& b) {
  return a.match == b.match && a.source == b.source && std::strcmp(a.config, b.config) == 0 &&
         a.align_a == b.align_a && a.align_b == b.align_b && a.align_c == b.align_c &&
         a.align_d == b.align_d && a.workspace_bytes == b.workspace_bytes &&
         a.tuned_us == b.tuned_us && a.baseline_us == b.baseline_us && a.distance == b.distance;
}

// Each with the answer of a handle that one thread alone has.
std::vector<Question> questions(const std::string& database) {
  std::vector<Question> all = {{kTuned, make_call(1024, 1024, 1024), {}, {}},
                               {kTuned, make_call(256, 256, 256), {}, {}}};
  for (int i = 0; i < 500; ++i) {
    all.push_back({kTuned, make_call(100 + i, 1000 - i, 64 + i % 7), {}, {}});
    all.push_back({kUntuned, make_call(100 + i, 1000 - i, 64 + i % 7), {}, {}});
  }
  gt_handle* handle = nullptr;
  EXPECT_EQ(open_database(database, &handle), GT_OK) << gt_last_error();
  for (Question& one : all) {
    EXPECT_EQ(gt_lookup(handle, &one.device, &one.call, &one.answer), GT_OK) << gt_last_error();
    one.config = one.answer.config;
    const bool is_tuned = one.device.sm_count == kTuned.sm_count;
    EXPECT_EQ(one.answer.match == GT_MATCH_EXACT, &one - all.data() < 2);
    EXPECT_EQ(one.answer.distance > 0, is_tuned);  // whether a winner is near
  }
  gt_close(handle);
  for (Question& one : all) one.answer.config = one.config.c_str();
  return all;
}

TEST(LookupThreadsTest, EachOfManyGetsTheAnswerThatOneAloneGets) {
  constexpr std::size_t kThreads = 24, kCalls = 100'000;
  const TempFolder temp;
  const std::string database = temp.path() / "winners.db";
  write_sample_database(database);
  const std::vector<Question> all = questions(database);
  gt_handle* handle = nullptr;
  ASSERT_EQ(open_database(database, &handle), GT_OK) << gt_last_error();
  std::vector<std::size_t> right(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t i = 0; i < kCalls; ++i) {
          // Half of the calls are for the two tuned problems; of the others each thread has an
          // order of its own.
          const std::size_t which = i % 2 == 0 ? i / 2 % 2 : (i * (2 * thread + 3)) % all.size();
          const Question& asked = all[which];
          gt_recipe recipe = {};
          const gt_status status = gt_lookup(handle, &asked.device, &asked.call, &recipe);
          right[thread] += status == GT_OK && same(recipe, asked.answer);
        }
      });
    }
  }
  gt_close(handle);
  EXPECT_EQ(right, std::vector<std::size_t>(kThreads, kCalls));
}

}  // namespace
}  // namespace gemm_tune

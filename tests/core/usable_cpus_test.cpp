// SPDX-License-Identifier: Apache-2.0
#include "core/usable_cpus.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <thread>

namespace gemm_tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(UsableCpusTest, AThreadThatIsBoundToOneCpuMayUseOne) {
  const std::vector<int> before = allowed_cpus();
  ASSERT_THAT(before, Not(IsEmpty()));
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(before.back(), &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    EXPECT_THAT(allowed_cpus(), ElementsAre(before.back()));
    EXPECT_EQ(usable_cpus(), 1U);
  }).join();
  EXPECT_EQ(allowed_cpus(), before);
  EXPECT_GE(usable_cpus(), 1U);
  EXPECT_LE(usable_cpus(), before.size());
}

TEST(UsableCpusTest, AQuotaOfCpuTimeIsRoundedUpToCpus) {
  EXPECT_EQ(cpus_of_quota("400000 100000"), 4U);
  EXPECT_EQ(cpus_of_quota("400001 100000"), 5U);
  EXPECT_EQ(cpus_of_quota("50000 100000"), 1U);
  for (const char* none : {"max 100000", "", "400000", "400000 0", "0 100000", "-1 100000",
                           "400000 100000 1", "1e5 100000"}) {
    EXPECT_EQ(cpus_of_quota(none), 0U) << none;
  }
}

}  // namespace
}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "choose/attainable_time.h"

#include <gtest/gtest.h>

#include "choose/expected_time.h"

namespace gemm_tune {
namespace {

const DeviceSpec kH100 = modelled_device({"sm_90", "NVIDIA H100 80GB HBM3", 132}).value();

TEST(AttainableTime, IsThereForEachTypeLayoutAlignmentAndBatch) {
  for (const char* const problem :
       {"1x1x1", "1x4096x4096", "8192x8192x8192", "1023x1025x1021:layout=tt", "64x64x262144",
        "128x128x128:layout=nt:batch=64", "64x50257x768:layout=tn"}) {
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
      Problem asked = parse_problem(problem);
      asked = packed_problem(asked.M, asked.N, asked.K, asked.layout, asked.batch,
                             signature_of(type, type));
      EXPECT_TRUE(attainable_us(asked, kH100)) << to_string(asked);
    }
  }
}

// An H100 has about 60 TFLOP/s of FFMAs at its usual clock; searches ended between 0.8 and 1.25 of
// the time at random problems.
TEST(AttainableTime, IsAboutThatOfAFastKernel) {
  const auto us = [](const char* problem) {
    return attainable_us(parse_problem(problem), kH100).value();
  };
  EXPECT_NEAR(us("4096x4096x4096") / 2600, 1, 0.15);  // measured
  EXPECT_NEAR(us("512x512x512") / 8.6, 1, 0.25);
  EXPECT_NEAR(us("120x3904x2608") / 60.5, 1, 0.25);
}

}  // namespace
}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "core/types/tensor_core.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

TEST(TensorCoreTest, EachArchitectureKeepsItsBitsAndAddsItsProductsAtOnce) {
  EXPECT_EQ(tensor_core_of(70), (TensorCore{23, 4}));
  EXPECT_EQ(tensor_core_of(75), (TensorCore{24, 8}));
  EXPECT_EQ(tensor_core_of(80), (TensorCore{24, 8}));
  EXPECT_EQ(tensor_core_of(86), (TensorCore{24, 8}));
  EXPECT_EQ(tensor_core_of(89), (TensorCore{24, 8, 13}));
  EXPECT_EQ(tensor_core_of(90), (TensorCore{25, 16, 13}));
  EXPECT_EQ(tensor_core_of(120), (TensorCore{25, 16}));
  EXPECT_THROW(tensor_core_of(61), DeviceError);
}

}  // namespace
}  // namespace gemm_tune

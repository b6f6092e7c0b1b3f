// SPDX-License-Identifier: Apache-2.0
// GoogleTest, and the matchers of GoogleMock that many tests use, by their own names.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gemm_tune {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::Optional;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

}  // namespace gemm_tune

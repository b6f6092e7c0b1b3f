// SPDX-License-Identifier: Apache-2.0
#include "core/launch/launch_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"

namespace gemm_tune {
namespace {

struct Args {
  int M, N;
  float alpha, beta;
  const void* A;
  long long ldb;
  const void* sums;
};

GemmCall call_at(const void* A, double alpha = 1.5) {
  GemmCall call = packed_call(packed_problem(3, 5, 7));
  call.A = A;
  call.alpha = alpha;
  call.beta = -2;
  return call;
}

Step step_with_args() {
  Step step;
  step.arguments.add(Args{3, 5, 0, 0, nullptr, 0, nullptr},
                     {{CallValue::alpha_beta, offsetof(Args, alpha)},
                      {CallValue::A, offsetof(Args, A)},
                      {CallValue::ldb, offsetof(Args, ldb)},
                      {region(1), offsetof(Args, sums)}});
  return step;
}

// The entries that a call launches.
std::vector<std::string> launched(const LaunchPlan& plan, const GemmCall& call) {
  std::vector<std::string> entries;
  run_plan(
      plan, call, [](std::size_t) { return nullptr; }, [](auto&&...) {},
      [&](std::size_t, const Step& step, void**) { entries.push_back(step.entry); });
  return entries;
}

TEST(LaunchPlanTest, OfAPlanWithoutOverlapBeforeOnlyLaterStepsOverlap) {
  LaunchPlan plan;
  plan.steps.resize(2, step_with_args());
  for (Step& step : plan.steps) step.overlaps = true;
  const LaunchPlan alone = plan.without_overlap_before();
  EXPECT_FALSE(alone.steps[0].overlaps);
  EXPECT_TRUE(alone.steps[1].overlaps);
}

TEST(LaunchPlanTest, WritesACallsValuesIntoTheSlotsOfItsArguments) {
  LaunchPlan plan;
  plan.steps.push_back(step_with_args());
  plan.zeroed_bytes = 192;
  plan.add_region(64);
  plan.add_region(128);
  char a = 0, workspace[192];
  Args args{};
  run_plan(
      plan, call_at(&a), [&](std::size_t i) { return workspace + plan.regions[i].offset; },
      [](auto&&...) {},
      [&](std::size_t, const Step&, void** parameters) {
        args = *static_cast<const Args*>(parameters[0]);
      });
  EXPECT_EQ(args.M, 3);
  EXPECT_EQ(args.N, 5);
  EXPECT_EQ(args.alpha, 1.5F);
  EXPECT_EQ(args.beta, -2.0F);
  EXPECT_EQ(args.A, &a);
  EXPECT_EQ(args.ldb, 5);
  EXPECT_EQ(args.sums, workspace + 64);
}

TEST(LaunchPlanTest, LeavesAStepOutThatReadsOperandsWhereAlphaIsZero) {
  LaunchPlan plan;
  plan.steps = {Step(), Step(), Step()};
  plan.steps[0].entry = "copy";
  plan.steps[0].only_with_operands = true;
  plan.steps[2].entry = "sum";
  EXPECT_EQ(launched(plan, call_at(nullptr)), (std::vector<std::string>{"copy", "gemm", "sum"}));
  EXPECT_EQ(launched(plan, call_at(nullptr, 0)), (std::vector<std::string>{"gemm", "sum"}));
  EXPECT_EQ(&plan.product(), &plan.steps[1]);
}

// Copies A and B, or one of them where the other is kept, then multiplies.
LaunchPlan copying() {
  LaunchPlan plan;
  plan.zeroed_bytes = 8;
  plan.add_region(8);
  for (const CallValue of : {CallValue::A, CallValue::B}) {
    plan.add_region(100, 256);
    plan.regions.back().copy_of = of;
    plan.regions.back().may_be_kept = true;
  }
  plan.steps.resize(4);
  plan.steps[0].entry = "both";
  plan.steps[0].makes = Copies::of_both;
  plan.steps[1].entry = "a";
  plan.steps[1].makes = Copies::of_a;
  plan.steps[2].entry = "b";
  plan.steps[2].makes = Copies::of_b;
  return plan;
}

TEST(LaunchPlanTest, MakesTheCopiesThatACallDoesNotKeep) {
  const char copy = 0;
  GemmCall call = call_at(nullptr);
  EXPECT_EQ(launched(copying(), call), (std::vector<std::string>{"both", "gemm"}));
  call.kept_b = &copy;
  EXPECT_EQ(launched(copying(), call), (std::vector<std::string>{"a", "gemm"}));
  call.kept_a = &copy;
  EXPECT_EQ(launched(copying(), call), std::vector<std::string>{"gemm"});
  call.kept_b = nullptr;
  EXPECT_EQ(launched(copying(), call), (std::vector<std::string>{"b", "gemm"}));
}

TEST(LaunchPlanTest, TakesAKeptCopyInPlaceOfTheRegion) {
  LaunchPlan plan = copying();
  plan.steps[3].arguments.add(
      Args{}, {{region(2), offsetof(Args, A)}, {CallValue::kept_b, offsetof(Args, sums)}});
  const auto args_of = [&](const GemmCall& call) {
    Args args{};
    run_plan(
        plan, call, [](std::size_t i) { return reinterpret_cast<void*>(0x100 * (i + 1)); },
        [](auto&&...) {},
        [&](std::size_t i, const Step&, void** parameters) {
          if (i == 3) args = *static_cast<const Args*>(parameters[0]);
        });
    return args;
  };
  GemmCall call = call_at(nullptr);
  EXPECT_EQ(args_of(call).A, reinterpret_cast<void*>(0x300));
  EXPECT_EQ(args_of(call).sums, nullptr);
  const char copy = 0;
  call.kept_b = &copy;
  EXPECT_EQ(args_of(call).A, &copy);
  EXPECT_EQ(args_of(call).sums, &copy);
  plan.regions[2].may_be_kept = false;
  EXPECT_EQ(args_of(call).A, reinterpret_cast<void*>(0x300));
}

TEST(LaunchPlanTest, NeedsNoWorkspaceForTheLastCopiesThatAreKept) {
  const LaunchPlan plan = copying();
  const char copy = 0;
  GemmCall call = call_at(nullptr);
  EXPECT_EQ(plan.workspace_bytes_of(call), 65536 + 256 + 100);
  call.kept_b = &copy;
  EXPECT_EQ(plan.workspace_bytes_of(call), 65536 + 256);
  call.kept_a = &copy;
  EXPECT_EQ(plan.workspace_bytes_of(call), 65536);
}

TEST(LaunchPlanTest, MakesACopyAloneWithWhatIsZeroedBehindIt) {
  const auto alone = copying().that_makes(CallValue::B);
  ASSERT_TRUE(alone);
  EXPECT_EQ(launched(*alone, call_at(nullptr)), std::vector<std::string>{"b"});
  EXPECT_EQ(alone->regions[0].offset, 100);
  EXPECT_EQ(alone->regions[2].offset, 0);
  EXPECT_EQ(alone->workspace_bytes, 108);
  LaunchPlan of_every_call = copying();
  of_every_call.regions[2].may_be_kept = false;
  EXPECT_FALSE(of_every_call.that_makes(CallValue::B));
  LaunchPlan without = copying();
  without.steps.pop_back();
  without.steps.pop_back();
  EXPECT_FALSE(without.that_makes(CallValue::B));
}

TEST(LaunchPlanTest, PutsARegionAtTheNextMultipleBehindTheOneBefore) {
  LaunchPlan plan;
  plan.zeroed_bytes = 400;
  EXPECT_EQ(plan.add_region(100), region(0));
  EXPECT_EQ(plan.add_region(50, 256), region(1));
  EXPECT_EQ(plan.regions[1].offset, 256);
  EXPECT_EQ(plan.workspace_bytes, 306);
}

TEST(LaunchPlanTest, LeavesTheCountersOfOtherPlansAlone) {
  LaunchPlan without;
  without.add_region(100);
  EXPECT_EQ(without.regions[0].offset, kWorkspaceCounterBytes);
  EXPECT_EQ(without.workspace_bytes, kWorkspaceCounterBytes + 100);
  LaunchPlan with;
  with.zeroed_bytes = 64;
  with.add_region(64);
  with.add_region(100, 256);
  EXPECT_EQ(with.regions[0].offset, 0);
  EXPECT_EQ(with.regions[1].offset, kWorkspaceCounterBytes);
}

TEST(LaunchPlanTest, PutsParametersAtTheirAlignment) {
  Arguments arguments;
  arguments.add('x');
  arguments.add(1.0);
  arguments.add_tensor_map({});
  EXPECT_EQ(arguments.parameters(), (std::vector<std::uint16_t>{0, 16, 128}));
  EXPECT_EQ(arguments.bytes(), 256U);
}

TEST(LaunchPlanTest, RefusesMoreThanAKernelTakes) {
  Arguments arguments;
  for (int i = 0; i < 8; ++i) arguments.add_tensor_map({});
  EXPECT_THROW(arguments.add(0), Error);
}

TensorMapSlot map_of_a() {
  TensorMapSlot slot;
  slot.address = CallValue::A;
  slot.map.dims = 2;
  slot.map.size = {7, 3};
  slot.map.box = {64, 128};
  slot.map.element = TensorElement::bits_16;
  slot.strides[0] = {CallValue::lda, 2};
  return slot;
}

TEST(LaunchPlanTest, GivesATensorMapTheCallsAddressAndStrides) {
  LaunchPlan plan;
  plan.steps.emplace_back().arguments.add_tensor_map(map_of_a());
  std::vector<BoundTensorMap> maps;
  const auto encode = [&](const BoundTensorMap& map, std::size_t, std::size_t, void* to) {
    maps.push_back(map);
    std::memset(to, 42, kTensorMapBytes);
  };
  alignas(16) char a[16];
  GemmCall call = call_at(a);
  call.lda = 8;
  run_plan(
      plan, call, [](std::size_t) { return nullptr; }, encode,
      [](std::size_t, const Step&, void** parameters) {
        EXPECT_EQ(static_cast<const char*>(parameters[0])[127], 42);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parameters[0]) % 128, 0U);
      });
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0].address, reinterpret_cast<std::uintptr_t>(a));
  EXPECT_EQ(maps[0].stride_bytes[0], 16);
  EXPECT_EQ(maps[0].size[1], 3);
}

TEST(LaunchPlanTest, MakesATensorMapOfANullAddressZero) {
  const BoundTensorMap map = bound(map_of_a(), call_at(nullptr), {});
  EXPECT_EQ(map.dims, 0);
  EXPECT_EQ(map.size[0], 0);
}

}  // namespace
}  // namespace gemm_tune

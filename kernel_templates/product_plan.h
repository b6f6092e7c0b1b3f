// SPDX-License-Identifier: Apache-2.0
// The launch plan of a kernel that takes GemmArgs: a CTA for each tile or share of one, and the
// steps that may stand before and after it.
//
// A family whose kernel takes other arguments makes its own plan. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/launch/launch_plan.h"
#include "core/launch/launch_recipe.h"
#include "kernel_templates/device/call/gemm_args.cuh"

namespace gemm_tune {

// Where a product finds A and B, and its K.
struct ProductOperands {
  CallValue a = CallValue::A, b = CallValue::B;
  std::optional<std::int64_t> lda, ldb;  // of copies
  std::int64_t k;
};

// Adds regions for the copies of operands that the recipe makes, and the step that makes them, if
// there are any.
ProductOperands add_pre_pass(LaunchPlan& plan, const RepackedOperands& copies,
                             const Problem& problem);

// Adds slots for the operands of the problem's epilogue, whose addresses lie from an offset on.
void add_epilogue_slots(std::vector<Slot>& slots, std::size_t offset, const Problem& problem);

// One step; with a pre-pass kernel before it where the recipe copies operands that the problem has
// unaligned. sm_count: of the device that launches.
LaunchPlan product_plan(const LaunchRecipe& recipe, const Problem& problem, int sm_count);

// The argument of the plan's product for a call. Precondition: its kernel takes GemmArgs.
GemmArgs product_argument(const LaunchPlan& plan, const GemmCall& call, void* workspace);

// A step of another kernel that takes GemmArgs, the same as the plan's product.
Step same_arguments(const LaunchPlan& plan, const char* entry, const Grid& grid, int threads);

}  // namespace gemm_tune

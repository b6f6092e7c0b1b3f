// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/product_plan.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "kernel_templates/device/copy/repack_args.cuh"

namespace gemm_tune {
namespace {

// Copies of operands, in the workspace behind the sums, and the step that makes them.
class PrePass {
 public:
  PrePass(LaunchPlan& plan, const RepackedOperands& copies, const Problem& problem)
      : element_bytes_(bytes_of(problem.signature.a)) {
    operands_.k = copies.k;
    if (!copies.a.exists() && !copies.b.exists()) return;
    if (copies.a.exists()) operands_.a = add(plan, CallValue::A, args_.a, copies.a, operands_.lda);
    if (copies.b.exists()) operands_.b = add(plan, CallValue::B, args_.b, copies.b, operands_.ldb);
    args_.element_bytes = element_bytes_;
    plan.steps.push_back(step());
  }

  const ProductOperands& operands() const { return operands_; }

 private:
  static constexpr std::int64_t kAlignment = 256;

  CallValue add(LaunchPlan& plan, CallValue of, RepackedMatrix& matrix, const RepackedOperand& copy,
                std::optional<std::int64_t>& ld) {
    matrix.from_rows = copy.from_rows;
    matrix.from_length = copy.from_length;
    matrix.to_rows = copy.rows;
    matrix.to_ld = copy.ld;
    ld = copy.ld;
    const CallValue address = plan.add_region(copy.elements() * element_bytes_, kAlignment);
    plan.regions.back().copy_of = of;
    return address;
  }

  Step step() const {
    Step step;
    step.entry = "repack";
    const long long chunks =
        repack_chunks(args_.a, args_.element_bytes) + repack_chunks(args_.b, args_.element_bytes);
    step.grid.x = (chunks + kRepackThreads - 1) / kRepackThreads;
    step.threads = kRepackThreads;
    step.only_with_operands = true;
    std::vector<Slot> slots;
    const auto patch = [&](std::size_t matrix, CallValue from, CallValue ld, CallValue to) {
      slots.push_back({from, matrix + offsetof(RepackedMatrix, from)});
      slots.push_back({ld, matrix + offsetof(RepackedMatrix, from_ld)});
      slots.push_back({to, matrix + offsetof(RepackedMatrix, to)});
    };
    if (operands_.lda) patch(offsetof(RepackArgs, a), CallValue::A, CallValue::lda, operands_.a);
    if (operands_.ldb) patch(offsetof(RepackArgs, b), CallValue::B, CallValue::ldb, operands_.b);
    step.arguments.add(args_, slots);
    return step;
  }

  int element_bytes_;
  RepackArgs args_ = {};
  ProductOperands operands_;
};

// The argument of the kernel that multiplies. The sums are the plan's first two regions.
Arguments product_arguments(const Problem& problem, const Grid& grid,
                            const ProductOperands& operands, bool has_workspace) {
  GemmArgs args = {};
  args.M = static_cast<int>(problem.M);
  args.N = static_cast<int>(problem.N);
  args.K = static_cast<int>(operands.k);
  args.piece_k = static_cast<int>(grid.piece_k);
  args.lda = operands.lda.value_or(0);
  args.ldb = operands.ldb.value_or(0);
  static_assert(offsetof(GemmArgs, beta) == offsetof(GemmArgs, alpha) + sizeof(float));
  std::vector<Slot> slots = {{CallValue::alpha_beta, offsetof(GemmArgs, alpha)},
                             {operands.a, offsetof(GemmArgs, A)},
                             {operands.b, offsetof(GemmArgs, B)},
                             {CallValue::D, offsetof(GemmArgs, D)}};
  if (!operands.lda) slots.push_back({CallValue::lda, offsetof(GemmArgs, lda)});
  if (!operands.ldb) slots.push_back({CallValue::ldb, offsetof(GemmArgs, ldb)});
  slots.push_back({CallValue::ldc, offsetof(GemmArgs, ldc)});
  slots.push_back({CallValue::stride_a, offsetof(GemmArgs, stride_a)});
  slots.push_back({CallValue::stride_b, offsetof(GemmArgs, stride_b)});
  slots.push_back({CallValue::stride_c, offsetof(GemmArgs, stride_c)});
  if (has_workspace) {
    slots.push_back({region(0), offsetof(GemmArgs, counters)});
    slots.push_back({region(1), offsetof(GemmArgs, partials)});
  }
  slots.push_back({CallValue::C, offsetof(GemmArgs, C)});
  add_epilogue_slots(slots, offsetof(GemmArgs, operands), problem);
  Arguments arguments;
  arguments.add(args, slots);
  return arguments;
}

}  // namespace

void add_epilogue_slots(std::vector<Slot>& slots, std::size_t offset, const Problem& problem) {
  static_assert(kMostEpilogueOperands == kMostOperands);
  for (int i = 0; i < problem.epilogue.operand_count(); ++i) {
    slots.push_back({operand(i), offset + static_cast<std::size_t>(i) * sizeof(void*)});
  }
}

ProductOperands add_pre_pass(LaunchPlan& plan, const RepackedOperands& copies,
                             const Problem& problem) {
  return PrePass(plan, copies, problem).operands();
}

LaunchPlan product_plan(const LaunchRecipe& recipe, const Problem& problem, int sm_count) {
  const LaunchProblem launched = launch_problem(problem);
  const RepackedOperands copies = repacked_operands(recipe, launched, sm_count);
  const Grid grid = grid_of(recipe, launched, sm_count);
  LaunchPlan plan;
  const bool has_workspace = copies.end > 0;
  if (has_workspace) {
    const std::int64_t sums = sums_bytes(recipe, launched, sm_count);
    plan.zeroed_bytes = kWorkspaceCounterBytes;
    plan.add_region(kWorkspaceCounterBytes);
    plan.add_region(sums > 0 ? sums - kWorkspaceCounterBytes : 0);
  }
  const ProductOperands operands = add_pre_pass(plan, copies, problem);
  Step step;
  step.grid = {grid.x, grid.y, grid.z};
  step.threads = recipe.block_threads;
  step.smem_bytes = recipe.smem_bytes;
  step.cluster.y = recipe.cluster_blocks;
  step.arguments = product_arguments(problem, grid, operands, has_workspace);
  plan.steps.push_back(std::move(step));
  return plan;
}

GemmArgs product_argument(const LaunchPlan& plan, const GemmCall& call, void* workspace) {
  GemmArgs args{};
  run_plan(
      plan, call,
      [&](std::size_t i) { return static_cast<char*>(workspace) + plan.regions[i].offset; },
      [](auto&&...) {},
      [&](std::size_t, const Step& step, void** parameters) {
        if (step.entry == kProductEntry) args = *static_cast<const GemmArgs*>(parameters[0]);
      });
  return args;
}

Step same_arguments(const LaunchPlan& plan, const char* entry, const Grid& grid, int threads) {
  Step step;
  step.entry = entry;
  step.grid = grid;
  step.threads = threads;
  step.arguments = plan.product().arguments;
  return step;
}

}  // namespace gemm_tune

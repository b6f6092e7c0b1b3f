// SPDX-License-Identifier: Apache-2.0
// The launch plan of a kernel that multiplies parts of fp32 operands
// (device/parts/split_shape.cuh): the launches that split A and B, the workspace, and the arguments
// of the product; and what the families of such kernels declare alike. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/launch/launch_plan.h"
#include "core/problem/problem.h"
#include "core/types/signature.h"
#include "kernel_templates/device/parts/args.cuh"
#include "kernel_templates/device/parts/split_shape.cuh"
#include "kernel_templates/family.h"

namespace gemm_tune::parts {

// The only signature that kernels of these parameters serve.
template <class Params>
constexpr Signature signature(const Params& p) {
  Signature of_sums = signature_of(kSumType);
  of_sums.a = static_cast<ElementType>(p.TYPE_A);
  of_sums.b = static_cast<ElementType>(p.TYPE_B);
  of_sums.accuracy = static_cast<Accuracy>(p.ACCURACY);
  return of_sums;
}

template <class Params>
ParamDecl<Params> class_param(const char* name, int Params::*member) {
  return {name,
          member,
          {kClassF16x3, kClassBf16x6},
          "3: two f16 parts of an operand, 4: three bf16 parts",
          Role::accuracy,
          kClassF16x3};
}

// The same tunables with the signature that is asked for, where the family's kernels have it.
template <class Params>
std::optional<std::vector<int>> values_for(Params p, const Signature& asked) {
  p.ACCURACY = static_cast<int>(asked.accuracy);
  p.TYPE_A = static_cast<int>(asked.a);
  p.TYPE_B = static_cast<int>(asked.b);
  if (reject(p) != nullptr || asked != signature(p)) return std::nullopt;
  return values_of(p);
}

// Of the kernels that split. parts_a, parts_b: 1 of an operand of 16 bits, which is not split.
struct SplitKernels {
  int parts_a = 2, parts_b = 2;
  bool transposed_a = false, transposed_b = false;
  bool have_clusters = false;  // there is "split_in_clusters" beside "split"
};

// Where the product finds an operand: the lines of its parts, or, of one part, its rows.
struct FoundOperand {
  CallValue at;
  std::optional<std::int64_t> ld;  // of rows that are copied
};

// Where the copies and what belongs to them lie.
struct Regions {
  CallValue flags;
  FoundOperand a, b;
};

// K of a line of parts.
std::int64_t padded_k(const Problem& problem);

// Adds regions for the parts of A and B and the steps that split both operands, or one. An operand
// of one part is copied where its rows are not aligned to 16 bytes, else it stays where it is.
Regions add_splits(LaunchPlan& plan, const SplitKernels& kernels, const Problem& problem);

// Adds the parameter Args to the step of the product, of tiles of so many rows and columns.
struct ProductTiles {
  int rows, cols;
  int raster_group;  // rows of tiles that are walked together
};
void add_product_args(Step& product, const SplitKernels& kernels, const Regions& regions,
                      const ProductTiles& tiles, const Problem& problem);

}  // namespace gemm_tune::parts

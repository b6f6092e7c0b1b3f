// SPDX-License-Identifier: Apache-2.0
// The launch plan of a kernel that multiplies parts of fp32 operands
// (device/parts/split_shape.cuh): the launches that split A and B, the workspace, and the arguments
// of the product. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/launch/launch_plan.h"
#include "core/problem/problem.h"
#include "kernel_templates/device/parts/args.cuh"

namespace gemm_tune::parts {

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

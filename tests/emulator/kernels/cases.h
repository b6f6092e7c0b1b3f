// SPDX-License-Identifier: Apache-2.0
// The calls that an emulated kernel must get right: chosen to be hostile to its tile.
//
// Every list is a pure function of the config's traits, so that a failure can be run again.
#pragma once

#include <string>
#include <vector>

#include "core/problem/gemm_call.h"
#include "kernel_templates/registry/registry.h"
#include "tests/emulator/device/emulator.h"

namespace gemm_tune::emulator {

// What A, B and C hold. Integers make every sum exact in fp32, and on tensor cores. Sums of
// positive numbers lose most to what is cut off.
enum class Values { integers, reals, signs, positives };

// SMs of the GPU that is emulated, for CTAs without a cluster.
inline constexpr int kSmCount = 3;
// Where the last tiles are cut along K: two of them in two parts.
inline constexpr int kSmCountOfCuts = 4;
// The same for the config's kernels: as many clusters run at a time as CTAs without one.
int sm_count(const KnownConfig& config);

struct Case {
  GemmCall call;         // without addresses; A and B may serve a whole batch with a stride of 0
  bool in_place = true;  // D is C
  Values values = Values::integers;
  Order order = Order::forward;
  unsigned seed = 1;
  int sm = 90;                    // whose tensor cores round: 80 for sm_80
  bool is_read_in_place = false;  // an operand that kernels of parts else copy
};

// What the config needs of A, of B, and of C and D, in elements. is_read_in_place: as in Case.
struct OperandAlignments {
  int a, b, c;
};
OperandAlignments operand_alignments(const KnownConfig& config, bool is_read_in_place);

std::string to_string(const Case& c);

// Whether several CTAs work on one tile.
bool shares_tiles(const KnownConfig& config);

// Ones, primes, and one below, at and above each tile edge (for unpredicated kernels: multiples of
// it), with K = 0, padded rows, and every order of threads.
std::vector<Case> edge_cases(const KnownConfig& config);

// Each of these extents twice, beside others, and a corner of the tile: a quarter of the work.
std::vector<Case> each_edge_cases(const KnownConfig& config);

// What the matrices of the following lists have: one tile and a bit along M and N, or a quarter of
// that, a ragged tile (a whole one of an unpredicated kernel).
enum class Tiles { several, one };

// Each of these extents of D once, and each K.
std::vector<Case> output_edge_cases(const KnownConfig& config);

// Several slices of K under every order of threads: where a missing barrier shows.
std::vector<Case> barrier_cases(const KnownConfig& config);

// alpha and beta zero and nonzero in every combination, on a shape with edges.
std::vector<Case> scale_cases(const KnownConfig& config, Tiles tiles);
inline std::vector<Case> scale_cases(const KnownConfig& config) {
  return scale_cases(config, Tiles::several);
}

// A few shapes with operands that round.
std::vector<Case> rounding_cases(const KnownConfig& config, Tiles tiles);
inline std::vector<Case> rounding_cases(const KnownConfig& config) {
  return rounding_cases(config, Tiles::several);
}

// Batches: packed, with gaps between matrices, of one A or one B for all, dealt out over the
// columns of wide rows.
std::vector<Case> batch_cases(const KnownConfig& config, Tiles tiles);
inline std::vector<Case> batch_cases(const KnownConfig& config) {
  return batch_cases(config, Tiles::several);
}

// For kernels whose CTAs share tiles: as few slices and tiles as none, fewer than there are shares
// or CTAs, as many, and more. Nothing for other kernels.
std::vector<Case> share_cases(const KnownConfig& config);

// A third of these: none, fewer and more.
std::vector<Case> some_share_cases(const KnownConfig& config);

// Leading dimensions and strides that put elements past 2^31, within one tile, from tile to tile
// and from matrix to matrix.
std::vector<Case> far_cases(const KnownConfig& config);

}  // namespace gemm_tune::emulator

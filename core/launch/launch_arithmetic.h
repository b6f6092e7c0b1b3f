// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a launch: the problems that a kernel may serve, its grid, its scratch memory.
//
// The tuner, the library, the tests and the exported header share this text: the header contains
// the lines between the braces below unchanged, behind those of the headers included here.
// Those lines are therefore C++17, include nothing else and use no name from elsewhere. Host code
// includes core/launch/launch_recipe.h. Constexpr and pure; any thread.
#pragma once

#include "core/problem/launch_problem.h"
#include "core/types/accuracy_class.h"
#include "core/types/element_type.h"

namespace gemm_tune {

// How to launch a compiled kernel, and which problems it serves.
struct LaunchRecipe {
  int block_threads = 0;       // of a block, one-dimensional
  int tile_m = 0, tile_n = 0;  // elements of C of one block
  int tile_k = 1;              // elements of K of one slice: the unit of a split along K
  int smem_bytes = 0;          // dynamic shared memory of a block
  int split_k = 1;             // blocks that share one tile along K
  int cluster_blocks = 1;      // of a thread block cluster; above 1 a split needs no workspace
  int tail_ctas_per_sm = 0;    // above 0: so many blocks at once on each SM share a ragged last
                               // wave, whose tiles are cut along K
  Layout layout = Layout::nn;  // the only one that the kernel serves
  int alignment = 1;           // the least alignment that the kernel may serve
  int multiple_m = 1, multiple_n = 1, multiple_k = 1;  // M, N and K must be multiples of these
  ElementType type_a{}, type_b{};                      // the only types that the kernel serves
  ElementType type_cd{};
  bool repack = false;  // a launch before copies A and B, where the kernel needs aligned rows or a
                        // multiple of K: repacked_operands()
  // Of A, of B, and of C and D, where they differ: `alignment` is then the largest of them. Else 0.
  int alignment_a = 0, alignment_b = 0, alignment_cd = 0;
  BatchKind batch_kind = BatchKind::strided;  // the only one that the kernel serves
  // The class of the kernel's products. That of the types has the least errors and serves each
  // class, any other itself alone.
  Accuracy accuracy = accuracy_of(type_a, type_b);
};

// The grid of a launch: x counts tiles or pieces of tiles, y the shares of a tile along K, z the
// batch.
struct Grid {
  long long x = 1, y = 1, z = 1;
  long long piece_k = 0;  // GemmArgs::piece_k: K elements of a piece of a tile that is cut

  constexpr long long ctas() const { return x * y * z; }
};

// CUDA's limits: a batch is the grid's z, whichever the kernel.
inline constexpr long long kMaxBatch = 65535;
inline constexpr long long kMaxGridX = 2147483647;

// A workspace begins with counters, which are zero between launches: its allocator zeroes them, and
// every launch leaves them zero. Partial sums of 4 bytes each follow.
inline constexpr long long kWorkspaceCounters = 16384;
inline constexpr long long kWorkspaceCounterBytes = kWorkspaceCounters * 4;
inline constexpr long long kPartialSumBytes = 4;

// The overhead of one piece of a tile that is cut along K, as the K elements that could be
// multiplied in that time: loads before the first multiplication, partial sums written and read
// again. About 5 us on an H100, where a tile of 128 x 256 takes 0.16 us for each K element.
inline constexpr long long kPieceOverheadK = 32;

constexpr long long tiles_of(const LaunchRecipe& recipe, const LaunchProblem& problem) {
  const long long tiles_m = (problem.M + recipe.tile_m - 1) / recipe.tile_m;
  const long long tiles_n = (problem.N + recipe.tile_n - 1) / recipe.tile_n;
  return tiles_m * tiles_n;
}

// How the tiles of a ragged last wave are cut along K.
struct TailCut {
  long long tiles = 0;    // the last so many are cut
  long long pieces = 1;   // of each of them
  long long piece_k = 0;  // K elements of a piece; the last one has what is left
};

// A last wave that fills at most half of the SMs is cut into equal pieces, as many as fit. A fuller
// last wave is cut together with the wave before it: each tile becomes a long piece and a short
// rest. The SMs without a second long piece work through the rests. sm_count: of the device that
// launches.
constexpr TailCut tail_cut(const LaunchRecipe& recipe, const LaunchProblem& problem, int sm_count) {
  const long long tiles = tiles_of(recipe, problem);
  const long long slots = static_cast<long long>(recipe.tail_ctas_per_sm) * sm_count;
  const long long slices = (problem.K + recipe.tile_k - 1) / recipe.tile_k;
  if (slots == 0 || slices < 2 || tiles % slots == 0) return TailCut{};
  const long long rest = tiles % slots;
  long long cut = rest, piece = 0;  // tiles, slices
  if (2 * rest <= slots) {
    const long long pieces = slots / rest;
    piece = (slices + pieces - 1) / pieces;
  } else {
    const long long free = slots - rest;
    cut = tiles < slots ? tiles : slots + rest;
    const long long rests = (cut + free - 1) / free;  // for each free slot
    const long long overhead = (kPieceOverheadK + recipe.tile_k - 1) / recipe.tile_k;
    piece = (rests * (slices + overhead) + rests) / (rests + 1);
  }
  if (piece >= slices) return TailCut{};
  return TailCut{cut, (slices + piece - 1) / piece, piece * recipe.tile_k};
}

constexpr Grid grid_of(const LaunchRecipe& recipe, const LaunchProblem& problem, int sm_count) {
  const TailCut cut = tail_cut(recipe, problem, sm_count);
  const long long ctas = tiles_of(recipe, problem) + cut.tiles * (cut.pieces - 1);
  return Grid{ctas, recipe.split_k, problem.batch, cut.piece_k};
}

// Bytes of counters and partial sums for one launch; 0 if the kernel needs none.
constexpr long long sums_bytes(const LaunchRecipe& recipe, const LaunchProblem& problem,
                               int sm_count) {
  if (recipe.cluster_blocks > 1) return 0;
  const TailCut cut = tail_cut(recipe, problem, sm_count);
  const long long shares = recipe.split_k > 1
                               ? tiles_of(recipe, problem) * recipe.split_k * problem.batch
                               : cut.tiles * cut.pieces;
  const long long tile_bytes = kPartialSumBytes * recipe.tile_m * recipe.tile_n;
  return shares > 0 ? kWorkspaceCounterBytes + shares * tile_bytes : 0;
}

constexpr long long rounded_up(long long size, long long multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// The most elements of the operands that one launch copies: 4 GiB of 32-bit ones. Above this,
// copies might not find memory beside the operands.
inline constexpr long long kMaxCopiedElements = 1LL << 30;

// A kernel's K, and which operands it needs copies of.
struct Copied {
  long long k;
  bool a, b;
};

// Those less aligned than the kernel needs; both, padded by zeros along K, where it needs a
// multiple of K.
constexpr Copied copied_operands(const LaunchRecipe& recipe, const LaunchProblem& problem) {
  if (!recipe.repack || problem.K == 0) return {problem.K, false, false};
  const long long k = rounded_up(problem.K, recipe.multiple_k);
  const auto is_copied = [&](int alignment) {
    return k > problem.K || (alignment > 0 ? alignment : problem.alignment) < recipe.alignment;
  };
  return {k, is_copied(problem.alignment_a), is_copied(problem.alignment_b)};
}

inline constexpr long long kL2LineBytes = 128;

// From one row of a copy to the next, of rows of so many bytes: a multiple of 16, and where they
// are long whole lines of the L2, of which a load along a row then touches none in part.
constexpr long long copied_row_bytes(long long bytes) {
  constexpr long long kChunkBytes = 16, kLongRowBytes = 512;
  return rounded_up(bytes, bytes >= kLongRowBytes ? kL2LineBytes : kChunkBytes);
}

// A copy of an operand in the workspace, with rows of copied_row_bytes(). What lies behind the
// operand's rows, and behind the elements of each, is zero.
struct RepackedOperand {
  long long offset = 0;                      // bytes from the workspace's begin
  long long rows = 0, ld = 0;                // of the copy
  long long from_rows = 0, from_length = 0;  // of the operand

  constexpr bool exists() const { return rows > 0; }
  constexpr long long elements() const { return rows * ld; }  // of the copy
};

struct RepackedOperands {
  RepackedOperand a, b;
  long long k = 0;    // K of the kernel, which may be more than the problem's
  long long end = 0;  // bytes from the workspace's begin, behind the last copy
};

// The copies of copied_operands(), behind counters and partial sums. Kernels that have some take A
// and B of one type.
constexpr RepackedOperands repacked_operands(const LaunchRecipe& recipe,
                                             const LaunchProblem& problem, int sm_count) {
  constexpr long long kCopyBytes = 256;  // at whose multiples copies begin
  const Copied copied = copied_operands(recipe, problem);
  RepackedOperands all{{}, {}, copied.k, sums_bytes(recipe, problem, sm_count)};
  const long long element_bytes = bytes_of(problem.type_a);
  // edge: M or N; along_k: whether a row is K elements long.
  const auto add = [&](RepackedOperand& copy, long long edge, bool along_k) {
    if (all.end == 0) all.end = kWorkspaceCounterBytes;
    copy.offset = rounded_up(all.end, kCopyBytes);
    copy.from_rows = along_k ? edge : problem.K;
    copy.from_length = along_k ? problem.K : edge;
    copy.rows = along_k ? edge : all.k;
    copy.ld = copied_row_bytes((along_k ? all.k : edge) * element_bytes) / element_bytes;
    all.end = copy.offset + copy.elements() * element_bytes;
  };
  const bool transposed_a = problem.layout == Layout::tn || problem.layout == Layout::tt;
  const bool transposed_b = problem.layout == Layout::nt || problem.layout == Layout::tt;
  if (copied.a) add(all.a, problem.M, !transposed_a);
  if (copied.b) add(all.b, problem.N, transposed_b);
  return all;
}

// Bytes of global scratch memory for one call; 0 if it needs none. Calls that may overlap need
// separate workspaces.
constexpr long long workspace_bytes(const LaunchRecipe& recipe, const LaunchProblem& problem,
                                    int sm_count) {
  return repacked_operands(recipe, problem, sm_count).end;
}

// Whether a problem's operands are as aligned as the kernel needs.
constexpr bool is_aligned(const LaunchRecipe& recipe, const LaunchProblem& problem) {
  const auto known = [&](int own) { return own > 0 ? own : problem.alignment; };
  const int cd = known(problem.alignment_cd);
  if (recipe.repack) {
    return cd >= (recipe.alignment_cd > 0 ? recipe.alignment_cd : recipe.alignment);
  }
  if (recipe.alignment_a == 0) return problem.alignment >= recipe.alignment;
  return known(problem.alignment_a) >= recipe.alignment_a &&
         known(problem.alignment_b) >= recipe.alignment_b && cd >= recipe.alignment_cd;
}

// Why a kernel may not be launched for a problem, or none.
enum class Refusal {
  none,
  types,
  accuracy,
  layout,
  batch_kind,
  tail_of_batch,
  repack_of_batch,
  repack_size,
  multiple_m,
  multiple_n,
  multiple_k,
  alignment,
  batch,
  grid,
  counters
};

constexpr Refusal refusal(const LaunchRecipe& recipe, const LaunchProblem& problem) {
  const bool has_types = problem.type_a == recipe.type_a && problem.type_b == recipe.type_b &&
                         problem.type_cd == recipe.type_cd;
  if (!has_types) return Refusal::types;
  const bool is_accurate = recipe.accuracy == problem.accuracy ||
                           recipe.accuracy == accuracy_of(recipe.type_a, recipe.type_b);
  if (!is_accurate) return Refusal::accuracy;
  if (problem.layout != recipe.layout) return Refusal::layout;
  if (problem.batch_kind != recipe.batch_kind) return Refusal::batch_kind;
  if (recipe.tail_ctas_per_sm > 0 && problem.batch > 1) return Refusal::tail_of_batch;
  if (recipe.repack && problem.batch > 1) return Refusal::repack_of_batch;
  const Copied copied = copied_operands(recipe, problem);
  const long long edges = (copied.a ? problem.M : 0) + (copied.b ? problem.N : 0);
  if (edges * problem.K > kMaxCopiedElements) return Refusal::repack_size;
  if (problem.M % recipe.multiple_m != 0) return Refusal::multiple_m;
  if (problem.N % recipe.multiple_n != 0) return Refusal::multiple_n;
  if (problem.K % recipe.multiple_k != 0 && !recipe.repack) return Refusal::multiple_k;
  if (!is_aligned(recipe, problem)) return Refusal::alignment;
  if (problem.batch > kMaxBatch) return Refusal::batch;
  const long long tiles = tiles_of(recipe, problem);
  // Some families' grids count the tiles of all matrices along x.
  if (tiles > kMaxGridX / problem.batch) return Refusal::grid;
  // A tile's counters: one for each share at most, and one for the tile.
  const long long counters = tiles * problem.batch * (recipe.split_k + 1);
  const bool counts = recipe.split_k > 1 && recipe.cluster_blocks == 1;
  return counts && counters > kWorkspaceCounters ? Refusal::counters : Refusal::none;
}

}  // namespace gemm_tune

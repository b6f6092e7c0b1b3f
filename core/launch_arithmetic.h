// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a launch: the problems that a kernel may serve, its grid, its scratch memory.
//
// The tuner, the library, the tests and the exported header share this text: the header contains
// the lines between the braces below unchanged, behind those of core/element_type.h. Those lines
// are therefore C++17, include nothing else and use no name from elsewhere. Host code includes
// core/launch_recipe.h. Constexpr and pure; any thread.
#pragma once

#include "core/element_type.h"

namespace gemm_tune {

// Which operands are stored transposed, A's letter first: N as op(X) = X, T as op(X) = X^T. A
// transposed A is stored [K,M], a transposed B [N,K].
enum class Layout { nn, nt, tn, tt };

// How the matrices of a batch lie. strided: those of each operand equally far apart. pointers:
// where an operand's address would be is that of an array on the device, of the addresses of its
// matrices. groups: as pointers, but each product has sizes of its own, of which M, N and K are the
// largest.
enum class BatchKind { strided, pointers, groups };

// The part of a problem that a launch depends on.
struct LaunchProblem {
  long long M, N, K;
  int alignment = 1;  // elements (1, 2, 4 or 8) that divide leading dimensions, addresses, strides;
                      // of pointers on the device, which nobody knows, leading dimensions only
  Layout layout = Layout::nn;
  long long batch = 1;    // products of one launch
  ElementType type_ab{};  // of A and B
  ElementType type_cd{};  // of C and D
  // The alignments of A, of B, and of C and D, none below `alignment`; 0 where it is all that is
  // known of an operand. Kernels with wider accesses to some operands serve only where these are
  // known: aligned_by().
  int alignment_a = 0, alignment_b = 0, alignment_cd = 0;
  BatchKind batch_kind = BatchKind::strided;
};

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
  ElementType type_ab{};                               // the only types that the kernel serves
  ElementType type_cd{};
  bool repack = false;  // a launch before copies A and B, where the kernel needs aligned rows or a
                        // multiple of K: repacked_operands()
  // Of A, of B, and of C and D, where they differ: `alignment` is then the largest of them. Else 0.
  int alignment_a = 0, alignment_b = 0, alignment_cd = 0;
  BatchKind batch_kind = BatchKind::strided;  // the only one that the kernel serves
};

// The grid of a launch: x counts tiles or pieces of tiles, y the shares of a tile along K, z the
// batch.
struct Grid {
  long long x = 1, y = 1, z = 1;
  long long piece_k = 0;  // GemmArgs::piece_k: K elements of a piece of a tile that is cut

  constexpr long long ctas() const { return x * y * z; }
};

// The largest matrix edge: kernels count rows and columns in 32-bit integers, rounded up to a tile.
inline constexpr long long kMaxEdge = 2000000000;

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

// The alignment class of leading dimensions, for base addresses that are multiples of 16 bytes.
constexpr int alignment_class(long long lda, long long ldb, long long ldc) {
  const long long bits = lda | ldb | ldc;
  return bits % 4 == 0 ? 4 : bits % 2 == 0 ? 2 : 1;
}

// The same for these element types of A and B, and of C and D. Where a row of C of 32-bit elements
// begins at a multiple of 16 bytes, its class does not limit that of 16-bit operands.
constexpr int alignment_class(long long lda, long long ldb, long long ldc, ElementType type_ab,
                              ElementType type_cd) {
  if (type_ab == ElementType::f32) return alignment_class(lda, ldb, ldc);
  const bool is_wide = type_cd == ElementType::f32 && ldc % 4 == 0;
  const long long bits = lda | ldb | (is_wide ? 8 : ldc);
  return bits % 8 == 0 ? 8 : alignment_class(bits, bits, bits);
}

// The problem with the alignments that these leading dimensions have, for base addresses, and
// strides of a batch, that are multiples of 16 bytes.
constexpr LaunchProblem aligned_by(LaunchProblem problem, long long lda, long long ldb,
                                   long long ldc) {
  const auto of = [&](long long a, long long b, long long c) {
    return alignment_class(a, b, c, problem.type_ab, problem.type_cd);
  };
  problem.alignment = of(lda, ldb, ldc);
  problem.alignment_a = of(lda, 0, 0);
  problem.alignment_b = of(0, ldb, 0);
  problem.alignment_cd = of(0, 0, ldc);
  return problem;
}

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
  const long long multiple = recipe.multiple_k;
  const long long k = (problem.K + multiple - 1) / multiple * multiple;
  const auto is_copied = [&](int alignment) {
    return k > problem.K || (alignment > 0 ? alignment : problem.alignment) < recipe.alignment;
  };
  return {k, is_copied(problem.alignment_a), is_copied(problem.alignment_b)};
}

// A copy of an operand in the workspace, each row of which begins at a multiple of 16 bytes. What
// lies behind the operand's rows, and behind the elements of each, is zero.
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

// The copies of copied_operands(), behind counters and partial sums.
constexpr RepackedOperands repacked_operands(const LaunchRecipe& recipe,
                                             const LaunchProblem& problem, int sm_count) {
  constexpr long long kRowBytes = 16, kCopyBytes = 256;  // at whose multiples these begin
  const Copied copied = copied_operands(recipe, problem);
  RepackedOperands all{{}, {}, copied.k, sums_bytes(recipe, problem, sm_count)};
  const auto rounded_up = [](long long size, long long multiple) {
    return (size + multiple - 1) / multiple * multiple;
  };
  const long long element_bytes = bytes_of(problem.type_ab);
  // edge: M or N; along_k: whether a row is K elements long.
  const auto add = [&](RepackedOperand& copy, long long edge, bool along_k) {
    if (all.end == 0) all.end = kWorkspaceCounterBytes;
    copy.offset = rounded_up(all.end, kCopyBytes);
    copy.from_rows = along_k ? edge : problem.K;
    copy.from_length = along_k ? problem.K : edge;
    copy.rows = along_k ? edge : all.k;
    copy.ld = rounded_up(along_k ? all.k : edge, kRowBytes / element_bytes);
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
  if (recipe.repack) return cd >= recipe.alignment;
  if (recipe.alignment_a == 0) return problem.alignment >= recipe.alignment;
  return known(problem.alignment_a) >= recipe.alignment_a &&
         known(problem.alignment_b) >= recipe.alignment_b && cd >= recipe.alignment_cd;
}

// Why a kernel may not be launched for a problem, or none.
enum class Refusal {
  none,
  types,
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
  if (problem.type_ab != recipe.type_ab || problem.type_cd != recipe.type_cd) return Refusal::types;
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
  if (tiles > kMaxGridX) return Refusal::grid;
  // A tile's counters: one for each share at most, and one for the tile.
  const long long counters = tiles * problem.batch * (recipe.split_k + 1);
  const bool counts = recipe.split_k > 1 && recipe.cluster_blocks == 1;
  return counts && counters > kWorkspaceCounters ? Refusal::counters : Refusal::none;
}

// The larger over the smaller; sizes count as at least 1.
constexpr double ratio(long long a, long long b) {
  const double x = static_cast<double>(a > 1 ? a : 1);
  const double y = static_cast<double>(b > 1 ? b : 1);
  return x > y ? x / y : y / x;
}

// The distance of a tuned problem from another one: the product of ratio() over M, N, K and batch.
// 1 means the same shape.
constexpr double shape_distance(const LaunchProblem& a, const LaunchProblem& b) {
  return ratio(a.M, b.M) * ratio(a.N, b.N) * ratio(a.K, b.K) * ratio(a.batch, b.batch);
}

// How far a tuned problem is the asked one.
enum class Sameness {
  none,
  by_class,  // the shape and the alignment class, but other operands are the least aligned ones
  full,
};

constexpr Sameness sameness(const LaunchProblem& tuned, const LaunchProblem& asked) {
  const bool is_same = tuned.M == asked.M && tuned.N == asked.N && tuned.K == asked.K &&
                       tuned.alignment == asked.alignment && tuned.layout == asked.layout &&
                       tuned.batch == asked.batch && tuned.batch_kind == asked.batch_kind &&
                       tuned.type_ab == asked.type_ab && tuned.type_cd == asked.type_cd;
  if (!is_same) return Sameness::none;
  const auto is_equal = [&](int a, int b) {
    return (a > 0 ? a : tuned.alignment) == (b > 0 ? b : asked.alignment);
  };
  return is_equal(tuned.alignment_a, asked.alignment_a) &&
                 is_equal(tuned.alignment_b, asked.alignment_b) &&
                 is_equal(tuned.alignment_cd, asked.alignment_cd)
             ? Sameness::full
             : Sameness::by_class;
}

}  // namespace gemm_tune

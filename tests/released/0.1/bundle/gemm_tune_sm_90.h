// SPDX-License-Identifier: Apache-2.0
// The best known GEMM kernels for sm_90, and their look-up by size. Made by gemm-tune
// (`gemm-tune export --format header`): make it anew instead of editing it.
//
// C[M,N] = alpha * op(A)[M,K] * op(B)[K,N] + beta * C, or a batch of these with the matrices of
// each operand equally far apart; row-major. C and D have one element type, and A and B have one,
// or one of f32 and one of 16 bits; f32 unless a Problem says otherwise. Of other types than f32 the
// header has kernels only where one was tuned. The accuracy class is that of the types, sums in
// fp32, unless a Problem's `accuracy` is another, whose kernels serve nobody else. Units: sizes, tiles
// and alignments in elements; _bytes in bytes; _us in microseconds of a launch. Alignment is the
// largest of 1, 2, 4 and, where A and B are of 16 bits, 8 elements that divides every leading
// dimension, every base address and, in a batch, every stride of A, B and C: alignment_class()
// below. (Matrices aligned to 16 bytes count as divided by all of these.) Where these are aligned
// differently, a Problem that knows it, as aligned_by() makes it, also finds the kernels with wider
// accesses to some of them (VECS in a config).
//
//   using namespace gemm_tune_sm_90;
//   constexpr Problem problem = aligned_by({1024, 1000, 77}, /*lda=*/80, /*ldb=*/1000, /*ldc=*/1000);
//   constexpr Lookup found = lookup(problem);
//   const int tile_rows = found.kernel->tile_m;
//   const Grid grid = found.kernel->grid(problem, sm_count);
//
// Kernels are compiled from texts below share/gemm-tune, where packages or CMake have installed the
// gemm-tune that made this header. An upgrade replaces them: keep a copy of kernel_templates there.
//
// To run a kernel: compile its `source`, a file below share/gemm-tune where gemm-tune is installed
// (of a user's family, of the revision "user:...", below the folder that holds the family's; the
// revision is `kernel_revision`) and an include path from there, for sm_90 with the macros
// TUNED_PARAMS defined as `tuned_params`, TUNED_CLUSTER as tuned_cluster(), and TUNED_FORM as
// {.IN_PLACE=1} where C is D, as in every measurement; IN_PLACE is 0 elsewhere. An epilogue is
// TUNED_EPILOGUE, functors as in BiasColumn,Relu, with TUNED_EPILOGUE_1 and so on, the include paths
// of their files in kernel_templates/device/epilogue, and GemmArgs' member `operands`, theirs in
// their order. Launch its function "gemm" with grid() blocks of
// block_threads threads and smem_bytes of dynamic shared memory; its one argument is GemmArgs of
// kernel_templates/device/call/gemm_args.cuh, from the same place. Where workspace_bytes() is not 0 it wants that
// much global memory: `counters` at the beginning, kWorkspaceCounterBytes that are zero before the
// first launch and that every launch leaves zero, then `partials`. Launches that may overlap need one
// each.
//
// Includes nothing and allocates nothing; C++17; constants and pure functions, for any thread.
#pragma once

namespace gemm_tune_sm_90 {

// The type of a matrix's elements. f64: of reference results only.
enum class ElementType { f32, f16, bf16, e4m3, e5m2, s8, s32, f64 };

struct TypeInfo {
  const char* name;
  const char* array_name;  // NumPy's (with ml_dtypes) and PyTorch's
  const char* torch_name;  // PyTorch's in C++, which its logs have
  int bits;
  int significand_bits;   // of a number that is not subnormal, the leading one included; no sign
  int exponent_bits;      // 0: whole numbers
  const char* cuda_name;  // of cudaDataType, behind CUDA_
  int cuda_data_type;     // its number
  int dlpack_code;        // of DLDataTypeCode
};

// In the order of ElementType.
inline constexpr TypeInfo kTypeTable[] = {
    {"f32", "float32", "float", 32, 24, 8, "R_32F", 0, 2},
    {"f16", "float16", "Half", 16, 11, 5, "R_16F", 2, 2},
    {"bf16", "bfloat16", "BFloat16", 16, 8, 8, "R_16BF", 14, 4},
    {"e4m3", "float8_e4m3fn", "Float8_e4m3fn", 8, 4, 4, "R_8F_E4M3", 28, 10},
    {"e5m2", "float8_e5m2", "Float8_e5m2", 8, 3, 5, "R_8F_E5M2", 29, 12},
    {"s8", "int8", "Char", 8, 7, 0, "R_8I", 3, 0},
    {"s32", "int32", "Int", 32, 31, 0, "R_32I", 10, 0},
    {"f64", "float64", "double", 64, 53, 11, "R_64F", 1, 2},
};
// The first so many are those that a matrix of a product may have.
inline constexpr int kMatrixTypes = static_cast<int>(ElementType::f64);

// Kernels add up and scale in this type, and references in that one.
inline constexpr ElementType kSumType = ElementType::f32, kReferenceType = ElementType::f64;

constexpr const TypeInfo& info_of(ElementType type) { return kTypeTable[static_cast<int>(type)]; }
constexpr int bytes_of(ElementType type) { return info_of(type).bits / 8; }
constexpr bool is_floating(ElementType type) { return info_of(type).exponent_bits > 0; }

// The numbers are those of gt_accuracy in the C ABI.
enum class Accuracy { fp32 = 1, tf32, fp32_f16x3, fp32_bf16x6, sums_fp32, sums_fp16, sums_s32 };

// Of what types A and B are; of two types that which comes first.
enum class OperandKind { f32, narrow_floating, whole };

constexpr OperandKind kind_of_operand(ElementType type) {
  if (!is_floating(type)) return OperandKind::whole;
  return info_of(type).bits < 32 ? OperandKind::narrow_floating : OperandKind::f32;
}

// Of two types: that of the wider range, f32 beside any other.
constexpr OperandKind kind_of_operands(ElementType a, ElementType b) {
  const OperandKind of_a = kind_of_operand(a), of_b = kind_of_operand(b);
  return of_a < of_b ? of_a : of_b;
}

// The class of products of these types where none is asked for.
constexpr Accuracy accuracy_of(ElementType a, ElementType b) {
  switch (kind_of_operands(a, b)) {
    case OperandKind::narrow_floating:
      return Accuracy::sums_fp32;
    case OperandKind::whole:
      return Accuracy::sums_s32;
    case OperandKind::f32:
      break;
  }
  return Accuracy::fp32;
}

// Which operands are stored transposed, A's letter first: N as op(X) = X, T as op(X) = X^T. A
// transposed A is stored [K,M], a transposed B [N,K].
enum class Layout { nn, nt, tn, tt };

// The largest matrix edge: kernels count rows and columns in 32-bit integers, rounded up to a tile.
inline constexpr long long kMaxEdge = 2000000000;

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
  long long batch = 1;  // products of one launch
  ElementType type_a{}, type_b{};
  ElementType type_cd{};  // of C and D
  // The alignments of A, of B, and of C and D, none below `alignment`; 0 where it is all that is
  // known of an operand. Kernels with wider accesses to some operands serve only where these are
  // known: aligned_by().
  int alignment_a = 0, alignment_b = 0, alignment_cd = 0;
  BatchKind batch_kind = BatchKind::strided;
  Accuracy accuracy = accuracy_of(type_a, type_b);  // the class that is asked for
};

// The alignment class of leading dimensions, for base addresses that are multiples of 16 bytes.
constexpr int alignment_class(long long lda, long long ldb, long long ldc) {
  const long long bits = lda | ldb | ldc;
  return bits % 4 == 0 ? 4 : bits % 2 == 0 ? 2 : 1;
}

// The same for these element types of A, of B, and of C and D. No access has more elements than 16
// bytes hold of the wider one of A and B; where a row begins at a multiple of 16 bytes, it does not
// limit the class.
constexpr int alignment_class(long long lda, long long ldb, long long ldc, ElementType type_a,
                              ElementType type_b, ElementType type_cd) {
  const int bytes_a = bytes_of(type_a), bytes_b = bytes_of(type_b);
  const int most = 16 / (bytes_a > bytes_b ? bytes_a : bytes_b);
  const auto limited = [](int elements, long long ld, int bytes) {
    while (ld * bytes % 16 != 0 && ld % elements != 0) elements /= 2;
    return elements;
  };
  return limited(limited(limited(most, lda, bytes_a), ldb, bytes_b), ldc, bytes_of(type_cd));
}

// The problem with the alignments that these leading dimensions have, for base addresses, and
// strides of a batch, that are multiples of 16 bytes.
constexpr LaunchProblem aligned_by(LaunchProblem problem, long long lda, long long ldb,
                                   long long ldc) {
  const auto of = [&](long long a, long long b, long long c) {
    return alignment_class(a, b, c, problem.type_a, problem.type_b, problem.type_cd);
  };
  problem.alignment = of(lda, ldb, ldc);
  problem.alignment_a = of(lda, 0, 0);
  problem.alignment_b = of(0, ldb, 0);
  problem.alignment_cd = of(0, 0, ldc);
  return problem;
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
                       tuned.type_a == asked.type_a && tuned.type_b == asked.type_b &&
                       tuned.type_cd == asked.type_cd && tuned.accuracy == asked.accuracy;
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

using Problem = LaunchProblem;

// Of this header, for the bundle's loader: one of an earlier gemm-tune may lie beside it.
constexpr int export_format(const Problem&) { return 1; }

// How a kernel was found.
enum class Match {
  exact,    // tuned for this problem
  nearest,  // the nearest tuned size
  builtin,  // no tuned kernel may serve: a conservative one that is not tuned
  none      // no kernel may serve: winner and kernel are null
};

struct Param {
  const char* name;
  int value;
};

struct Kernel : LaunchRecipe {
  const char* config;        // the kernel's name: family/NAME=VALUE,...
  const char* family;        // the kernel template
  const char* source;        // its file, as an include path
  const char* kernel_revision;  // raised when the kernel changes
  const char* tuned_params;  // the values, as the source wants them
  Param params[28];
  int param_count;

  // The value of a parameter of the config; -1 for a name that the kernel's family does not have.
  constexpr int value(const char* name) const {
    for (int i = 0; i < param_count; ++i) {
      const char* a = params[i].name;
      const char* b = name;
      while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
      }
      if (*a == *b) return params[i].value;
    }
    return -1;
  }

  // Blocks of a thread block cluster, or 1.
  constexpr int tuned_cluster() const { return cluster_blocks; }

  constexpr long long tiles(const Problem& p) const { return tiles_of(*this, p); }

  // The last tiles, which are cut into pieces along K where a last wave would be ragged.
  using Tail = TailCut;
  constexpr Tail tail(const Problem& p, int sm_count) const { return tail_cut(*this, p, sm_count); }

  // sm_count: of the device that launches.
  constexpr Grid grid(const Problem& p, int sm_count) const { return grid_of(*this, p, sm_count); }

  // Global scratch memory of one launch; 0 where the kernel needs none.
  constexpr long long workspace_bytes(const Problem& p, int sm_count) const {
    return gemm_tune_sm_90::workspace_bytes(*this, p, sm_count);
  }

  // Of counters, with which the workspace begins.
  static constexpr long long workspace_counter_bytes() { return kWorkspaceCounterBytes; }

  // Whether the kernel may be launched for a problem.
  constexpr bool is_legal(const Problem& p) const { return refusal(*this, p) == Refusal::none; }
};

// A tuned problem and what was found best for it.
struct Winner {
  Problem problem;
  const char* device;    // the GPU it was tuned for
  int sm_count;          // streaming multiprocessors of that GPU
  bool measured;         // false: predicted by a model, not timed
  double time_us;        // the measured median, or the prediction
  const char* baseline;  // what was timed in the same run, or null
  double baseline_us;    // meaningful with a baseline only
  // Into kKernels: the winner, then its specialisations for other problems.
  int variants[1];
  int variant_count;
};

struct Lookup {
  Match match;
  const Kernel* kernel;  // legal for the problem that was asked for
  const Winner* winner;  // what it rests on, for exact and nearest
  // Not the winner itself: its predicated specialisation, because that is legal.
  bool is_specialisation;
};

// Every kernel that lookup() may give.
inline constexpr Kernel kKernels[] = {
    // 0
    {{/*block_threads=*/256, /*tile_m=*/16, /*tile_n=*/16, /*tile_k=*/1, /*smem_bytes=*/0,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::nn, /*alignment=*/1, /*multiple_m=*/1, /*multiple_n=*/1, /*multiple_k=*/1,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "naive/BM=16,BN=16,COALESCED=1,PRED=1",
     "naive", "kernel_templates/naive/kernel.cuh", "1",
     "{.BM=16,.BN=16,.COALESCED=1,.PRED=1}",
     {{"BM", 16}, {"BN", 16}, {"COALESCED", 1}, {"PRED", 1}},
     /*param_count=*/4},
    // 1
    {{/*block_threads=*/64, /*tile_m=*/8, /*tile_n=*/8, /*tile_k=*/1, /*smem_bytes=*/0,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::nn, /*alignment=*/1, /*multiple_m=*/1, /*multiple_n=*/1, /*multiple_k=*/1,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "naive/BM=8,BN=8,COALESCED=1,PRED=1",
     "naive", "kernel_templates/naive/kernel.cuh", "1",
     "{.BM=8,.BN=8,.COALESCED=1,.PRED=1}",
     {{"BM", 8}, {"BN", 8}, {"COALESCED", 1}, {"PRED", 1}},
     /*param_count=*/4},
    // 2
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/16896,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::nn, /*alignment=*/1, /*multiple_m=*/1, /*multiple_n=*/1, /*multiple_k=*/1,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=1,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=0,.TB=0,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 1}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 0}, {"TB", 0}, {"PRED", 1}},
     /*param_count=*/20},
    // 3
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/17408,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::nt, /*alignment=*/1, /*multiple_m=*/1, /*multiple_n=*/1, /*multiple_k=*/1,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=1,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=1,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=0,.TB=1,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 1}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 0}, {"TB", 1}, {"PRED", 1}},
     /*param_count=*/20},
    // 4
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/16384,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::tn, /*alignment=*/1, /*multiple_m=*/1, /*multiple_n=*/1, /*multiple_k=*/1,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=1,TB=0,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=1,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=1,.TB=0,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 1}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 1}, {"TB", 0}, {"PRED", 1}},
     /*param_count=*/20},
    // 5
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/16896,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::tt, /*alignment=*/1, /*multiple_m=*/1, /*multiple_n=*/1, /*multiple_k=*/1,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=1,TB=1,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=1,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=1,.TB=1,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 1}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 1}, {"TB", 1}, {"PRED", 1}},
     /*param_count=*/20},
    // 6
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/16896,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::nn, /*alignment=*/2, /*multiple_m=*/1, /*multiple_n=*/2, /*multiple_k=*/2,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=2,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=2,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=0,.TB=0,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 2}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 0}, {"TB", 0}, {"PRED", 1}},
     /*param_count=*/20},
    // 7
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/17408,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::nt, /*alignment=*/2, /*multiple_m=*/1, /*multiple_n=*/1, /*multiple_k=*/2,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=2,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=1,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=2,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=0,.TB=1,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 2}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 0}, {"TB", 1}, {"PRED", 1}},
     /*param_count=*/20},
    // 8
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/16384,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::tn, /*alignment=*/2, /*multiple_m=*/2, /*multiple_n=*/2, /*multiple_k=*/1,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=2,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=1,TB=0,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=2,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=1,.TB=0,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 2}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 1}, {"TB", 0}, {"PRED", 1}},
     /*param_count=*/20},
    // 9
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/16896,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::tt, /*alignment=*/2, /*multiple_m=*/2, /*multiple_n=*/1, /*multiple_k=*/2,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=2,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=1,TB=1,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=2,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=1,.TB=1,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 2}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 1}, {"TB", 1}, {"PRED", 1}},
     /*param_count=*/20},
    // 10
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/16896,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::nn, /*alignment=*/4, /*multiple_m=*/1, /*multiple_n=*/4, /*multiple_k=*/4,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=4,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=0,.TB=0,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 4}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 0}, {"TB", 0}, {"PRED", 1}},
     /*param_count=*/20},
    // 11
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/17408,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::nt, /*alignment=*/4, /*multiple_m=*/1, /*multiple_n=*/1, /*multiple_k=*/4,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=1,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=4,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=0,.TB=1,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 4}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 0}, {"TB", 1}, {"PRED", 1}},
     /*param_count=*/20},
    // 12
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/16384,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::tn, /*alignment=*/4, /*multiple_m=*/4, /*multiple_n=*/4, /*multiple_k=*/1,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=1,TB=0,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=4,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=1,.TB=0,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 4}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 1}, {"TB", 0}, {"PRED", 1}},
     /*param_count=*/20},
    // 13
    {{/*block_threads=*/128, /*tile_m=*/64, /*tile_n=*/64, /*tile_k=*/16, /*smem_bytes=*/16896,
      /*split_k=*/1, /*cluster_blocks=*/1, /*tail_ctas_per_sm=*/0, Layout::tt, /*alignment=*/4, /*multiple_m=*/4, /*multiple_n=*/1, /*multiple_k=*/4,
      ElementType::f32, ElementType::f32, ElementType::f32},
     "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=1,TB=1,PRED=1",
     "warp_tiled", "kernel_templates/warp_tiled/kernel.cuh", "1",
     "{.CLUSTER=0,.BM=64,.BN=64,.BK=16,.WM=32,.WN=32,.TM=8,.TN=4,.WARPS_K=1,.STAGES=2,.ASYNC=0,.FRAGMENTS=2,.VEC=4,.RASTER=8,.CTAS=1,.SPLIT_K=1,.TAIL=0,.TA=1,.TB=1,.PRED=1}",
     {{"CLUSTER", 0}, {"BM", 64}, {"BN", 64}, {"BK", 16}, {"WM", 32}, {"WN", 32}, {"TM", 8}, {"TN", 4}, {"WARPS_K", 1}, {"STAGES", 2}, {"ASYNC", 0}, {"FRAGMENTS", 2}, {"VEC", 4}, {"RASTER", 8}, {"CTAS", 1}, {"SPLIT_K", 1}, {"TAIL", 0}, {"TA", 1}, {"TB", 1}, {"PRED", 1}},
     /*param_count=*/20},
};

// The tuned problems.
inline constexpr Winner kWinners[] = {
    // 100x64x64:align=4/16/16/16:batch=4: naive/BM=8,BN=8,COALESCED=1,PRED=1
    {{100, 64, 64, /*alignment=*/1, Layout::nn, /*batch=*/4, ElementType::f32, ElementType::f32, ElementType::f32, 1, 4, 4},
     "NVIDIA H100 80GB HBM3", /*sm_count=*/132,
     /*measured=*/true, 9.000, /*baseline=*/nullptr, 0, /*variants=*/{1}, 1},
    // 1024x1024x1024: naive/BM=16,BN=16,COALESCED=1,PRED=1
    {{1024, 1024, 1024, /*alignment=*/4, Layout::nn, /*batch=*/1, ElementType::f32, ElementType::f32, ElementType::f32},
     "NVIDIA H100 80GB HBM3", /*sm_count=*/132,
     /*measured=*/true, 800.000, /*baseline=*/nullptr, 0, /*variants=*/{0}, 1},
    // 64x64x64: naive/BM=16,BN=16,COALESCED=1,PRED=1
    {{64, 64, 64, /*alignment=*/4, Layout::nn, /*batch=*/1, ElementType::f32, ElementType::f32, ElementType::f32},
     "NVIDIA H100 80GB HBM3", /*sm_count=*/132,
     /*measured=*/true, 4.000, /*baseline=*/nullptr, 0, /*variants=*/{0}, 1},
};

// Into kKernels: what serves where no winner may, by layout and falling alignment.
inline constexpr int kBuiltin[] = {10, 6, 2, 11, 7, 3, 12, 8, 4, 13, 9, 5};
inline constexpr int kBuiltinCount = 12;

// The first of the kernels that is legal for the problem: its position in `variants`, or -1.
constexpr int first_legal(const int* variants, int count, const Problem& problem) {
  for (int i = 0; i < count; ++i) {
    if (kKernels[variants[i]].is_legal(problem)) return i;
  }
  return -1;
}

constexpr bool is_problem(const Problem& p) {
  const auto is_alignment = [&](int elements) {
    return elements == 1 || elements == 2 || elements == 4 ||
           (elements == 8 && p.type_a != ElementType::f32 && p.type_b != ElementType::f32);
  };
  const auto is_of_operand = [&](int elements) {
    return elements == 0 || (is_alignment(elements) && elements >= p.alignment);
  };
  return p.M >= 1 && p.N >= 1 && p.K >= 0 && p.M <= kMaxEdge && p.N <= kMaxEdge &&
         p.K <= kMaxEdge && p.batch >= 1 && p.batch <= kMaxEdge && is_alignment(p.alignment) &&
         is_of_operand(p.alignment_a) && is_of_operand(p.alignment_b) &&
         is_of_operand(p.alignment_cd);
}

constexpr bool is_same(const Problem& a, const Problem& b) { return sameness(a, b) != Sameness::none; }

// The kernel for a problem. Nearest is the least shape_distance() among the winners of the
// problem's accuracy class with a legal kernel; of equally near ones the first in the table, before
// it the exact one, and among several exact ones that whose operands are aligned as the problem's.
// Where the class has no kernel, the answer is that of the types' own class.
constexpr Lookup lookup(const Problem& problem) {
  Lookup found{Match::none, nullptr, nullptr, false};
  if (!is_problem(problem)) return found;
  double least = 0;
  Sameness same = Sameness::none;  // of the one that was found
  for (const Winner& winner : kWinners) {
    const double distance = shape_distance(winner.problem, problem);
    const Sameness this_same = sameness(winner.problem, problem);
    const bool better = found.match == Match::none || distance < least ||
                        (distance <= least && this_same > same);
    if (!better || winner.problem.accuracy != problem.accuracy) continue;
    const int variant = first_legal(winner.variants, winner.variant_count, problem);
    if (variant < 0) continue;
    least = distance;
    same = this_same;
    found = Lookup{same != Sameness::none ? Match::exact : Match::nearest, &kKernels[winner.variants[variant]],
                   &winner, variant > 0};
  }
  if (found.match != Match::none) return found;
  const int variant = first_legal(kBuiltin, kBuiltinCount, problem);
  const bool has_class = variant >= 0 && kKernels[kBuiltin[variant]].accuracy == problem.accuracy;
  const Accuracy of_types = accuracy_of(problem.type_a, problem.type_b);
  if (!has_class && problem.accuracy != of_types) {
    Problem plain = problem;
    plain.accuracy = of_types;
    return lookup(plain);
  }
  if (variant >= 0) found = Lookup{Match::builtin, &kKernels[kBuiltin[variant]], nullptr, false};
  return found;
}

}  // namespace gemm_tune_sm_90

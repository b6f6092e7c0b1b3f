// SPDX-License-Identifier: Apache-2.0
// The fixed parts of the exported header (choose/export_header.h), in their order: the tables of
// kernels and winners stand between kHeaderTypes and kHeaderFunctions.
//
// @ARCH@, @MAX_PARAMS@ and @MAX_VARIANTS@ are replaced. Constants; any thread.
#pragma once

#include <string_view>

namespace gemm_tune {

inline constexpr std::string_view kHeaderBegin =
    R"header(// SPDX-License-Identifier: Apache-2.0
// The best known GEMM kernels for @ARCH@, and their look-up by size. Made by gemm-tune
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
//   using namespace gemm_tune_@ARCH@;
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
// revision is `kernel_revision`) and an include path from there, for @ARCH@ with the macros
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

namespace gemm_tune_@ARCH@ {
)header";

inline constexpr std::string_view kHeaderTypes = R"header(
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
  Param params[@MAX_PARAMS@];
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
    return gemm_tune_@ARCH@::workspace_bytes(*this, p, sm_count);
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
  int variants[@MAX_VARIANTS@];
  int variant_count;
};

struct Lookup {
  Match match;
  const Kernel* kernel;  // legal for the problem that was asked for
  const Winner* winner;  // what it rests on, for exact and nearest
  // Not the winner itself: its predicated specialisation, because that is legal.
  bool is_specialisation;
};

)header";

inline constexpr std::string_view kHeaderFunctions = R"header(
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

)header";

}  // namespace gemm_tune

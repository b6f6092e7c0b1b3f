// SPDX-License-Identifier: Apache-2.0
// What a family tells about a config without compiling it: launch shape and cost, per CTA and per
// warp.
//
// Plain constexpr data, so that each family derives it beside its kernel from the same functions
// the kernel uses. search/model/static_model.h turns it into a time.
#pragma once

#include "core/launch/launch_arithmetic.h"
#include "core/types/signature.h"

namespace gemm_tune {

// What a CTA loads of an operand by wgmma in a step of tile_k: boxes, whose rows may reach beyond
// the tile.
struct BoxLoads {
  int rows = 0;         // of all boxes
  int row_bytes = 128;  // of each
  int ctas = 1;         // of a cluster, that have them in common
};

struct Traits {
  int threads = 0;                 // per CTA
  int tile_m = 0, tile_n = 0;      // C elements per CTA
  int tile_k = 1;                  // K elements between two barriers; 1 where there is no barrier
  int thread_m = 1, thread_n = 1;  // C elements per thread
  int threads_along_k = 1;         // threads of a CTA that share these elements along K
  int smem_bytes = 0;              // dynamic shared memory per CTA
  int stages = 1;                  // slices in shared memory, all but one of them on their way
  int slices_in_registers = 0;     // further ones on their way
  int split_k = 1;                 // CTAs that share one tile along K
  int serial_shares = 1;           // shares along K that a CTA computes one after another
  int cluster_ctas = 1;            // CTAs of a thread-block cluster, which needs sm_90 above 1
  BoxLoads loads_a, loads_b;       // of families whose operands are loaded as they lie
  int tail_ctas_per_sm = 0;        // above 0: so many CTAs per SM share a ragged last wave
  int kept_sixteenths = 0;    // of the larger operand: they stay in the L2 from launch to launch
  bool transposed_a = false;  // A is stored [K,M]
  bool transposed_b = false;  // B is stored [N,K]
  bool async_copy = false;    // needs cp.async, that is sm_80
  int least_sm = 0;           // the oldest architecture that has its instructions: 80 for sm_80
  int only_sm = 0;            // not 0: the only one; 90 where sm_90a, not sm_90, has them
  int deeper_sm = 0;    // not 0: the oldest with an instruction for two of its multiplications
  Signature signature;  // the only one that the kernel serves
  BatchKind batch_kind = BatchKind::strided;  // likewise
  int vec = 1;   // elements per global access; the alignment class it needs
  int vecs = 0;  // Specialisation::vecs
  int alignment_ab = 0, alignment_cd = 0;  // not 0: of A and B, of C and D, whatever vec is
  bool repack = false;      // a launch before copies A and B where the kernel needs that
  bool pack = false;        // a launch before copies A or B in any case, to lines along K
  bool reduce = false;      // a launch after adds up the shares of tiles
  bool predicated = false;  // legal for any shape; otherwise for multiples of the tile only
  // Where predicated all the same: so that no vector access is cut in two by a matrix edge.
  int vector_multiple_m = 1, vector_multiple_n = 1, vector_multiple_k = 1;
  // Per thread, before compiling, where nothing presses the compiler; __launch_bounds__ caps it.
  int registers_estimate = 0;
  // Whether the learned correction of the model's times (search/model/learned_correction.h) is for
  // the family: it says nothing true of kernels that it was not fitted to.
  bool is_corrected = false;
  int least_ctas_per_sm = 1;  // for which __launch_bounds__ makes it keep registers

  // Cost of the main loop, bank conflicts counted from the kernel's own addresses (cost.h). A
  // wavefront is one pass of one warp through the L1/shared-memory pipe: at most 128 bytes. One k
  // step is one column of A times one row of B.
  //
  // Loads per warp that feed the FFMAs of one k step, after the compiler merged neighbours; from
  // shared memory, or from global memory where reads_global_in_inner_loop.
  double feed_instructions_per_k = 0;
  double feed_wavefronts_per_k = 0;
  // Per warp: global loads and shared stores that bring one slice of tile_k into shared memory. A
  // global load counts one wavefront per 128-byte line that it touches.
  double fill_instructions_per_tile_k = 0;
  double fill_wavefronts_per_tile_k = 0;
  // Some of a slice's copies are not made by cp.async: they wait in registers until the slice
  // before them has been read.
  bool copies_wait = false;
  bool feeds_ahead = false;  // a k step's feeds are loaded while the one before is multiplied
  double other_instructions_per_k = 0;  // per warp: loop and address arithmetic, predicates
  int barriers_per_tile_k = 0;
  // Per CTA, after the main loop: what adding up the sums of threads_along_k threads takes.
  double end_wavefronts = 0;
  int end_barriers = 0;
  int unrolled_k = 1;  // k steps in the code of the main loop, one after the other
  // Above 0: multiplies by wgmma, whose instructions have 64 rows and so many columns. CTAs then
  // stay for several tiles and load by TMA.
  int warpgroup_columns = 0;
  int promoted_k = 0;              // above 0: k whose sums are added in fp32 at once
  bool alternates = false;         // two warpgroups: one stores a tile while the other multiplies
  bool stores_transposed = false;  // its instructions' rows are columns of D
  bool cuts_tiles = false;         // those of a ragged last wave, along K (persistent_ctas.h)
  bool reads_global_in_inner_loop = false;  // no shared memory: feeds come from L1, L2 or DRAM
};

// Whether the architecture of this number (80 for sm_80) has the kernel's instructions.
constexpr bool has_instructions(const Traits& traits, int sm) {
  return sm >= traits.least_sm && (traits.only_sm == 0 || traits.only_sm == sm);
}

}  // namespace gemm_tune

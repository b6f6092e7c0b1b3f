// SPDX-License-Identifier: Apache-2.0
#include "search/model/warpgroup_cycles.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "core/types/parts.h"
#include "search/model/main_loop.h"

namespace gemm_tune {
namespace {

constexpr double kInstructionRows = 64;
constexpr double kAdditionsPerCycle = 128;   // of an SM, in fp32
constexpr double kScatteredFactor = 3;       // bytes that move for each that is stored
constexpr int kSingleConsumerThreads = 160;  // one warpgroup and the producer's warp

// Tiles of clusters.
std::int64_t cluster_tiles(const Traits& traits, const Problem& problem) {
  const auto along = [](std::int64_t extent, int tile, int ctas) {
    return (extent + tile * ctas - 1) / (tile * ctas);
  };
  // Those that share A's rows lie along N.
  return along(problem.M, traits.tile_m, traits.loads_b.ctas) *
         along(problem.N, traits.tile_n, traits.loads_a.ctas) * problem.batch;
}

// What the busiest of the workers, which are clusters, has to do.
struct Share {
  double tiles = 0;  // whole ones
  CutTiles cut;      // of which it has a part, where there are any
};

Share share_of_busiest(const Traits& traits, const Problem& problem, int sm_count) {
  const CutTiles cut = cut_tiles(traits, problem, sm_count);
  const double tiles =
      static_cast<double>(cluster_tiles(traits, problem)) - static_cast<double>(cut.tiles);
  return {std::ceil(tiles / clusters_at_once(sm_count, traits.cluster_ctas)), cut};
}

// Lines of the L2 that a box's row touches in the mean, where rows lie so many bytes apart.
double touched_lines(int box_bytes, std::int64_t row_bytes) {
  const std::int64_t step = std::gcd(row_bytes, kL2LineBytes);  // of the places where rows begin
  return 1 + std::max<double>(0, static_cast<double>(box_bytes - step)) / kL2LineBytes;
}

// What a step asks of the L2: a line for each row of a box, however short, or more where it lies in
// several, but for copies, whose rows are whole lines. What a cluster has in common is asked once.
double asked_cycles(const Traits& traits, const Problem& problem, const ModelConstants& constants) {
  const bool reads_copies = traits.pack || traits.repack;
  const auto lines = [&](const BoxLoads& loads, std::int64_t length, ElementType type) {
    const double of_row =
        reads_copies ? 1 : touched_lines(loads.row_bytes, length * bytes_of(type));
    return of_row * loads.rows / loads.ctas;
  };
  return (lines(traits.loads_a, row_length_a(problem), traits.signature.a) +
          lines(traits.loads_b, row_length_b(problem), traits.signature.b)) *
         kL2LineBytes / constants.tma_bytes_per_cycle;
}

// While one consumer adds sums in fp32, another one of the same tile multiplies.
double with_promotion(double cycles, const Traits& traits, const ModelConstants& constants) {
  if (traits.promoted_k == 0) return cycles;
  const double area = static_cast<double>(traits.tile_m) * traits.tile_n;
  const double promote = area / kAdditionsPerCycle * traits.tile_k / traits.promoted_k;
  const bool is_shared = traits.threads > kSingleConsumerThreads && !traits.alternates;
  return is_shared ? overlapped(cycles, promote, constants.warpgroup_exponent) : cycles + promote;
}

double step_cycles(const WarpgroupStep& step, double load, const Traits& traits,
                   const ModelConstants& constants) {
  const double p = constants.warpgroup_exponent;
  return with_promotion(overlapped(overlapped(step.multiply, step.smem, p), load, p), traits,
                        constants);
}

// Of a tile's shares along K that a CTA has, the sums of each but the first are added to those
// before.
double share_cycles(const Traits& traits) {
  const double area = static_cast<double>(traits.tile_m) * traits.tile_n;
  return (traits.serial_shares - 1) * area / kAdditionsPerCycle;
}

// The parts' sums on their way to the workspace, and the launch that adds them up on all SMs.
double cut_cycles(const Share& share, const Traits& traits, int sm_count,
                  const ModelConstants& constants) {
  if (share.cut.tiles == 0) return 0;
  const double part_bytes = static_cast<double>(traits.tile_m) * traits.tile_n * kSumBytes;
  const double parts = share.cut.parts;
  const double all_bytes = static_cast<double>(share.cut.tiles) * traits.cluster_ctas /
                           traits.split_k * parts * part_bytes;
  return part_bytes / constants.l2_bytes_per_cycle_per_sm + constants.reduction_launch_cycles +
         std::ceil(parts / constants.reduced_at_once) * constants.l2_latency_cycles +
         all_bytes / (constants.l2_bytes_per_cycle_per_sm * sm_count);
}

}  // namespace

CutTiles cut_tiles(const Traits& traits, const Problem& problem, int sm_count) {
  if (!traits.cuts_tiles) return {};
  return cut_tiles(cluster_tiles(traits, problem), clusters_at_once(sm_count, traits.cluster_ctas),
                   (problem.K + traits.tile_k - 1) / traits.tile_k);
}

WarpgroupStep warpgroup_step(const Traits& traits, const ModelConstants& constants) {
  const Signature& types = traits.signature;
  const double element_bytes = bytes_of(types.a);
  const double area = static_cast<double>(traits.tile_m) * traits.tile_n;
  const double columns = traits.warpgroup_columns, rows = area / columns, depth = traits.tile_k;
  // Of one step of tile_k. Operands of f32 that are split come as parts. Tensor cores multiply so
  // many bytes a cycle, whatever the type.
  const bool is_split = info_of(types.accuracy).parts > 1;
  const int products = products_of(types);
  const double read_bytes = is_split ? kPartBytes : element_bytes;
  const auto loaded_bytes = [&](ElementType type) { return parts_of(types, type) * read_bytes; };
  WarpgroupStep step;
  step.multiply = products * area * depth * (read_bytes / kRatedBytes) /
                  constants.tensor_multiplications_per_cycle;
  step.smem = products * rows / kInstructionRows * (kInstructionRows + columns) * depth *
              read_bytes / constants.smem_bytes_per_cycle;
  const BoxLoads &a = traits.loads_a, &b = traits.loads_b;
  const double bytes =
      a.rows > 0 ? a.rows * a.row_bytes + b.rows * b.row_bytes
                 : (rows * loaded_bytes(types.a) + columns * loaded_bytes(types.b)) * depth;
  step.load = bytes / constants.tma_bytes_per_cycle;
  step.total = step_cycles(step, step.load, traits, constants);
  return step;
}

WarpgroupCycles warpgroup_cycles(const Traits& traits, const WarpgroupStep& step,
                                 const Problem& problem, int sm_count,
                                 const ModelConstants& constants) {
  const double d_bytes = bytes_of(traits.signature.d);
  const double area = static_cast<double>(traits.tile_m) * traits.tile_n;

  const Share share = share_of_busiest(traits, problem, sm_count);
  const double tiles = share.tiles + (share.cut.tiles > 0 ? 1 : 0);
  const double k_steps = std::ceil(static_cast<double>(problem.K) / traits.tile_k);
  const double part_steps = share.cut.tiles > 0 ? std::ceil(k_steps / share.cut.parts) : 0;
  const double steps = share.tiles * std::ceil(k_steps / traits.split_k) + part_steps;
  // Sums stored as columns are accesses of one element where no buffer turns them.
  const bool is_scattered = traits.stores_transposed && d_bytes == kSumBytes;
  const double store = area / traits.split_k * d_bytes * (is_scattered ? kScatteredFactor : 1) /
                       constants.l2_bytes_per_cycle_per_sm;
  // CTAs that share a tile along K end with it; others stay for the next one.
  const bool shares_tiles = traits.split_k > 1;
  const double ends = shares_tiles ? std::max(1.0, tiles) : 1;
  const double gaps = shares_tiles || traits.alternates ? 0 : std::max(0.0, tiles - 1);
  WarpgroupCycles cycles;
  cycles.multiply = steps * step.multiply;
  cycles.smem = steps * step.smem;
  const double asked = asked_cycles(traits, problem, constants);
  cycles.load = steps * std::max(step.load, asked);
  cycles.total =
      steps * (asked > step.load ? step_cycles(step, asked, traits, constants) : step.total) +
      ends * constants.warpgroup_edge_cycles + (ends + gaps) * store +
      share.tiles * share_cycles(traits);
  if (traits.cluster_ctas > 1) cycles.total += constants.cluster_launch_cycles;
  if (shares_tiles) {
    const double brought_bytes = (1.0 - 1.0 / traits.split_k) * area * kSumBytes;
    cycles.total += ends * brought_bytes / constants.l2_bytes_per_cycle_per_sm;
  }
  cycles.total += cut_cycles(share, traits, sm_count, constants);
  if (shares_tiles) cycles.slowdown *= constants.shared_tile_factor;
  if (share.cut.tiles > 0 && share.tiles == 0) cycles.slowdown *= constants.cut_tiles_factor;
  if (traits.cluster_ctas > traits.split_k) cycles.slowdown *= constants.shared_loads_factor;
  return cycles;
}

}  // namespace gemm_tune

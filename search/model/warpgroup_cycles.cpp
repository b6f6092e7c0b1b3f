// SPDX-License-Identifier: Apache-2.0
#include "search/model/warpgroup_cycles.h"

#include <algorithm>
#include <cmath>

#include "search/model/main_loop.h"

namespace gemm_tune {
namespace {

constexpr double kInstructionRows = 64, kInstructionDepth = 16;
constexpr double kScatteredFactor = 3;       // bytes that move for each that is stored
constexpr double kStreamedArea = 128 * 128;  // that of ModelConstants::streamed_sums_cycles
constexpr double kPartBytes = 2;             // of an element of a split operand's part
constexpr int kSingleConsumerThreads = 160;  // one warpgroup and the producer's warp

// Tiles that the busiest of the workers, which are clusters, multiplies.
double tiles_of_busiest(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                        const ModelConstants& constants) {
  const double sharing = static_cast<double>(traits.cluster_ctas) / traits.split_k;
  const double tiles = std::ceil(static_cast<double>(problem.M) / traits.tile_m) *
                       std::ceil(static_cast<double>(problem.N) / traits.tile_n) *
                       static_cast<double>(problem.batch) / sharing;
  const double sms = reached_sms(device.sm_count, traits.cluster_ctas, constants);
  const double each = tiles / std::max(1.0, std::floor(sms / traits.cluster_ctas));
  return traits.streams_k && each > 1 ? each : std::ceil(each);
}

}  // namespace

WarpgroupCycles warpgroup_cycles(const Traits& traits, const Problem& problem,
                                 const DeviceSpec& device, const ModelConstants& constants) {
  const double element_bytes = bytes_of(traits.signature.a), d_bytes = bytes_of(traits.signature.d);
  const double area = static_cast<double>(traits.tile_m) * traits.tile_n;
  const double columns = traits.warpgroup_columns, rows = area / columns, depth = traits.tile_k;
  const double instructions = rows / kInstructionRows * depth / kInstructionDepth;
  // Of one step of tile_k. Operands of f32 come as parts, which take as many bytes.
  const AccuracyInfo& accuracy = info_of(traits.signature.accuracy);
  const double part_bytes = accuracy.operands == OperandKind::f32 ? kPartBytes : element_bytes;
  const double multiply =
      accuracy.products * area * depth / constants.tensor_multiplications_per_cycle;
  const double smem = accuracy.products * instructions * (kInstructionRows + columns) *
                      kInstructionDepth * part_bytes / constants.smem_bytes_per_cycle;
  const double load = (rows + columns) * depth * element_bytes / constants.tma_bytes_per_cycle;
  const double p = constants.warpgroup_exponent;
  const double step = overlapped(overlapped(multiply, smem, p), load, p);

  const double tiles = tiles_of_busiest(traits, problem, device, constants);
  const double k_steps = std::ceil(static_cast<double>(problem.K) / depth);
  const double steps = tiles * std::ceil(k_steps / traits.split_k);
  // Sums stored as columns are accesses of one element where no buffer turns them.
  const bool is_scattered = traits.stores_transposed && d_bytes == kSumBytes;
  const double store = area / traits.split_k * d_bytes * (is_scattered ? kScatteredFactor : 1) /
                           constants.l2_bytes_per_cycle_per_sm +
                       (traits.stores_transposed ? constants.transposed_store_cycles : 0);
  // CTAs that share a tile along K end with it; others stay for the next one.
  const bool shares_tiles = traits.split_k > 1;
  const double ends = shares_tiles ? std::max(1.0, tiles) : 1;
  const double gaps = shares_tiles || traits.alternates ? 0 : std::max(0.0, tiles - 1);
  WarpgroupCycles cycles;
  cycles.multiply = steps * multiply;
  cycles.smem = steps * smem;
  cycles.load = steps * load;
  cycles.total = steps * step + ends * (constants.warpgroup_edge_cycles + store) +
                 gaps * (constants.warpgroup_gap_cycles + store);
  if (traits.threads > kSingleConsumerThreads) cycles.total += constants.setmaxnreg_cycles;
  if (traits.cluster_ctas > 1) cycles.total += constants.cluster_launch_cycles;
  if (shares_tiles) {
    const double brought_bytes = (1.0 - 1.0 / traits.split_k) * area * kSumBytes;
    cycles.total +=
        ends * (constants.cluster_sum_cycles + brought_bytes / constants.l2_bytes_per_cycle_per_sm);
  }
  if (traits.streams_k) cycles.total += constants.streamed_sums_cycles * area / kStreamedArea;
  if (shares_tiles || traits.streams_k) cycles.slowdown *= constants.shared_tile_factor;
  if (traits.cluster_ctas > traits.split_k) cycles.slowdown *= constants.shared_loads_factor;
  return cycles;
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// What was learned of the static model's errors: by which factor configs take longer than the model
// says, by gradient-boosted regression trees (Friedman, "Greedy Function Approximation: A Gradient
// Boosting Machine", 2001) over what the model knows of a config and a problem.
//
// The model counts; the trees know what its counts miss on one architecture. bench/search/
// fit_correction.py fits them to times and writes them. Pure, some 0.4 microseconds; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gemm_tune {

// What the trees read; a split names a feature by its place here. Shares are of the model's time.
inline constexpr std::array<std::string_view, 36> kCorrectionFeatures = {
    "log_us",          // the natural logarithm of the model's time in microseconds
    "multiply_share",  // FFMAs
    "issue_share",     // issue slots
    "l1_share",        // L1 and shared memory
    "l2_share", "dram_share",
    // As in Traits:
    "cluster_ctas", "tail_ctas_per_sm", "split_k", "copies_wait", "registers_estimate", "vec",
    "stages", "threads", "threads_along_k", "tile_m", "tile_k", "thread_n", "unrolled_k",
    "predicated", "transposed_a", "transposed_b", "feed_instructions_per_k",
    "other_instructions_per_k",
    "vec_cd",           // elements per access of C and D
    "fill_loads",       // global loads and shared stores of a slice for each 1000 steps of a warp
    "fill_wavefronts",  // likewise
    "ctas_per_sm",      // resident
    "ctas_of_sm",       // all, in the mean
    "waves",
    "last_wave",    // the part of it that is full
    "tiles_of_sm",  // of C, in the mean
    "slices",       // K slices of a whole tile's CTA
    "edge_m",       // rows of all tiles over those of D
    "edge_n",       // likewise columns
    "log_batch"};
using CorrectionFeatures = std::array<float, kCorrectionFeatures.size()>;

// Splits of depth 0 first, each followed by its two of the next depth in the same order.
struct CorrectionTree {
  static constexpr std::size_t kDepth = 4;
  std::array<std::uint8_t, (1 << kDepth) - 1> feature;
  std::array<float, (1 << kDepth) - 1> most;  // a feature of at most this goes left
  std::array<float, 1 << kDepth> value;       // of a logarithm
};

// No correction is smaller or greater. Of a timed config in a hundred the trees say less.
inline constexpr double kLeastCorrection = 0.8, kMostCorrection = 2;

// The factor by which a config is expected to take longer than the model says.
double correction(std::span<const CorrectionTree> trees, const CorrectionFeatures& features);

// Of fp32 kernels on sm_90, of the families that Traits::is_corrected tells.
std::span<const CorrectionTree> correction_of_sm_90();

}  // namespace gemm_tune

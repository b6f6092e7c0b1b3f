// SPDX-License-Identifier: Apache-2.0
// The family mma as the host sees it: cost and search space.
#include "kernel_templates/family.h"

#include "core/types/signature.h"
#include "kernel_templates/cost.h"
#include "kernel_templates/mma/params.cuh"
#include "kernel_templates/registry/families.h"

namespace gemm_tune::mma {
namespace {

// Sums, blocks of two k steps, the words of a slice on its way, its chunks' addresses, the rest. Of
// 843 kernels of searches for sm_75, 80, 86 and 89 (CUDA 13.0) that do not spill, half take within
// 8 of 6 less, 5 % over 16 more; 56 of 104 that spill are not compiled by it, and 10 others.
int expected_registers(const Params& p) {
  const int staged = is_async(p) ? 0 : copied_chunks(p) * kChunkWords;
  return sum_registers(p) + 2 * (p.WM + p.WN) / kBlock * 4 + staged + 2 * copied_chunks(p) +
         (p.PRED != 0 ? 46 : 34);
}

static_assert(static_cast<int>(Accuracy::tf32) == kTf32 &&
              static_cast<int>(Accuracy::sums_fp32) == kSumsFp32 &&
              static_cast<int>(Accuracy::sums_fp16) == kSumsFp16);
static_assert(2 * block_depth(2) == info_of(Accuracy::sums_fp16).promoted_each);
constexpr double kPromotion = 2;  // instructions that add a sum of fp16 in fp32
constexpr double kRounding = 2;   // instructions that round an element to tf32 (NVRTC 13.0)

Traits traits(const Params& p) {
  Traits t =  // a thread has, of each 16 x 8 part of its warp's tile, two rows and two columns
      tile_traits({p.BM, p.BN, p.BK, p.WM / 8, p.WN / 4}, threads(p), smem_bytes(p));
  t.signature = signature_of(static_cast<ElementType>(p.AB), static_cast<ElementType>(p.CD));
  t.signature.accuracy = static_cast<Accuracy>(p.ACCURACY);
  const bool is_f32 = info_of(t.signature.accuracy).operands == OperandKind::f32;
  if (promotes(p)) t.promoted_k = info_of(t.signature.accuracy).promoted_each;
  const bool has_instruction_of_sm_75 = p.AB == kTypeF16 && p.MMA_K == 8;
  t.least_sm = p.CLUSTER != 0 ? 90 : !has_instruction_of_sm_75 || is_async(p) ? 80 : 75;
  t.deeper_sm = has_instruction_of_sm_75 ? 80 : 0;
  t.async_copy = is_async(p);
  t.stages = p.STAGES;
  t.vec = p.VEC;
  t.predicated = p.PRED != 0;
  t.repack = p.REPACK != 0;
  t.batch_kind = static_cast<BatchKind>(p.POINTERS);
  t.vecs = p.VECS;
  t.split_k = p.SPLIT_K;
  t.cluster_ctas = cluster_ctas(p);
  t.transposed_a = p.TA != 0;
  t.transposed_b = p.TB != 0;
  t.feeds_ahead = true;
  t.barriers_per_tile_k = 1;
  t.unrolled_k = p.BK;
  t.registers_estimate = expected_registers(p);
  // Every access of a warp moves 512 bytes but the narrow ones from global memory, which touch as
  // many: lanes are a chunk apart.
  const double depth = block_depth(element_bytes(p));
  const int blocks_m = p.WM / kBlock, blocks_n = p.WN / kBlock;
  const auto loads = [&](bool along_k) {
    return chunk_reads(element_bytes(p), along_k) == ChunkReads::eight_rows ? 1 : 4;
  };
  t.feed_instructions_per_k =
      (blocks_m * loads(a_along_k(p)) + blocks_n * loads(b_along_k(p))) / depth;
  t.feed_wavefronts_per_k = 4 * (blocks_m + blocks_n) / depth;
  const int chunks = copied_chunks(p);  // of a thread
  const VectorWidths widths = access_widths(p);
  const int accesses =
      chunk_elements(element_bytes(p)) / min_of(widths.a, widths.b) + (is_async(p) ? 0 : 1);
  t.fill_instructions_per_tile_k = chunks * accesses;
  t.fill_wavefronts_per_tile_k = 4 * t.fill_instructions_per_tile_k;
  // By counts in the SASS of 14 main loops for sm_90 (CUDA 13.0).
  t.other_instructions_per_k = (20.0 + 4.0 * p.BK / depth + 3.0 * chunks) / p.BK;
  if (is_f32) t.other_instructions_per_k += kRounding * 4 * (blocks_m + blocks_n) / depth;
  if (promotes(p)) t.other_instructions_per_k += kPromotion * sums_per_thread(p) / t.promoted_k;
  return t;
}

// Chosen greedily for sm_90 by the model alone, from 6,000 configs: over 400 random problems their
// least time is 4 % above that over all of them, 34 % at most. The last two are for architectures
// without clusters.
std::vector<std::vector<int>> representatives() {
  constexpr int kValues[][8] = {
      // BM BN BK WM WN STAGES SPLIT_K CLUSTER
      {64, 64, 32, 32, 32, 5, 1, 0},   {64, 128, 32, 64, 32, 5, 8, 1},
      {128, 128, 32, 64, 64, 5, 1, 0}, {32, 32, 64, 16, 32, 5, 1, 0},
      {32, 32, 64, 32, 16, 5, 8, 1},   {64, 128, 32, 32, 64, 4, 1, 0},
      {256, 96, 32, 64, 48, 4, 2, 1},  {128, 96, 32, 64, 48, 3, 8, 1},
      {128, 256, 32, 64, 64, 3, 1, 0}, {128, 96, 64, 64, 48, 5, 2, 1},
      {32, 96, 32, 32, 48, 5, 8, 1},   {64, 128, 32, 64, 32, 4, 2, 1},
      {16, 16, 128, 16, 16, 4, 1, 0},  {128, 256, 32, 64, 64, 3, 2, 1},
      {64, 128, 32, 64, 32, 5, 8, 0},  {32, 32, 64, 32, 16, 5, 8, 0},
  };
  std::vector<std::vector<int>> all;
  for (const auto& [bm, bn, bk, wm, wn, stages, split_k, cluster] : kValues) {
    all.push_back(values_of(Params{.AB = kTypeBf16,
                                   .CD = static_cast<int>(kSumType),
                                   .BM = bm,
                                   .BN = bn,
                                   .BK = bk,
                                   .WM = wm,
                                   .WN = wn,
                                   .MMA_K = 16,
                                   .STAGES = stages,
                                   .ASYNC = 1,
                                   .VEC = 8,
                                   .RASTER = 8,
                                   .SPLIT_K = split_k,
                                   .TA = 0,
                                   .TB = 0,
                                   .PRED = 1,
                                   .CLUSTER = cluster}));
  }
  return all;
}

}  // namespace

// Every k step adds MMA_K products to the sums, in rising k. Shares along K end at multiples of BK,
// and up to so many are added up in their order, by a cluster or through the workspace.
std::optional<std::string> order_of_sums(Values values) {
  const Params p = params_of<Params>(values);
  if (p.SPLIT_K > kMostClusterCtas) return std::nullopt;
  std::string order = "MMA_K=" + std::to_string(p.MMA_K);
  if (p.SPLIT_K > 1) {
    order += ",SPLIT_K=" + std::to_string(p.SPLIT_K) + ",BK=" + std::to_string(p.BK);
  }
  return order;
}

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "mma", /*revision=*/5,
      "tensor cores by mma.sync, 16-bit operands or tf32, sums in fp32 or fp16",
      {{"AB",
        &Params::AB,
        {0, 1, 2},
        "type of A and B: 0 for f32, rounded to tf32, 1 for f16, 2 for bf16",
        Role::type_ab},
       {"CD", &Params::CD, {0, 1, 2}, "type of C and D: 0 for f32, else AB", Role::type_cd},
       tile_m_param("BM", &Params::BM, {16, 32, 64, 128, 256}),
       tile_n_param("BN", &Params::BN, {16, 32, 64, 96, 128, 256}),
       tile_k_param("BK", &Params::BK, {16, 32, 64, 128}),
       {"WM", &Params::WM, {16, 32, 64}, "warp tile rows"},
       {"WN", &Params::WN, {16, 32, 48, 64}, "warp tile columns"},
       {"MMA_K",
        &Params::MMA_K,
        {8, 16},
        "K elements of one instruction; 8 is what sm_75 has, and tf32"},
       stages_param("STAGES", &Params::STAGES, {2, 3, 4, 5}),
       {"ASYNC", &Params::ASYNC, {0, 1}, "1: cp.async brings slices; 0: registers do"},
       vector_width_param("VEC", &Params::VEC, {1, 2, 4, 8}),
       {"RASTER", &Params::RASTER, {8}, "tile rows walked side by side"},
       split_k_param("SPLIT_K", &Params::SPLIT_K, {1, 2, 4, 8}, "CTAs that share a tile"),
       transposed_a_param("TA", &Params::TA),
       transposed_b_param("TB", &Params::TB),
       predicated_param("PRED", &Params::PRED),
       repack_param("REPACK", &Params::REPACK),
       pointers_param("POINTERS", &Params::POINTERS),
       vector_widths_param("VECS", &Params::VECS),
       {"CLUSTER",
        &Params::CLUSTER,
        {0, 1},
        "1: the SPLIT_K CTAs of a tile form a cluster",
        Role::tunable,
        0},
       {"ACCURACY",
        &Params::ACCURACY,
        {kTf32, kSumsFp32, kSumsFp16},
        "accuracy class: 2 for tf32, of f32; 5 for sums in fp32; 6 for sums of f16 in fp16, added "
        "in fp32 every 32 k",
        Role::accuracy,
        kSumsFp32}},
      rules().list, &reject, &traits);
  family.is_fastest_at_widest_vec = true;
  family.representatives = representatives();
  // 64 x 64 tiles waste little on small edges. Without cp.async, and with instructions of depth 8,
  // f16 runs on sm_75 too.
  family.untuned = [](const Signature& signature, int sm) -> std::optional<std::vector<int>> {
    constexpr int kDepthBytes = 32;  // of the deepest instruction, of a row of A
    const int bytes = bytes_of(signature.a);
    const Params p{.AB = static_cast<int>(signature.a),
                   .CD = static_cast<int>(signature.d),
                   .BM = 64,
                   .BN = 64,
                   .BK = 32,
                   .WM = 32,
                   .WN = 32,
                   .MMA_K = sm >= 80 ? kDepthBytes / bytes : 8,
                   .STAGES = 2,
                   .ASYNC = 0,
                   .VEC = kWidestAccessBytes / bytes,
                   .RASTER = 8,
                   .SPLIT_K = 1,
                   .TA = 0,
                   .TB = 0,
                   .PRED = 1,
                   .ACCURACY = static_cast<int>(signature.accuracy)};
    if (reject(p) != nullptr) return std::nullopt;
    const Traits t = traits(p);
    const bool is_served = t.signature == signature && sm >= t.least_sm;
    return is_served ? std::optional(values_of(p)) : std::nullopt;
  };
  return family;
}

}  // namespace gemm_tune::mma

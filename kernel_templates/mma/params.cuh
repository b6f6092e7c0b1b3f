// SPDX-License-Identifier: Apache-2.0
// The parameters of mma (kernel.cuh), what follows from them, and the rules that they obey. Read by
// host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/copy/chunk_map.cuh"
#include "kernel_templates/device/element/element_type.cuh"
#include "kernel_templates/device/element/vector_widths.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::mma {

struct Params {
  int AB, CD, BM, BN, BK, WM, WN, MMA_K, STAGES, ASYNC, VEC, RASTER, SPLIT_K, TA, TB, PRED;
  int REPACK = 0, POINTERS = 0, VECS = 0, CLUSTER = 0, ACCURACY = 5;
};

// Numbers of accuracy classes (core/types/accuracy.h).
constexpr int kTf32 = 2, kSumsFp32 = 5, kSumsFp16 = 6;

// Whether sums are in fp16, which are added in fp32 every two k steps.
constexpr bool promotes(const Params& p) { return p.ACCURACY == kSumsFp16; }

constexpr int warps_n(const Params& p) { return p.BN / p.WN; }
constexpr int threads(const Params& p) { return 32 * (p.BM / p.WM) * warps_n(p); }

// Whether k runs along a stored row.
constexpr bool a_along_k(const Params& p) { return p.TA == 0; }
constexpr bool b_along_k(const Params& p) { return p.TB != 0; }
constexpr int element_bytes(const Params& p) { return type_bytes(p.AB); }
// Elements per access of each operand; cp.async brings both operands or neither, by 4 bytes or
// more.
constexpr VectorWidths access_widths(const Params& p) {
  if (p.VECS == 0) return {p.VEC, p.VEC, p.VEC};
  return vector_widths(p.VECS);
}
constexpr bool is_async(const Params& p) {
  return p.ASYNC != 0 && min_of(access_widths(p).a, access_widths(p).b) * element_bytes(p) >= 4;
}
constexpr int cluster_ctas(const Params& p) { return p.CLUSTER != 0 ? p.SPLIT_K : 1; }

// Elements of one stage; shared memory is taken in floats.
constexpr int stage_a(const Params& p) { return p.BM * p.BK; }
constexpr int stage_b(const Params& p) { return p.BN * p.BK; }
constexpr int smem_floats_a(const Params& p) {
  return p.STAGES * stage_a(p) * element_bytes(p) / 4;
}
constexpr int smem_floats_b(const Params& p) {
  return p.STAGES * stage_b(p) * element_bytes(p) / 4;
}
constexpr int sums_per_thread(const Params& p) { return p.WM * p.WN / 32; }
// Words of a thread's sums.
constexpr int sum_registers(const Params& p) {
  return sums_per_thread(p) * (promotes(p) ? 3 : 2) / 2;
}
// For the other CTAs of a cluster to read.
constexpr int smem_floats_sums(const Params& p) { return p.CLUSTER != 0 ? p.BM * p.BN : 0; }
constexpr int smem_bytes(const Params& p) {
  return (smem_floats_a(p) + smem_floats_b(p) + smem_floats_sums(p)) * 4;
}
// Chunks of a slice that a thread copies.
constexpr int copied_chunks(const Params& p) {
  const int chunks = p.BK / chunk_elements(element_bytes(p));
  return chunk_passes(p.BM, chunks, threads(p)) + chunk_passes(p.BN, chunks, threads(p));
}
constexpr int kChunkWords = 4;
// Words that a thread keeps of a slice on its way. With cp.async none; the specialisation with
// accesses of one element, which goes without, may spill them.
constexpr int staged_words(const Params& p) {
  return p.ASYNC != 0 ? 0 : copied_chunks(p) * kChunkWords;
}
// Sums, blocks of two k steps, and what addresses and counts were never seen to take less than.
constexpr int least_registers(const Params& p) {
  return sum_registers(p) + 2 * (p.WM + p.WN) / kBlock * 4 + staged_words(p) + 16;
}

constexpr bool is_width(int elements) {
  return elements == 1 || elements == 2 || elements == 4 || elements == 8;
}
// Whether VECS is 0 or has widths that differ, the least of which is VEC.
constexpr bool is_with_vec(const Params& p) {
  const VectorWidths widths = access_widths(p);
  if (p.VECS == 0) return true;
  return is_width(widths.a) && is_width(widths.b) && is_width(widths.cd) &&
         (widths.a != widths.b || widths.b != widths.cd) &&
         p.VEC == min_of(min_of(widths.a, widths.b), widths.cd);
}

constexpr auto rules() {
  return rules_of<Params>({
      {"C and D are of f32 or of the operands' type", "AB CD",
       [](const Params& p) { return p.CD != kTypeF32 && p.CD != p.AB; }},
      {"instructions of depth 8 are for f32 and f16, of depth 16 for f16 and bf16", "AB MMA_K",
       [](const Params& p) { return p.MMA_K == 8 ? p.AB == kTypeBf16 : p.AB == kTypeF32; }},
      {"a slice has an even number of k steps", "AB BK",
       [](const Params& p) { return p.BK % (2 * block_depth(element_bytes(p))) != 0; }},
      {"f32 is of the class tf32, f16 of sums_fp32 or sums_fp16, bf16 of sums_fp32", "AB ACCURACY",
       [](const Params& p) {
         if (p.AB == kTypeF32) return p.ACCURACY != kTf32;
         return p.ACCURACY != kSumsFp32 && (p.AB != kTypeF16 || p.ACCURACY != kSumsFp16);
       }},
      undivided_rows<Params>(),
      undivided_columns<Params>(),
      {"more than 512 threads per CTA", "BM BN WM WN",
       [](const Params& p) { return threads(p) > 512; }},
      {"registers hold no blocks beside the sums", "AB BM BN BK WM WN ASYNC ACCURACY",
       [](const Params& p) {
         return least_registers(p) > 255 || least_registers(p) * threads(p) > 65536;
       }},
      {"more than two stages need cp.async", "STAGES ASYNC",
       [](const Params& p) { return p.STAGES > 2 && p.ASYNC == 0; }},
      {kNoPointersToCopy, "REPACK POINTERS",
       [](const Params& p) { return p.REPACK != 0 && p.POINTERS != 0; }},
      {"VECS needs three digits of 1, 2, 4 and 8 that differ, VEC the least of them", "VEC VECS",
       [](const Params& p) { return !is_with_vec(p); }},
      {"accesses of A and B are of 16 bytes at most", "AB VEC VECS",
       [](const Params& p) {
         const VectorWidths widths = access_widths(p);
         return max_of(widths.a, widths.b) * element_bytes(p) > 16;
       }},
      {"VECS needs REPACK=0", "REPACK VECS",
       [](const Params& p) { return p.VECS != 0 && p.REPACK != 0; }},
      {kBadCluster, "SPLIT_K CLUSTER",
       [](const Params& p) {
         return p.CLUSTER != 0 && (p.SPLIT_K < 2 || p.SPLIT_K > kMostClusterCtas);
       }},
  });
}

constexpr bool is_block_multiple(int size) { return is_tile_size(size) && size % kBlock == 0; }

constexpr const char* reject(const Params& p) {
  if (p.AB < kTypeF32 || p.AB > kTypeBf16) return "AB must be 0 for f32, 1 for f16 or 2 for bf16";
  if (p.CD < kTypeF32 || p.CD > kTypeBf16) return "CD must be 0 for f32, 1 for f16 or 2 for bf16";
  if (!is_block_multiple(p.BM) || !is_block_multiple(p.BN) || !is_block_multiple(p.BK) ||
      !is_block_multiple(p.WM) || !is_block_multiple(p.WN))
    return "tile sizes must be multiples of 16 up to 1024";
  if (p.MMA_K != 8 && p.MMA_K != 16) return "MMA_K must be 8 or 16";
  if (!is_width(p.VEC)) return "VEC must be 1, 2, 4 or 8";
  if (p.VECS < 0 || p.VECS > 888) return "VECS must lie between 0 and 888";
  if (p.STAGES < 2 || p.STAGES > 8) return "STAGES must lie between 2 and 8";
  if (p.RASTER < 1 || p.RASTER > 64) return "RASTER must lie between 1 and 64";
  if (p.SPLIT_K < 1 || p.SPLIT_K > 1024) return "SPLIT_K must lie between 1 and 1024";
  if (!is_flag(p.ASYNC) || !is_flag(p.TA) || !is_flag(p.TB) || !is_flag(p.PRED) ||
      !is_flag(p.REPACK) || !is_flag(p.POINTERS) || !is_flag(p.CLUSTER))
    return "ASYNC, TA, TB, PRED, REPACK, POINTERS and CLUSTER must be 0 or 1";
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::mma

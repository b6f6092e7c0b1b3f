// SPDX-License-Identifier: Apache-2.0
// The parameters of mma_parts (kernel.cuh), what follows from them, and the rules that they obey.
// Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/copy/chunk_map.cuh"
#include "kernel_templates/device/parts/split_shape.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::mma_parts {

struct Params {
  int BM, BN, BK;  // CTA tile, and the depth of its slices
  int WM, WN;      // warp tile
  int MMA_K;       // depth of an instruction; with 8, which is what sm_75 has, no cp.async
  int STAGES;      // slices in shared memory
  int TA, TB;      // 1: A is stored [K,M]; B is stored [N,K]
  int ACCURACY = parts::kClassF16x3;  // of accuracy
  int TYPE_A = 0, TYPE_B = 0;         // one of A and B may be of the parts' type
};

constexpr int kPartBytes = 2;      // of an element of a part
constexpr int kPromotedEach = 32;  // k whose sums stay in the tensor cores
constexpr int kRaster = 8;         // rows of tiles that are walked side by side
constexpr int kDepth = block_depth(kPartBytes);
constexpr int kMostThreads = 512;

constexpr int parts_of(const Params& p) { return parts::parts_of(p.ACCURACY); }
constexpr int parts_of_a(const Params& p) { return parts::parts_of_type(p.TYPE_A, p.ACCURACY); }
constexpr int parts_of_b(const Params& p) { return parts::parts_of_type(p.TYPE_B, p.ACCURACY); }
constexpr bool are_both_split(const Params& p) { return parts_of_a(p) == parts_of_b(p); }
// Whether k runs along the rows that slices are copied from: of parts always.
constexpr bool a_along_k(const Params& p) { return p.TA == 0 || parts_of_a(p) > 1; }
constexpr bool b_along_k(const Params& p) { return p.TB != 0 || parts_of_b(p) > 1; }

constexpr bool is_async(const Params& p) { return p.MMA_K == 16; }
constexpr int warps_n(const Params& p) { return p.BN / p.WN; }
constexpr int threads(const Params& p) { return 32 * (p.BM / p.WM) * warps_n(p); }

// Elements of a part of an operand's slice.
constexpr int slice_a(const Params& p) { return p.BM * p.BK; }
constexpr int slice_b(const Params& p) { return p.BN * p.BK; }
constexpr int smem_floats_a(const Params& p) {
  return p.STAGES * parts_of_a(p) * slice_a(p) * kPartBytes / 4;
}
constexpr int smem_floats_b(const Params& p) {
  return p.STAGES * parts_of_b(p) * slice_b(p) * kPartBytes / 4;
}
constexpr int smem_bytes(const Params& p) { return (smem_floats_a(p) + smem_floats_b(p)) * 4; }

// Chunks of a slice's parts that a thread copies.
constexpr int copied_chunks(const Params& p) {
  const auto of_part = [&](int edge, bool along_k) {
    return chunk_passes(slice_rows(edge, p.BK, along_k),
                        slice_chunks(edge, p.BK, along_k, kPartBytes), threads(p));
  };
  return parts_of_a(p) * of_part(p.BM, a_along_k(p)) + parts_of_b(p) * of_part(p.BN, b_along_k(p));
}
constexpr int sums_per_thread(const Params& p) { return p.WM * p.WN / 32; }
// Sums and those since the last promotion; high parts of two k steps and other ones of one; of a
// slice on its way what cp.async does not bring.
constexpr int held_registers(const Params& p) {
  return 2 * sums_per_thread(p) + 3 * 4 * (p.WM + p.WN) / kBlock +
         (is_async(p) ? 0 : 4 * copied_chunks(p));
}
constexpr int kLeastOtherRegisters = 16;
// Of A, for the product in fp32 (device/parts/fp32_product.cuh).
constexpr int fp32_floats_of_a(const Params& p) { return 4 * threads(p); }

constexpr auto rules() {
  return rules_of<Params>({
      undivided_rows<Params>(),
      undivided_columns<Params>(),
      {"more than 512 threads per CTA", "BM BN WM WN",
       [](const Params& p) { return threads(p) > kMostThreads; }},
      {"a CTA's warps are a power of two", "BM BN WM WN",
       [](const Params& p) { return (threads(p) & (threads(p) - 1)) != 0; }},
      {"registers hold no blocks beside the sums",
       "BM BN BK WM WN MMA_K TA TB ACCURACY TYPE_A TYPE_B",
       [](const Params& p) {
         const int least = held_registers(p) + kLeastOtherRegisters;
         return least > 255 || least * threads(p) > 65536;
       }},
      {"bf16 parts need instructions of depth 16", "MMA_K ACCURACY",
       [](const Params& p) { return p.ACCURACY == parts::kClassBf16x6 && p.MMA_K != 16; }},
      {"more than two stages need cp.async", "MMA_K STAGES",
       [](const Params& p) { return p.STAGES > 2 && !is_async(p); }},
      {"slices of A are too small for the product in fp32", "BM BN BK WM WN STAGES ACCURACY TYPE_A",
       [](const Params& p) { return smem_floats_a(p) < fp32_floats_of_a(p); }},
      at_most_one_widened<Params>(),
      parts::other_type_than_parts<Params>(),
  });
}

constexpr bool is_block_multiple(int size) { return is_tile_size(size) && size % kBlock == 0; }

constexpr const char* reject(const Params& p) {
  if (!is_block_multiple(p.BM) || !is_block_multiple(p.BN) || !is_block_multiple(p.WM) ||
      !is_block_multiple(p.WN))
    return "tile sizes must be multiples of 16 up to 1024";
  if (p.BK != kPromotedEach && p.BK != parts::kPaddedK) return "BK must be 32 or 64";
  if (p.MMA_K != 8 && p.MMA_K != 16) return "MMA_K must be 8 or 16";
  if (p.STAGES < 2 || p.STAGES > 8) return "STAGES must lie between 2 and 8";
  if (!is_flag(p.TA) || !is_flag(p.TB)) return "TA and TB must be 0 or 1";
  if (p.ACCURACY != parts::kClassF16x3 && p.ACCURACY != parts::kClassBf16x6) {
    return "ACCURACY must be 3 or 4";
  }
  if (!is_widened_type(p.TYPE_A) || !is_widened_type(p.TYPE_B)) return kBadWidenedType;
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::mma_parts

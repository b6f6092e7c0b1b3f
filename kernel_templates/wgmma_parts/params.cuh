// SPDX-License-Identifier: Apache-2.0
// The parameters of wgmma_parts (kernel.cuh), what follows from them, and the rules that they obey.
// Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/parts/split_shape.cuh"
#include "kernel_templates/rules.h"
#include "kernel_templates/wgmma/params.cuh"

namespace gemm_tune::wgmma_parts {

using parts::kClassBf16x6;
using parts::kClassF16x3;

struct Params {
  int BM, BN;   // CTA tile
  int GROUPS;   // consumer warpgroups, which share the tile's rows
  int PROMOTE;  // k whose sums of high parts stay in the tensor cores before they are added in fp32
  int TA, TB;   // 1: A is stored [K,M]; B is stored [N,K]
  int ACCURACY = kClassF16x3;  // of accuracy
  int TYPE_A = 0, TYPE_B = 0;  // one of A and B may be of the parts' type
};

constexpr int kBK = parts::kPaddedK;  // of a stage: rows of 128 bytes, the widest swizzle
constexpr int kMmaM = 64;             // rows of an instruction
constexpr int kMmaK = 16;             // its depth
constexpr int kGroup = 128;           // threads of a warpgroup
constexpr int kBarrierBytes = 8;
constexpr int kMostSmemBytes = 232448;
constexpr int kAllRegisters = 65536;  // of an SM
constexpr int kMostStages = 8;

constexpr int parts_of(const Params& p) { return parts::parts_of(p.ACCURACY); }
constexpr int parts_of_a(const Params& p) { return parts::parts_of_type(p.TYPE_A, p.ACCURACY); }
constexpr int parts_of_b(const Params& p) { return parts::parts_of_type(p.TYPE_B, p.ACCURACY); }
constexpr bool are_both_split(const Params& p) { return parts_of_a(p) == parts_of_b(p); }
// Whether lines that are split lie across the rows.
constexpr bool has_lines_across(const Params& p) {
  return (p.TA != 0 && parts_of_a(p) > 1) || (p.TB == 0 && parts_of_b(p) > 1);
}

// Whether k runs along the rows that the copy engine reads: of parts always.
constexpr bool left_along_k(const Params& p) { return p.TA == 0 || parts_of_a(p) > 1; }
constexpr bool right_along_k(const Params& p) { return p.TB != 0 || parts_of_b(p) > 1; }

constexpr bool moves_registers(const Params& p) { return p.GROUPS > 1; }
constexpr int threads(const Params& p) {
  return p.GROUPS * kGroup + (moves_registers(p) ? kGroup : 32);
}

constexpr int group_rows(const Params& p) { return p.BM / p.GROUPS; }
constexpr int group_blocks(const Params& p) { return group_rows(p) / kMmaM; }

// Of a consumer's thread: sums in fp32, those of high parts since the last promotion, and those of
// high by low parts.
constexpr int sums_per_thread(const Params& p) { return 3 * group_blocks(p) * p.BN / 2; }

constexpr int part_bytes(int extent) { return extent * kBK * 2; }
constexpr int left_bytes(const Params& p) {
  return parts_of_a(p) * part_bytes(wgmma::loaded_extent(p.BM, left_along_k(p)));
}
constexpr int right_bytes(const Params& p) {
  return parts_of_b(p) * part_bytes(wgmma::loaded_extent(p.BN, right_along_k(p)));
}
constexpr int stage_bytes(const Params& p) { return left_bytes(p) + right_bytes(p); }
constexpr int stages(const Params& p) {
  return min_of((kMostSmemBytes - 2 * kMostStages * kBarrierBytes) / stage_bytes(p), kMostStages);
}
constexpr int smem_bytes(const Params& p) {
  return stages(p) * (stage_bytes(p) + 2 * kBarrierBytes);
}

// Of a consumer's thread.
constexpr int most_registers(const Params& p) { return p.GROUPS == 1 ? 255 : 232; }

constexpr auto rules() {
  return rules_of<Params>({
      {"BM is a multiple of 64 up to 256", "BM",
       [](const Params& p) { return p.BM % kMmaM != 0 || p.BM < kMmaM || p.BM > 256; }},
      {"BN is a multiple of 16 up to 256", "BN",
       [](const Params& p) { return p.BN % 16 != 0 || p.BN < 16 || p.BN > 256; }},
      {"1 or 2 consumers", "GROUPS", [](const Params& p) { return p.GROUPS < 1 || p.GROUPS > 2; }},
      {"consumers share a tile's rows in blocks of 64", "BM GROUPS",
       [](const Params& p) { return p.BM % (p.GROUPS * kMmaM) != 0; }},
      {"sums do not fit the registers", "BM BN GROUPS",
       [](const Params& p) { return sums_per_thread(p) > 216; }},
      // Every 16 k would need as many promotions as the classes' bounds count, which are to cover
      // the sums of the other products, too.
      {"sums are promoted every 32 or 64 k", "PROMOTE",
       [](const Params& p) { return p.PROMOTE != 32 && p.PROMOTE != 64; }},
      {"fewer than two stages fit the shared memory", "BM BN TA TB ACCURACY TYPE_A TYPE_B",
       [](const Params& p) { return stages(p) < 2; }},
      at_most_one_widened<Params>(),
      parts::other_type_than_parts<Params>(),
  });
}

constexpr const char* reject(const Params& p) {
  if (!is_flag(p.TA) || !is_flag(p.TB)) return "TA and TB must be 0 or 1";
  if (p.ACCURACY != kClassF16x3 && p.ACCURACY != kClassBf16x6) return "ACCURACY must be 3 or 4";
  if (!is_widened_type(p.TYPE_A) || !is_widened_type(p.TYPE_B)) return kBadWidenedType;
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::wgmma_parts

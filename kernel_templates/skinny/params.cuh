// SPDX-License-Identifier: Apache-2.0
// The parameters of skinny (kernel.cuh), what follows from them, and the rules that they obey. Read
// by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/element/element_type.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::skinny {

struct Params {
  int CLUSTER, BS, TL, WARPS, LANES_K, UNROLL, VEC, SPLIT_K, SKINNY_N, TA, TB, PRED;
  int REPACK = 0, KEEP = 0, STAGED_FIRST = 0, POINTERS = 0, TYPE_A = 0, TYPE_B = 0;
};

// The large operand streams: B, or A where N is skinny. The other one is staged.
constexpr bool streams_along_k(const Params& p) { return p.SKINNY_N != 0 ? p.TA == 0 : p.TB != 0; }
constexpr bool stages_along_k(const Params& p) { return p.SKINNY_N != 0 ? p.TB != 0 : p.TA == 0; }

constexpr int streamed_type(const Params& p) { return p.SKINNY_N != 0 ? p.TYPE_A : p.TYPE_B; }
constexpr int staged_type(const Params& p) { return p.SKINNY_N != 0 ? p.TYPE_B : p.TYPE_A; }

constexpr int threads(const Params& p) { return p.WARPS * 32; }
constexpr int cluster_ctas(const Params& p) { return p.CLUSTER != 0 ? p.SPLIT_K : 1; }
constexpr int lanes_l(const Params& p) { return 32 / p.LANES_K; }
constexpr int warps_l(const Params& p) { return streams_along_k(p) ? p.WARPS : 1; }
constexpr int warps_k(const Params& p) { return streams_along_k(p) ? 1 : p.WARPS; }
// The CTA tile along the long edge.
constexpr int tile_l(const Params& p) { return warps_l(p) * lanes_l(p) * p.TL; }
// A thread's share of one step of the CTA: TL by vec_k, in vectors along one of the two.
constexpr int vec_l(const Params& p) { return streams_along_k(p) ? 1 : p.VEC; }
constexpr int vec_k(const Params& p) { return streams_along_k(p) ? p.VEC : 1; }
constexpr int pieces(const Params& p) { return p.TL / vec_l(p); }
constexpr int step_k(const Params& p) { return warps_k(p) * p.LANES_K * vec_k(p); }
constexpr int group_k(const Params& p) { return step_k(p) * p.UNROLL; }
// K elements between two barriers: whole groups, more of them where they cost few registers on
// their way into shared memory.
constexpr int slice_k(const Params& p) {
  int k = group_k(p);
  while (k < 256 && 2 * k * p.BS <= 4 * threads(p)) k *= 2;
  return k;
}

// Floats between two rows of the staged slice, [K][BS] or [BS][K] so that a vector of it meets one
// of the stream. The padding frees the stores of a slice that is transposed on its way.
constexpr int kPad = 4;
constexpr int staged_ld(const Params& p) {
  if (streams_along_k(p)) return slice_k(p) + kPad;
  return p.BS < 4 ? p.BS : p.BS + kPad;
}
constexpr int staged_floats(const Params& p) {
  return streams_along_k(p) ? p.BS * staged_ld(p) : slice_k(p) * staged_ld(p);
}
// The same memory then takes sums, [warps_k][sum_rows][sum_ld]: all rows, or as many as fit 32 KiB.
constexpr int sum_ld(const Params& p) { return tile_l(p) + kPad; }
constexpr int sum_rows(const Params& p) {
  int rows = p.BS;
  while (rows > 1 && warps_k(p) * rows * tile_l(p) > 8192) rows /= 2;
  return rows;
}
constexpr int sum_floats(const Params& p) { return warps_k(p) * sum_rows(p) * sum_ld(p); }
constexpr int buffer_floats(const Params& p) {
  const int tile = p.CLUSTER != 0 ? p.BS * tile_l(p) : 0;  // for the others of a cluster to read
  return max_of(max_of(staged_floats(p), sum_floats(p)), tile);
}
constexpr int smem_bytes(const Params& p) {
  return smem_floats(buffer_floats(p)) * int(sizeof(float));
}

// Registers of a thread's loads under way.
constexpr int stream_registers(const Params& p) {
  return p.TL * vec_k(p) * p.UNROLL * type_bytes(streamed_type(p)) / 4;
}
// Of a step of it that has been widened.
constexpr int widened_registers(const Params& p) {
  return streamed_type(p) != kTypeF32 ? p.TL * vec_k(p) : 0;
}
// Registers of a thread, nearly: its sums, its loads under way, and the rest.
constexpr int registers(const Params& p) {
  const int other = (streams_along_k(p) ? 40 : 32) + (p.PRED != 0 ? 8 : 0);
  return other + p.BS * p.TL + stream_registers(p) + widened_registers(p);
}
constexpr int kSmRegisters = 65536;  // on every architecture
// A bound for the compiler, which otherwise spends registers on loads from shared memory far ahead,
// so that fewer warps have the stream under way. 20 warps with 96 registers each are enough.
constexpr int min_ctas_per_sm(const Params& p) {
  return max_of(1,
                min_of(kSmRegisters / (threads(p) * max_of(96, registers(p))), 512 / threads(p)));
}

constexpr auto rules() {
  return rules_of<Params>({
      {"thread tile holds more than 128 accumulators", "BS TL",
       [](const Params& p) { return p.BS * p.TL > 128; }},
      {"lanes lie along K where the large operand's rows do, and only there",
       "LANES_K SKINNY_N TA TB",
       [](const Params& p) { return (p.LANES_K > 1) != streams_along_k(p); }},
      {"vector access does not divide the thread tile", "TL VEC SKINNY_N TA TB",
       [](const Params& p) { return p.TL % vec_l(p) != 0; }},
      {"loads under way take more than 64 registers", "TL UNROLL VEC SKINNY_N TA TB TYPE_A TYPE_B",
       [](const Params& p) { return stream_registers(p) > 64; }},
      {"too few loads under way", "TL UNROLL SKINNY_N TA TB",
       [](const Params& p) { return p.TL * p.UNROLL < (streams_along_k(p) ? 4 : 16); }},
      {"CTA needs more registers than an SM has",
       "BS TL WARPS UNROLL VEC SKINNY_N TA TB TYPE_A TYPE_B",
       [](const Params& p) {
         Params predicated = p;
         predicated.PRED = 1;
         return threads(p) * registers(predicated) > kSmRegisters;
       }},
      {"slice of the small operand takes more than 16 registers per thread",
       "BS WARPS LANES_K UNROLL VEC SKINNY_N TA TB",
       [](const Params& p) { return p.BS * slice_k(p) > 16 * threads(p); }},
      {"CTA tile holds fewer than four elements", "BS TL WARPS LANES_K SKINNY_N TA TB",
       [](const Params& p) { return p.BS * tile_l(p) < 4; }},
      {kBadCluster, "CLUSTER SPLIT_K",
       [](const Params& p) {
         return p.CLUSTER != 0 && (p.SPLIT_K < 2 || p.SPLIT_K > kMostClusterCtas);
       }},
      {kNoPointersToCopy, "REPACK POINTERS",
       [](const Params& p) { return p.REPACK != 0 && p.POINTERS != 0; }},
      at_most_one_widened<Params>(),
      mixed_are_not_copied<Params>(),
  });
}

constexpr bool is_power_of_two(int value, int most) {
  return value >= 1 && value <= most && (value & (value - 1)) == 0;
}

constexpr const char* reject(const Params& p) {
  if (!is_power_of_two(p.BS, 32) || !is_power_of_two(p.TL, 32) || !is_power_of_two(p.WARPS, 32) ||
      !is_power_of_two(p.LANES_K, 32) || !is_power_of_two(p.UNROLL, 32))
    return "BS, TL, WARPS, LANES_K and UNROLL must be powers of two up to 32";
  if (p.VEC != 1 && p.VEC != 2 && p.VEC != 4) return "VEC must be 1, 2 or 4";
  if (p.SPLIT_K < 1 || p.SPLIT_K > 64) return "SPLIT_K must lie between 1 and 64";
  if (p.KEEP < 0 || p.KEEP > 16) return "KEEP must lie between 0 and 16";
  if (!is_flag(p.CLUSTER) || !is_flag(p.SKINNY_N) || !is_flag(p.TA) || !is_flag(p.TB) ||
      !is_flag(p.PRED) || !is_flag(p.REPACK) || !is_flag(p.STAGED_FIRST) || !is_flag(p.POINTERS))
    return "CLUSTER, SKINNY_N, TA, TB, PRED, REPACK, STAGED_FIRST and POINTERS must be 0 or 1";
  if (!is_widened_type(p.TYPE_A) || !is_widened_type(p.TYPE_B)) return kBadWidenedType;
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::skinny

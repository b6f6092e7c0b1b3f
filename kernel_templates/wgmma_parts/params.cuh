// SPDX-License-Identifier: Apache-2.0
// The parameters of wgmma_parts (kernel.cuh), what follows from them, and the rules that they obey.
// Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/element/element_type.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::wgmma_parts {

// Accuracy classes, by the numbers of Accuracy (core/types/accuracy.h).
constexpr int kClassF16x3 = 4, kClassBf16x6 = 5;

struct Params {
  int BM, BN;   // CTA tile
  int GROUPS;   // consumer warpgroups, which share the tile's rows
  int PROMOTE;  // k whose sums of high parts stay in the tensor cores before they are added in fp32
  int TA, TB;   // 1: A is stored [K,M]; B is stored [N,K]
  int ACCURACY = kClassF16x3;  // of accuracy
};

constexpr int kBK = 64;      // of a stage: rows of 128 bytes, the widest swizzle
constexpr int kMmaM = 64;    // rows of an instruction
constexpr int kMmaK = 16;    // its depth
constexpr int kGroup = 128;  // threads of a warpgroup
constexpr int kBarrierBytes = 8;
constexpr int kMostSmemBytes = 232448;
constexpr int kAllRegisters = 65536;  // of an SM
constexpr int kMostStages = 8;

// Parts of f16, which has few exponents, are those of scaled lines; parts of bf16 need no scale.
constexpr bool is_scaled(const Params& p) { return p.ACCURACY == kClassF16x3; }
constexpr int parts(const Params& p) { return is_scaled(p) ? 2 : 3; }
constexpr int part_type(const Params& p) { return is_scaled(p) ? kTypeF16 : kTypeBf16; }

// A line is a row of A or a column of B. Its largest magnitude is scaled to [2^14, 2^15), its low
// parts are 2^11 times as large as they count. Whatever it holds must keep 17 bits at least, which
// a number does down to 2^-33 of the largest one.
constexpr int kLargestExponent = 14, kMostScale = 126;
constexpr float kLowScale = 2048, kMostLost = 1.0f / (1 << 17);

// The products of parts beside that of both high ones, which are part 0. Those of less than 2^-22
// of a product are left out.
struct PartPair {
  int left, right;
};
constexpr PartPair kCrossProducts[] = {{1, 0}, {0, 1}, {2, 0}, {1, 1}, {0, 2}};
constexpr int cross_products(const Params& p) { return is_scaled(p) ? 2 : 5; }

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
constexpr int left_bytes(const Params& p) { return parts(p) * part_bytes(p.BM); }
constexpr int right_bytes(const Params& p) { return parts(p) * part_bytes(p.BN); }
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
      {"fewer than two stages fit the shared memory", "BM BN ACCURACY",
       [](const Params& p) { return stages(p) < 2; }},
  });
}

constexpr const char* reject(const Params& p) {
  if (!is_flag(p.TA) || !is_flag(p.TB)) return "TA and TB must be 0 or 1";
  if (p.ACCURACY != kClassF16x3 && p.ACCURACY != kClassBf16x6) return "ACCURACY must be 4 or 5";
  return first_broken(rules(), p);
}

// The kernels that split the operands: a CTA takes some lines. What of a line it keeps is read
// once.
constexpr int kMostSplitThreads = 512, kSplitCtas = 2;  // on an SM
constexpr int kChunk = 8;       // elements along K that a thread splits at once
constexpr int kKeptChunks = 4;  // that a thread keeps in registers
constexpr int kMostTeam = 256;  // threads

// Lines across the rows. Where they are scaled a CTA takes a sector of each row while it keeps all
// of the lines; longer ones, and those that are not scaled, are wide strips, whose K is dealt out
// over CTAs.
constexpr int kStrip = 8, kWideStrip = 32;
constexpr int kLinesOfThread = kKeptChunks;  // of a wide strip, a chunk of each
constexpr int kLanesAcross = kWideStrip / kLinesOfThread;
constexpr int kMostKeptK = kMostSplitThreads / 2 / kStrip * kChunk * kKeptChunks;
constexpr int kSplitCluster = 8;   // CTAs of a wide strip, where they are a cluster
constexpr int kMostShares = 1024;  // CTAs of a wide strip, where they are none

constexpr bool has_lines_across(const Params& p) { return p.TA != 0 || p.TB == 0; }

// Threads that take a line that lies along K: a warp at least, and so few that each has as many
// loads under way as it may keep.
constexpr int team_of(int K) {
  int threads = 32;
  while (threads < kMostTeam && threads * kChunk * kKeptChunks < K) threads *= 2;
  return threads;
}

// across: some of the lines that a launch splits lie across the rows.
constexpr bool splits_in_clusters(const Params& p, bool across, int K) {
  return is_scaled(p) && across && K > kMostKeptK;
}

constexpr int split_cluster(const Params& p, bool across, int K) {
  return splits_in_clusters(p, across, K) ? kSplitCluster : 1;
}

// Of a CTA: of a cluster's as many as keep the lines, if they can, in whole teams. Without a
// cluster short lines make few CTAs, of wide strips still fewer: these fill the SMs more evenly if
// they are small.
constexpr int split_threads(const Params& p, bool across, int K) {
  if (K <= kMostKeptK) return kMostSplitThreads / (across && !is_scaled(p) ? 4 : 2);
  if (!splits_in_clusters(p, across, K)) return kMostSplitThreads;
  const int team = team_of(K), of_cluster = team * kSplitCluster;
  return min_of((K - 1) / of_cluster * team + team, kMostSplitThreads);
}

// CTAs along the grid's y. A CTA of a wide strip keeps as many k as it has threads.
constexpr int split_shares(const Params& p, bool across, int K) {
  if (is_scaled(p) || !across || K == 0) return split_cluster(p, across, K);
  const int threads = split_threads(p, across, K);
  return min_of((K - 1) / threads + 1, kMostShares);
}

// Lines of a CTA, or of those that share a wide strip.
constexpr int split_lines(const Params& p, bool along_k, int K, int threads) {
  if (along_k) return threads / team_of(K);
  return is_scaled(p) && K <= kMostKeptK ? kStrip : kWideStrip;
}

// Warps' largest magnitudes; of wide strips also the CTA's and the scales.
constexpr int split_smem_bytes(const Params& p, bool across, int K) {
  const int warps = kMostSplitThreads / 32;
  return 4 * (splits_in_clusters(p, across, K) ? (warps + 2) * kWideStrip : warps * kStrip);
}

}  // namespace gemm_tune::wgmma_parts

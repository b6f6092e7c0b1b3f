// SPDX-License-Identifier: Apache-2.0
// The parts of an fp32 element, two of f16 or three of bf16, and how the launches that split
// operands are cut (split.cuh). Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/element/element_type.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::parts {

// Accuracy classes, by the numbers of Accuracy (core/types/accuracy.h).
constexpr int kClassF16x3 = 3, kClassBf16x6 = 4;
constexpr int parts_of(int accuracy) { return accuracy == kClassF16x3 ? 2 : 3; }

// Parts of f16, which has few exponents, are those of scaled lines; parts of bf16 need no scale.
constexpr bool is_scaled(int parts) { return parts == 2; }
constexpr int part_type(int parts) { return is_scaled(parts) ? kTypeF16 : kTypeBf16; }

// Of an operand: one of the parts' type, beside an operand of f32, is a part itself, not scaled.
constexpr int parts_of_type(int type, int accuracy) {
  return type == kTypeF32 ? parts_of(accuracy) : 1;
}

template <class Params>
constexpr Rule<Params> other_type_than_parts() {
  return {"an operand of 16 bits is of the parts' type", "ACCURACY TYPE_A TYPE_B",
          [](const Params& p) {
            const int type = p.TYPE_A != kTypeF32 ? p.TYPE_A : p.TYPE_B;
            return type != kTypeF32 && type != part_type(parts_of(p.ACCURACY));
          }};
}

// A line is a row of A or a column of B. Its largest magnitude is scaled to [2^14, 2^15), its low
// parts are 2^11 times as large as they count. Of numbers from kLeastScaled on, 2^-33 of the
// largest one and less, both parts keep 17 bits and the high one 6, which counts because products
// of low parts are left out. Smaller ones are lost, unless the high part is all of them.
constexpr int kLargestExponent = 14, kMostScale = 126;
constexpr float kLowScale = 2048, kLeastScaled = 1.0f / (1 << 19);

// Where both operands are split in two parts, elements of D on lines that lose numbers are computed
// in fp32, in place of all of D: a copy tells which lines these are.
constexpr bool are_lines_told(int parts_a, int parts_b) { return parts_a == 2 && parts_b == 2; }

// Of so many lines of an operand a few in any case, then one of kLinesOfLosing, may lose numbers.
// More would take longer than a plain product in fp32. kMostTold: two such numbers fit an int.
constexpr int kFewLosing = 8, kLinesOfLosing = 64, kMostTold = 0x7fff;
constexpr int most_losing(long long lines) {
  const long long few = lines / kLinesOfLosing + kFewLosing;
  return few < kMostTold ? static_cast<int>(few) : kMostTold;
}

// Of a copy of so many lines, of all matrices, behind their parts: factors, below 0 of scaled lines
// that lose numbers, and of scaled parts those lines, in any order, as long as they are no more
// than may be.
constexpr long long told_bytes(int parts, long long lines) {
  return 4 * (lines + (is_scaled(parts) ? most_losing(lines) : 0));
}

// Lines of parts lie along K, padded by zeros to multiples of this.
constexpr int kPaddedK = 64;

// The products of parts beside that of both high ones, which are part 0. Those of less than 2^-22
// of a product are left out.
struct PartPair {
  int left, right;
};
constexpr PartPair kCrossProducts[] = {{1, 0}, {0, 1}, {2, 0}, {1, 1}, {0, 2}};

// Those that operands of so many parts have.
struct CrossProducts {
  int count = 0;
  PartPair pairs[sizeof(kCrossProducts) / sizeof(PartPair)]{};
};
constexpr CrossProducts cross_products(int left_parts, int right_parts) {
  const int lowest = max_of(left_parts, right_parts) - 1;
  CrossProducts made;
  for (const PartPair& pair : kCrossProducts) {
    const bool exists = pair.left < left_parts && pair.right < right_parts;
    if (exists && pair.left + pair.right <= lowest) made.pairs[made.count++] = pair;
  }
  return made;
}

// The kernels that split the operands: a CTA takes some lines. What of a line it keeps is read
// once.
constexpr int kMostSplitThreads = 512, kSplitCtas = 2;  // on an SM
constexpr int kChunk = 8;       // elements along K that a thread splits at once
constexpr int kKeptChunks = 4;  // that a thread keeps in registers
constexpr int kMostTeam = 256;  // threads

// Lines across the rows. Where they are scaled a CTA takes a sector of each row while it keeps all
// of the lines, and without clusters in any case; longer ones, and those that are not scaled, are
// wide strips, whose K is dealt out over CTAs.
constexpr int kStrip = 8, kWideStrip = 32;
constexpr int kLinesOfThread = kKeptChunks;  // of a wide strip, a chunk of each
constexpr int kLanesAcross = kWideStrip / kLinesOfThread;
constexpr int kMostKeptK = kMostSplitThreads / 2 / kStrip * kChunk * kKeptChunks;
constexpr int kSplitCluster = 8;   // CTAs of a wide strip, where they are a cluster
constexpr int kMostShares = 1024;  // CTAs of a wide strip, where they are none

// Threads that take a line that lies along K: a warp at least, and so few that each has as many
// loads under way as it may keep.
constexpr int team_of(int K) {
  int threads = 32;
  while (threads < kMostTeam && threads * kChunk * kKeptChunks < K) threads *= 2;
  return threads;
}

// What is split: into how many parts, lines of this K, some of which lie across the rows or none,
// on GPUs that have clusters or any.
struct Split {
  int parts;
  bool across;
  int K;
  bool has_clusters;
};

constexpr bool splits_in_clusters(const Split& split) {
  return split.has_clusters && is_scaled(split.parts) && split.across && split.K > kMostKeptK;
}

constexpr int split_cluster(const Split& split) {
  return splits_in_clusters(split) ? kSplitCluster : 1;
}

// Of a CTA: of a cluster's as many as keep the lines, if they can, in whole teams. Without a
// cluster short lines make few CTAs, of wide strips still fewer: these fill the SMs more evenly if
// they are small.
constexpr int split_threads(const Split& split) {
  if (split.K <= kMostKeptK) {
    return kMostSplitThreads / (split.across && !is_scaled(split.parts) ? 4 : 2);
  }
  if (!splits_in_clusters(split)) return kMostSplitThreads;
  const int team = team_of(split.K), of_cluster = team * kSplitCluster;
  return min_of((split.K - 1) / of_cluster * team + team, kMostSplitThreads);
}

// CTAs along the grid's y. A CTA of a wide strip keeps as many k as it has threads.
constexpr int split_shares(const Split& split) {
  if (is_scaled(split.parts) || !split.across || split.K == 0) return split_cluster(split);
  const int threads = split_threads(split);
  return min_of((split.K - 1) / threads + 1, kMostShares);
}

// Lines of a CTA, or of those that share a wide strip. along_k: of an operand's lines.
constexpr int split_lines(const Split& split, bool along_k) {
  if (along_k) return split_threads(split) / team_of(split.K);
  return is_scaled(split.parts) && !splits_in_clusters(split) ? kStrip : kWideStrip;
}

// An operand of one part whose rows are not aligned is copied: elements of a row of the copy, and
// chunks that a thread copies.
constexpr int copied_row(int length) { return (length + kChunk - 1) / kChunk * kChunk; }
constexpr int kCopiedChunks = 4;

// Warps' largest magnitudes, behind these marks of lines; of wide strips also the CTA's largest
// magnitudes, the scales and the marks.
constexpr int split_smem_bytes(const Split& split) {
  const int warps = kMostSplitThreads / 32;
  return 4 * (splits_in_clusters(split) ? (warps + 3) * kWideStrip : warps * kStrip);
}

}  // namespace gemm_tune::parts

// SPDX-License-Identifier: Apache-2.0
// The parameters of wgmma (kernel.cuh), what follows from them, and the rules that they obey. Read
// by host, NVRTC and emulator alike.
//
// The instruction's left operand has 64 rows, its right operand 8 to 256 columns. Left is A and
// right is B, or, with SWAP, left is B and right is A: then BM counts columns of D and BN its rows.
#pragma once

#include "kernel_templates/device/element/element_type.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::wgmma {

struct Params {
  int AB, CD;         // types
  int BM, BN;         // CTA tile: rows of left, columns of right
  int GROUPS;         // consumer warpgroups
  int PINGPONG;       // 1: each consumer has a tile of its own; 0: they share a tile's rows
  int CLUSTER_M = 1;  // CTAs of a cluster that share right's loads
  int CLUSTER_N = 1;  // CTAs of a cluster that share left's loads
  int SPLIT_K = 1;    // CTAs of a cluster that share a tile along K
  int REDUCE = 0;     // 1: the last tiles are cut along K; a reduction kernel adds up the parts
  int SWAP = 0;       // 1: left is B
  int REPACK = 0;     // 1: a launch before copies operands that TMA cannot address
  int PROMOTE = 0;    // k of e4m3 whose sums are added in fp32 at once; 0: kMostPromoted
  int DIRECT = 0;     // 1: threads store D, whose rows may be of any alignment
  int K_SHARES = 0;   // shares along K that a CTA computes and adds up one after another; with
                      // SPLIT_K: the cluster's, added up in the same order
  int TA, TB;         // 1: A is stored [K,M]; B is stored [N,K]
};

// How D is stored: 16-bit elements by the copy engine where their rows are aligned, others by
// accesses of two elements, or of one where pairs of sums lie in two rows.
enum class StoreBy { boxes, pairs, elements };
constexpr StoreBy store_by(const Params& p) {
  if (p.CD != kTypeF32 && p.DIRECT == 0) return StoreBy::boxes;
  return p.SWAP != 0 ? StoreBy::elements : StoreBy::pairs;
}

constexpr int kLineBytes = 128;  // of a block along K: the widest swizzle
constexpr int kMmaBytes = 32;    // of an instruction's depth
constexpr int kSteps = kLineBytes / kMmaBytes;
constexpr int kBK = 64;      // of a block of 16-bit elements
constexpr int kMmaK = 16;    // their depth of an instruction
constexpr int kMmaM = 64;    // rows of an instruction
constexpr int kGroup = 128;  // threads of a warpgroup
constexpr int kBarrierBytes = 8;
constexpr int kMapBytes = 16;  // of which addresses, leading dimensions and strides are multiples
constexpr int kMostSmemBytes = 232448;
constexpr int kAllRegisters = 65536;  // of an SM
constexpr int kMostStages = 12;

// A single consumer has all registers that it needs, so its producer is a warp; setmaxnreg, which
// takes registers from the producer for several consumers, acts on warpgroups.
constexpr bool moves_registers(const Params& p) { return p.GROUPS > 1; }
constexpr int threads(const Params& p) {
  return p.GROUPS * kGroup + (moves_registers(p) ? kGroup : 32);
}

constexpr int cluster_ctas(const Params& p) { return p.CLUSTER_M * p.CLUSTER_N * p.SPLIT_K; }

// The shares along K of a tile, whether its cluster's CTAs have one each or a CTA has them all.
constexpr bool has_serial_shares(const Params& p) { return p.K_SHARES != 0 && p.SPLIT_K == 1; }
constexpr int shares(const Params& p) { return has_serial_shares(p) ? p.K_SHARES : p.SPLIT_K; }

// Two shares have one sum, whichever comes first; of more, a cluster's CTAs begin with their own
// unless K_SHARES is set.
constexpr bool adds_in_order(const Params& p) { return p.K_SHARES != 0 || p.SPLIT_K <= 2; }

// Of an operand; elements of a block along K.
constexpr int element_bytes(const Params& p) { return type_bytes(p.AB); }
constexpr int block_k(const Params& p) { return kLineBytes / element_bytes(p); }

// Whether k runs along a stored row of A, of B.
constexpr bool a_along_k(const Params& p) { return p.TA == 0; }
constexpr bool b_along_k(const Params& p) { return p.TB != 0; }

// The instruction takes either order of 16-bit elements, of others only rows along K. A launch
// before packs both operands where one's rows run along M or N; those of f32 in any case, which it
// rounds to tf32: the instruction cuts off. With REPACK it copies unaligned e4m3.
constexpr bool has_lines_along_k(const Params& p) { return a_along_k(p) && b_along_k(p); }
constexpr bool packs(const Params& p) {
  return p.AB == kTypeF32 || (element_bytes(p) == 1 && (!has_lines_along_k(p) || p.REPACK != 0));
}

// Sums of e4m3 keep 14 bits in the tensor cores: the accuracy class has them added in fp32 every so
// many k.
constexpr int kMostPromoted = 128;
constexpr bool promotes(const Params& p) { return element_bytes(p) == 1; }
constexpr int promoted_k(const Params& p) { return p.PROMOTE != 0 ? p.PROMOTE : kMostPromoted; }

// Whether k runs along the rows that the copy engine reads.
constexpr bool left_along_k(const Params& p) {
  return packs(p) || (p.SWAP != 0 ? b_along_k(p) : a_along_k(p));
}
constexpr bool right_along_k(const Params& p) {
  return packs(p) || (p.SWAP != 0 ? a_along_k(p) : b_along_k(p));
}

// Rows of left that one consumer multiplies, and its instructions for them.
constexpr int group_rows(const Params& p) { return p.PINGPONG != 0 ? p.BM : p.BM / p.GROUPS; }
constexpr int group_blocks(const Params& p) { return group_rows(p) / kMmaM; }
constexpr int sums_per_thread(const Params& p) { return group_blocks(p) * p.BN / 2; }
// Those that the tensor cores add to beside.
constexpr int all_sums_per_thread(const Params& p) {
  return sums_per_thread(p) * (promotes(p) || has_serial_shares(p) ? 2 : 1);
}

// Columns of a block of an operand whose rows run along M or N: as many as one swizzled row holds.
// The last block of a wide tile may reach beyond it: a row of a box takes its time however short.
constexpr int kWidestBlock = 64;
constexpr int block_width(int extent) {
  return extent >= kWidestBlock ? kWidestBlock : extent % 32 == 0 ? 32 : 16;
}
constexpr int blocks_across(int extent) {
  return (extent + block_width(extent) - 1) / block_width(extent);
}
constexpr int loaded_extent(int extent, bool is_along_k) {
  return is_along_k ? extent : blocks_across(extent) * block_width(extent);
}

constexpr int left_bytes(const Params& p) {
  return loaded_extent(p.BM, left_along_k(p)) * kLineBytes;
}
constexpr int right_bytes(const Params& p) {
  return loaded_extent(p.BN, right_along_k(p)) * kLineBytes;
}
constexpr int stage_bytes(const Params& p) { return left_bytes(p) + right_bytes(p); }

// Whether D's rows may be aligned otherwise than A's and B's; how far, in elements.
constexpr bool has_own_alignment_of_d(const Params& p) { return packs(p) || p.DIRECT != 0; }
constexpr int alignment_of_d(const Params& p) {
  return store_by(p) == StoreBy::boxes ? kMapBytes / element_bytes(p) : 1;
}

// Columns of right that a CTA adds up and stores: those of its part of the cluster's tile.
constexpr int part_columns(const Params& p) { return p.BN / p.SPLIT_K; }

// Two barriers a stage, and one for partial sums. Buffers begin at multiples of 1024 bytes, where
// the swizzle's pattern begins; a stage is a whole number of them.
constexpr int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr int stages_beside(const Params& p, int store_bytes) {
  const int left = kMostSmemBytes - p.GROUPS * round_up(store_bytes, 1024) -
                   (2 * kMostStages + 1) * kBarrierBytes;
  return min_of(kMostStages, left / stage_bytes(p));
}

// Columns of right in a box of the store buffer. Rows of 128 or 64 bytes are swizzled; others are
// an odd number of 16-byte chunks, so that eight rows touch all banks. Half of 64 where that leaves
// room for a stage that is missing.
constexpr int box_bytes(const Params& p, int columns) { return group_rows(p) * columns * 2; }
constexpr int store_columns(const Params& p) {
  int columns = part_columns(p);
  if (columns % 64 == 0) {
    const int stages = stages_beside(p, box_bytes(p, 64));
    return stages < 5 && stages_beside(p, box_bytes(p, 32)) > stages ? 32 : 64;
  }
  if (p.SWAP != 0) return columns % 32 == 0 ? 32 : columns % 16 == 0 ? 16 : 8;
  if (columns == 32 || columns == 96 || columns == 160) return 32;
  while (columns % 16 == 0) columns /= 2;
  return columns;
}
// Boxes that are filled before they are stored: the whole tile where the stages do not need the
// room.
constexpr int store_boxes(const Params& p) {
  const int boxes = part_columns(p) / store_columns(p), bytes = box_bytes(p, store_columns(p));
  const int stages = stages_beside(p, boxes * bytes);
  return stages >= 6 || stages == stages_beside(p, bytes) ? boxes : 1;
}
// Bytes of a swizzled row of the store buffer, or 0. With SWAP rows of D run along left's rows.
constexpr int store_swizzle(const Params& p) {
  if (p.SWAP != 0 || store_columns(p) == 64) return 128;
  return store_columns(p) == 32 ? 64 : 0;
}
// Of one consumer.
constexpr int store_bytes(const Params& p) {
  return store_by(p) == StoreBy::boxes ? store_boxes(p) * box_bytes(p, store_columns(p)) : 0;
}

constexpr int all_store_bytes(const Params& p) { return p.GROUPS * round_up(store_bytes(p), 1024); }
constexpr int stages(const Params& p) { return stages_beside(p, store_bytes(p)); }
constexpr int smem_bytes(const Params& p) {
  return stages(p) * stage_bytes(p) + all_store_bytes(p) + (2 * stages(p) + 1) * kBarrierBytes;
}

// Partial sums that CTAs of a cluster bring to each other lie where the stages were.
constexpr int exchange_bytes(const Params& p) {
  return (p.SPLIT_K - 1) * p.BM * part_columns(p) * 4;
}

// Of a consumer's thread; the instruction's operands need pairs of neighbours.
constexpr int most_registers(const Params& p) {
  return p.GROUPS == 1 ? 255 : p.GROUPS == 2 ? 232 : 160;
}

constexpr auto rules() {
  return rules_of<Params>({
      {"operands are f32, f16, bf16 or e4m3", "AB",
       [](const Params& p) { return p.AB < kTypeF32 || p.AB > kTypeE4m3; }},
      {"C and D are of f32 or of the operands' type, beside e4m3 also of f16 or bf16", "AB CD",
       [](const Params& p) {
         const bool is_16_bits = p.CD == kTypeF16 || p.CD == kTypeBf16;
         return p.CD != kTypeF32 && !(is_16_bits && (p.CD == p.AB || p.AB == kTypeE4m3));
       }},
      {"the launch that packs operands copies unaligned rows, too", "AB REPACK TA TB",
       [](const Params& p) {
         return p.REPACK != 0 &&
                (p.AB == kTypeF32 || (element_bytes(p) == 1 && !has_lines_along_k(p)));
       }},
      {"sums of e4m3 are promoted every 32, 64 or 128 k, others never", "AB PROMOTE",
       [](const Params& p) {
         return p.PROMOTE != 0 && (!promotes(p) || (p.PROMOTE != 32 && p.PROMOTE != 64));
       }},
      {"BM is a multiple of 64 up to 256", "BM",
       [](const Params& p) { return p.BM % kMmaM != 0 || p.BM < kMmaM || p.BM > 256; }},
      {"BN is a multiple of 8 up to 256", "BN",
       [](const Params& p) { return p.BN % 8 != 0 || p.BN < 8 || p.BN > 256; }},
      {"threads store D of f32 in any case where operands are packed", "AB CD REPACK DIRECT TA TB",
       [](const Params& p) { return p.DIRECT != 0 && p.CD == kTypeF32 && packs(p); }},
      {"1 to 3 consumers", "GROUPS", [](const Params& p) { return p.GROUPS < 1 || p.GROUPS > 3; }},
      {"consumers share a tile's rows in blocks of 64", "BM GROUPS PINGPONG",
       [](const Params& p) { return p.PINGPONG == 0 && p.BM % (p.GROUPS * kMmaM) != 0; }},
      {"two consumers take turns", "GROUPS PINGPONG",
       [](const Params& p) { return p.PINGPONG != 0 && p.GROUPS != 2; }},
      {"sums do not fit the registers", "AB BM BN GROUPS PINGPONG SPLIT_K K_SHARES",
       [](const Params& p) {
         // Whatever setmaxnreg gives, ptxas counts 128 registers at 512 threads.
         return all_sums_per_thread(p) > (p.GROUPS == 3 ? 96 : 192);
       }},
      {"a row of 16-bit elements along N is a multiple of 16", "BN SWAP TA TB",
       [](const Params& p) { return !right_along_k(p) && p.BN < kWidestBlock && p.BN % 16 != 0; }},
      {"a cluster has 1, 2 or 4 CTAs along each extent", "CLUSTER_M CLUSTER_N SPLIT_K",
       [](const Params& p) {
         const auto is_extent = [](int n) { return n == 1 || n == 2 || n == 4; };
         return !is_extent(p.CLUSTER_M) || !is_extent(p.CLUSTER_N) || !is_extent(p.SPLIT_K) ||
                cluster_ctas(p) > kMostClusterCtas;
       }},
      {"CTAs that share a tile along K store whole chunks of it", "BN SPLIT_K",
       [](const Params& p) { return p.SPLIT_K > 1 && p.BN % (8 * p.SPLIT_K) != 0; }},
      {"tiles are cut along K in a cluster or at the end, not both", "SPLIT_K REDUCE PINGPONG",
       [](const Params& p) { return p.SPLIT_K > 1 && (p.REDUCE != 0 || p.PINGPONG != 0); }},
      {"a CTA computes 2 or 4 shares along K, or one of a cluster's 4", "SPLIT_K K_SHARES",
       [](const Params& p) {
         const bool is_number = p.K_SHARES == 4 || (p.K_SHARES == 2 && p.SPLIT_K == 1);
         return p.K_SHARES != 0 && !(is_number && (p.SPLIT_K == 1 || p.SPLIT_K == 4));
       }},
      {"promoted sums and those of cut tiles have no shares of the CTA", "AB REDUCE K_SHARES",
       [](const Params& p) { return p.K_SHARES != 0 && (promotes(p) || p.REDUCE != 0); }},
      {"fewer than two stages fit the shared memory",
       "AB CD BM BN GROUPS PINGPONG SPLIT_K SWAP REPACK DIRECT TA TB",
       [](const Params& p) { return stages(p) < 2; }},
      {"partial sums do not fit the stages",
       "AB CD BM BN GROUPS PINGPONG SPLIT_K SWAP REPACK DIRECT TA TB",
       [](const Params& p) { return exchange_bytes(p) > stages(p) * stage_bytes(p); }},
  });
}

constexpr const char* reject(const Params& p) {
  if (!is_flag(p.PINGPONG) || !is_flag(p.REDUCE) || !is_flag(p.SWAP) || !is_flag(p.REPACK) ||
      !is_flag(p.DIRECT) || !is_flag(p.TA) || !is_flag(p.TB))
    return "PINGPONG, REDUCE, SWAP, REPACK, DIRECT, TA and TB must be 0 or 1";
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::wgmma

// SPDX-License-Identifier: Apache-2.0
// The structural rules of a kernel family, written once and read by host, NVRTC and emulator alike.
//
// Names the parameters each rule reads, so that enumeration can prune before the others are chosen.
// Includes nothing: NVRTC compiles this file too.
#pragma once

namespace gemm_tune {

template <class Params>
struct Rule {
  const char* reason;  // what is wrong with a config that breaks the rule
  const char* reads;   // names of the parameters it reads, separated by blanks
  bool (*broken)(const Params&);
};

// A family's rules, as a function of the family returns them. A variable would do for a host: NVRTC
// compiles every variable of a text, and with it a device function for each rule, which took a
// tenth of a kernel's compilation.
template <class Params, int N>
struct Rules {
  Rule<Params> list[N];
};

template <class Params, int N>
constexpr Rules<Params, N> rules_of(const Rule<Params> (&list)[N]) {
  Rules<Params, N> rules = {};
  for (int i = 0; i < N; ++i) rules.list[i] = list[i];
  return rules;
}

// The rules of a list behind others.
template <class Params, int M, int N>
constexpr Rules<Params, M + N> joined(const Rules<Params, M>& first,
                                      const Rule<Params> (&list)[N]) {
  Rules<Params, M + N> rules = {};
  for (int i = 0; i < M; ++i) rules.list[i] = first.list[i];
  for (int i = 0; i < N; ++i) rules.list[M + i] = list[i];
  return rules;
}

// The reason of the first rule that params breaks, or nullptr.
template <class Params, int N>
constexpr const char* first_broken(const Rule<Params> (&rules)[N], const Params& params) {
  for (const Rule<Params>& rule : rules) {
    if (rule.broken(params)) return rule.reason;
  }
  return nullptr;
}
template <class Params, int N>
constexpr const char* first_broken(const Rules<Params, N>& rules, const Params& params) {
  return first_broken(rules.list, params);
}

// Bounds that keep every product of tile sizes inside an int, whatever a user types.
constexpr bool is_tile_size(int value) { return value >= 1 && value <= 1024; }
constexpr const char* kBadTileSize = "tile sizes must lie between 1 and 1024";

constexpr bool is_flag(int value) { return value == 0 || value == 1; }

// CTAs that a cluster has on every architecture that knows clusters.
constexpr int kMostClusterCtas = 8;
constexpr const char* kBadCluster = "a cluster is the 2 to 8 CTAs of SPLIT_K";

// A pre-pass copies matrices whose addresses the host knows.
constexpr const char* kNoPointersToCopy = "operands of a batch of pointers are not copied before";

// Of families whose kernels may have an operand of 16 bits beside one of f32, which they widen.
constexpr bool is_widened_type(int type) { return type >= 0 && type <= 2; }
constexpr const char* kBadWidenedType = "TYPE_A and TYPE_B must be 0, 1 or 2";
template <class Params>
constexpr Rule<Params> at_most_one_widened() {
  return {"one of A and B is of f32", "TYPE_A TYPE_B",
          [](const Params& p) { return p.TYPE_A != 0 && p.TYPE_B != 0; }};
}
template <class Params>
constexpr Rule<Params> mixed_are_not_copied() {
  return {"operands of two types are not copied before", "REPACK TYPE_A TYPE_B",
          [](const Params& p) { return p.REPACK != 0 && p.TYPE_A != p.TYPE_B; }};
}

// Of families whose warps compute WM x WN.
constexpr const char* kUndividedByWarps = "warp tile does not divide CTA tile";
template <class Params>
constexpr Rule<Params> undivided_rows() {
  return {kUndividedByWarps, "BM WM", [](const Params& p) { return p.BM % p.WM != 0; }};
}
template <class Params>
constexpr Rule<Params> undivided_columns() {
  return {kUndividedByWarps, "BN WN", [](const Params& p) { return p.BN % p.WN != 0; }};
}

// Floats that SharedMemory::take(n) uses up: arrays begin at 16-byte boundaries.
constexpr int smem_floats(int n) { return (n + 3) / 4 * 4; }

constexpr int min_of(int a, int b) { return a < b ? a : b; }

constexpr int max_of(int a, int b) { return a > b ? a : b; }

// The widest vector access of 4, 2 or 1 elements that divides every given extent.
constexpr int vector_width(int a, int b = 4, int c = 4) {
  const int bits = a | b | c;
  return bits % 4 == 0 ? 4 : bits % 2 == 0 ? 2 : 1;
}

// How many k steps of a main loop to unroll: bounded, so that the largest thread tiles still fit
// the instruction cache.
constexpr int unroll_factor(int bk, int sums_per_thread) {
  return min_of(bk, max_of(1, 1024 / sums_per_thread));
}

}  // namespace gemm_tune

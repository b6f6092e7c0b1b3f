// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/kernels/cases.h"

#include <algorithm>
#include <cstddef>

namespace gemm_tune::emulator {
namespace {

constexpr Order kOrders[] = {Order::forward, Order::reversed, Order::shuffled};

struct Scale {
  float alpha, beta;
};
constexpr int kArchs[] = {80, 90};  // of each kind of rounding one; kernels may need the later

constexpr Scale kScales[] = {{1, 0}, {-0.5, 2}, {1, 1}, {2, 0}, {1.5, -1}};

template <class T, std::size_t N>
const T& nth(const T (&list)[N], std::size_t i) {
  return list[i % N];
}
int nth(const std::vector<int>& list, std::size_t i) { return list[i % list.size()]; }

// The width of a row, padded by a number of alignment units.
std::int64_t padded(std::int64_t width, int alignment, std::size_t units) {
  const std::int64_t least = std::max<std::int64_t>(width, 1);
  return (least + alignment - 1) / alignment * alignment +
         static_cast<std::int64_t>(units) * alignment;
}

int rounded_up(int size, int multiple) { return (size + multiple - 1) / multiple * multiple; }

// The index-th case of a list: scales, orders, row padding and
// whether D is C take turns. Sizes are rounded up to
// the multiples that the config's recipe demands.
Case make_case(const KnownConfig& config, int M, int N, int K, std::size_t index) {
  Case c;
  c.is_read_in_place = index % 3 != 0;
  const OperandAlignments aligned = operand_alignments(config, c.is_read_in_place);
  const Scale scale = nth(kScales, index);
  GemmCall& call = c.call;
  call.problem = packed_problem(
      rounded_up(M, config.recipe.multiple_m), rounded_up(N, config.recipe.multiple_n),
      config.recipe.repack ? K : rounded_up(K, config.recipe.multiple_k), config.recipe.layout);
  call.problem.signature = config.traits.signature;
  call.problem.batch_kind = config.recipe.batch_kind;
  call.lda = padded(row_length_a(call.problem), aligned.a, index % 2 * 3);
  call.ldb = padded(row_length_b(call.problem), aligned.b, (index + 1) % 2);
  call.ldc = padded(call.problem.N, aligned.c, index / 2 % 2);
  c.in_place = index % 2 == 0;
  call.alpha = scale.alpha;
  call.beta = scale.beta;
  c.order = nth(kOrders, index);
  c.seed = static_cast<unsigned>(index) + 1;
  c.sm = std::max(nth(kArchs, index / 2), config.traits.least_sm);
  return c;
}

bool takes_batches(const KnownConfig& config) {
  return config.recipe.tail_ctas_per_sm == 0 && !config.recipe.repack;
}

// Makes a batch of the case: each matrix begins so many alignment units after the last row of the
// one before.
void set_batch(Case& c, const KnownConfig& config, int batch, int gap_units) {
  if (!takes_batches(config)) return;
  const OperandAlignments aligned = operand_alignments(config, c.is_read_in_place);
  const std::int64_t gap = gap_units;
  GemmCall& call = c.call;
  call.problem.batch = batch;
  call.stride_a = rows_a(call.problem) * call.lda + gap * aligned.a;
  call.stride_b = rows_b(call.problem) * call.ldb + 2 * gap * aligned.b;
  call.stride_c = call.problem.M * call.ldc + 3 * gap * aligned.c;
}

bool is_predicated(const KnownConfig& config) { return config.traits.predicated; }

bool takes_any_k(const KnownConfig& config) {
  return is_predicated(config) || config.recipe.repack;
}

std::vector<int> ascending(std::vector<int> sizes, int least) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::erase_if(sizes, [least](int size) { return size < least; });
  return sizes;
}

// Sizes of M or N for a tile edge.
std::vector<int> edge_sizes(const KnownConfig& config, int tile) {
  if (!is_predicated(config)) return {tile, 2 * tile};
  return ascending({1, 5, 37, tile - 1, tile, tile + 1, 2 * tile + 1}, 1);
}

std::vector<int> depth_sizes(const KnownConfig& config) {
  const int tile = config.traits.tile_k;
  if (!takes_any_k(config)) return {0, tile, 2 * tile, 3 * tile};
  return ascending({0, 1, 11, tile - 1, tile, tile + 1, 2 * tile + 1}, 0);
}

// One tile and a bit, or what an unpredicated kernel can do instead.
int beyond(const KnownConfig& config, int tile, int tiles, int bit) {
  return tiles * tile + (is_predicated(config) ? bit : 0);
}

// Along M or N: this, or one tile, ragged where it may be.
int extent(const KnownConfig& config, Tiles tiles, int tile, int bit) {
  if (tiles == Tiles::several) return beyond(config, tile, 1, bit);
  return is_predicated(config) ? std::max(1, tile - bit) : tile;
}

// The same along K.
int deep(const KnownConfig& config, int slices, int bit) {
  return slices * config.traits.tile_k + (takes_any_k(config) ? bit : 0);
}

int sms_without_clusters(const KnownConfig& config) {
  return config.traits.cuts_tiles ? kSmCountOfCuts : kSmCount;
}

}  // namespace

int sm_count(const KnownConfig& config) {
  return sms_without_clusters(config) * config.recipe.cluster_blocks;
}

OperandAlignments operand_alignments(const KnownConfig& config, bool is_read_in_place) {
  const LaunchRecipe& recipe = config.recipe;
  const Signature& types = config.traits.signature;
  if (is_read_in_place && types.a != types.b && uses_tensor_cores(types)) {
    const auto whole_chunk = [&](ElementType type) {
      return type == kSumType ? recipe.alignment : kWidestAccessBytes / bytes_of(type);
    };
    return {whole_chunk(types.a), whole_chunk(types.b), recipe.alignment};
  }
  const auto of = [&](int own) { return own > 0 ? own : recipe.alignment; };
  const int cd = of(recipe.alignment_cd);
  if (recipe.repack) return {1, 1, cd};
  return {of(recipe.alignment_a), of(recipe.alignment_b), cd};
}

std::string to_string(const Case& c) {
  const auto part = [](const char* name, auto value) {
    return std::string(" ") + name + "=" + std::to_string(value);
  };
  const GemmCall& call = c.call;
  const Problem& p = call.problem;
  std::string batch;
  if (p.batch > 1) {
    batch = part("batch", p.batch) + part("strides", call.stride_a) + "," +
            std::to_string(call.stride_b) + "," + std::to_string(call.stride_c);
  }
  return std::to_string(p.M) + "x" + std::to_string(p.N) + "x" + std::to_string(p.K) + " " +
         std::string(to_string(p.layout)) + part("lda", call.lda) + part("ldb", call.ldb) +
         part("ldc", call.ldc) + batch + part("alpha", call.alpha) + part("beta", call.beta) +
         (c.in_place ? ", in place" : "") + ", epilogue " + to_string(p.epilogue) +
         (c.values == Values::integers    ? ", integers"
          : c.values == Values::positives ? ", positive reals"
                                          : ", reals") +
         ", threads " + to_string(c.order) +
         (uses_tensor_cores(p.signature) ? ", sm_" + std::to_string(c.sm) : "");
}

bool shares_tiles(const KnownConfig& config) {
  return config.recipe.split_k > 1 || config.recipe.tail_ctas_per_sm > 0 ||
         config.traits.cuts_tiles;
}

std::vector<Case> edge_cases(const KnownConfig& config) {
  const std::vector<int> ms = edge_sizes(config, config.traits.tile_m);
  const std::vector<int> ns = edge_sizes(config, config.traits.tile_n);
  const std::vector<int> ks = depth_sizes(config);
  std::vector<Case> cases;
  for (std::size_t i = 0; i < ms.size(); ++i) {
    for (std::size_t j = 0; j < ns.size(); ++j) {
      // A Latin square: each M meets each N, and each of both meets nearly each K.
      cases.push_back(make_case(config, ms[i], ns[j], ks[(i + j) % ks.size()], cases.size()));
    }
  }
  for (const int K : ks) {
    cases.push_back(make_case(config, ms.front(), ns.back(), K, cases.size()));
    cases.push_back(make_case(config, ms.back(), ns.front(), K, cases.size()));
  }
  return cases;
}

std::vector<Case> each_edge_cases(const KnownConfig& config) {
  const std::vector<int> ms = edge_sizes(config, config.traits.tile_m);
  const std::vector<int> ns = edge_sizes(config, config.traits.tile_n);
  const std::vector<int> ks = depth_sizes(config);
  const std::size_t extents = std::max({ms.size(), ns.size(), ks.size()});
  std::vector<Case> cases;
  for (std::size_t i = 0; i < extents; ++i) {
    const int m = nth(ms, i), k = nth(ks, i);
    cases.push_back(make_case(config, m, nth(ns, 2 * extents - 1 - i), k, cases.size()));
    cases.push_back(make_case(config, m, nth(ns, i + 3), nth(ks, i + 2), cases.size()));
  }
  cases.push_back(make_case(config, beyond(config, config.traits.tile_m, 1, 1),
                            beyond(config, config.traits.tile_n, 1, 1), ks.back(), cases.size()));
  return cases;
}

std::vector<Case> output_edge_cases(const KnownConfig& config) {
  const std::vector<int> ms = edge_sizes(config, config.traits.tile_m);
  const std::vector<int> ns = edge_sizes(config, config.traits.tile_n);
  const std::vector<int> ks = depth_sizes(config);
  std::vector<Case> cases;
  for (std::size_t i = 0; i < std::max(ms.size(), ns.size()); ++i) {
    const int m = ms[i % ms.size()], n = ns[ns.size() - 1 - i % ns.size()];
    cases.push_back(make_case(config, m, n, ks[i % ks.size()], cases.size()));
  }
  return cases;
}

std::vector<Case> barrier_cases(const KnownConfig& config) {
  const Traits& t = config.traits;
  std::vector<Case> cases;
  for (const int slices : {2, 3}) {
    for (const Order order : kOrders) {
      cases.push_back(make_case(config, t.tile_m, t.tile_n, slices * t.tile_k, cases.size()));
      cases.back().order = order;
    }
  }
  return cases;
}

std::vector<Case> scale_cases(const KnownConfig& config, Tiles tiles) {
  const Traits& t = config.traits;
  std::vector<Case> cases;
  for (const float alpha : {0.0f, 1.0f, -2.5f}) {
    for (const float beta : {0.0f, 1.0f, -0.5f}) {
      cases.push_back(make_case(config, extent(config, tiles, t.tile_m, 1),
                                extent(config, tiles, t.tile_n, 3), deep(config, 1, 1),
                                cases.size()));
      cases.back().call.alpha = alpha;
      cases.back().call.beta = beta;
    }
  }
  return cases;
}

std::vector<Case> rounding_cases(const KnownConfig& config, Tiles tiles) {
  const Traits& t = config.traits;
  std::vector<Case> cases;
  for (const int slices : {1, 5}) {
    for (const Scale& scale : {Scale{1, 0}, Scale{0.7f, -1.3f}}) {
      cases.push_back(make_case(config, extent(config, tiles, t.tile_m, 2),
                                extent(config, tiles, t.tile_n, 5), deep(config, slices, 3),
                                cases.size()));
      cases.back().call.alpha = scale.alpha;
      cases.back().call.beta = scale.beta;
      cases.back().values = Values::reals;
    }
  }
  if (takes_any_k(config)) {  // one product each, whose bound is the error of its operands
    cases.push_back(make_case(config, t.tile_m, t.tile_n, 1, 0));
    cases.back().values = Values::reals;
  }
  if (t.pack) {  // longer lines than a CTA packs
    cases.push_back(
        make_case(config, beyond(config, t.tile_m, 1, 1), t.tile_n, deep(config, 17, 3), 0));
  }
  if (info_of(t.signature.a).bits == 8) {  // sums that tensor cores would not keep
    cases.push_back(make_case(config, t.tile_m, t.tile_n, 16 * t.tile_k, 0));
    cases.back().values = Values::positives;
  }
  return cases;
}

std::vector<Case> batch_cases(const KnownConfig& config, Tiles tiles) {
  const Traits& t = config.traits;
  const int M = extent(config, tiles, t.tile_m, 1), N = extent(config, tiles, t.tile_n, 3);
  const int K = deep(config, 2, 1);
  std::vector<Case> cases;
  const auto add = [&](int depth, int batch, int gap_units) -> Case& {
    cases.push_back(make_case(config, M, N, depth, cases.size()));
    set_batch(cases.back(), config, batch, gap_units);
    return cases.back();
  };
  add(K, 2, 0);
  add(K, 3, 5);
  add(0, 2, 1);
  add(K, 3, 1).call.stride_a = 0;
  add(K, 3, 1).call.stride_b = 0;
  if (config.recipe.batch_kind == BatchKind::pointers) {  // of which nobody knows the alignment
    ++add(K, 3, 1).call.stride_a;
    ++add(K, 2, 1).call.stride_b;
    ++add(K, 3, 1).call.stride_c;
    GemmCall& unread_c = add(K, 3, 1).call;
    ++unread_c.stride_c;
    unread_c.beta = 0;
  }
  if (!takes_batches(config)) return cases;
  GemmCall& wide = add(K, 3, 0).call;
  wide.stride_a = wide.lda;
  wide.stride_b = wide.ldb;
  wide.stride_c = wide.ldc;
  for (std::int64_t* ld : {&wide.lda, &wide.ldb, &wide.ldc}) *ld *= wide.problem.batch;
  return cases;
}

std::vector<Case> share_cases(const KnownConfig& config) {
  if (!shares_tiles(config)) return {};
  const Traits& t = config.traits;
  const int bit = is_predicated(config) ? 1 : 0;
  const bool is_tall = t.tile_m < t.tile_n;  // tiles along the edge where they are smaller
  std::vector<Case> cases;
  const auto add = [&](int tiles, int K) -> Case& {
    const int M = is_tall ? tiles * t.tile_m - bit : t.tile_m;
    const int N = is_tall ? t.tile_n : tiles * t.tile_n - bit;
    cases.push_back(make_case(config, M, N, K, cases.size()));
    // Whole numbers add up alike in any order; only what is rounded tells one from another.
    if (cases.size() % 2 == 0) cases.back().values = Values::reals;
    return cases.back();
  };
  const bool is_split = config.recipe.split_k > 1;  // each tile, else only the last ones
  const int shares =
      is_split ? t.split_k
               : std::max(1, config.recipe.tail_ctas_per_sm) * sms_without_clusters(config);
  for (const int slices : {0, 1, shares - 1, shares, shares + 1, 2 * shares + 1}) {
    add(1, slices * t.tile_k);
    if (slices > 0 && bit > 0) add(2, slices * t.tile_k - 1);
  }
  if (bit > 0) add(1, 1);
  if (t.cuts_tiles) {  // ragged along both edges
    cases.push_back(make_case(config, t.tile_m - bit, t.tile_n - bit, (2 * shares + 1) * t.tile_k,
                              cases.size()));
  }
  for (const int K : {2 * t.tile_k, (shares + 1) * t.tile_k}) set_batch(add(2, K), config, 2, 3);
  if (!is_split) {
    const int many = config.recipe.tail_ctas_per_sm > 0 ? 24 : 2 * shares + 1;
    for (const int tiles : {shares - 1, shares, shares + 1, 2 * shares + 1}) {
      for (const int slices : {0, 1, 3, many}) add(tiles, slices * t.tile_k);
    }
  }
  return cases;
}

std::vector<Case> some_share_cases(const KnownConfig& config) {
  std::vector<Case> cases;
  const std::vector<Case> all = share_cases(config);
  for (std::size_t i = 0; i < all.size(); i += 3) cases.push_back(all[i]);
  return cases;
}

std::vector<Case> far_cases(const KnownConfig& config) {
  const Traits& t = config.traits;
  constexpr std::int64_t kPast = (1LL << 31) + 16;
  std::vector<Case> cases;
  // Row 1 of every operand lies past 2^31 elements; then the second tile and slice do.
  const int rows = is_predicated(config) ? 2 : t.tile_m;
  const int depth = is_predicated(config) ? std::max(2, t.tile_k) : t.tile_k;
  const int N = beyond(config, t.tile_n, 1, 1);
  cases.push_back(make_case(config, rows, N, depth, 1));
  GemmCall& second_row = cases.back().call;
  second_row.lda = second_row.ldb = second_row.ldc = kPast;

  const int M = beyond(config, t.tile_m, is_predicated(config) ? 1 : 2, 1);
  const int K = deep(config, is_predicated(config) ? 1 : 2, 1);
  const auto past_at = [&](int row) {
    const int unit = std::max(4, config.recipe.alignment);
    const std::int64_t least = padded((1LL << 31) / row, unit, 1);
    return std::min(kPast, least + std::int64_t{unit} * (M + N + K));
  };
  GemmCall& second_tile = cases.emplace_back(make_case(config, M, N, K, 2)).call;
  second_tile.beta = 1;
  second_tile.lda = past_at(transposes_a(config.recipe.layout) ? t.tile_k : t.tile_m);
  second_tile.ldb = past_at(transposes_b(config.recipe.layout) ? t.tile_n : t.tile_k);
  second_tile.ldc = past_at(t.tile_m);

  if (!takes_batches(config)) return cases;
  GemmCall& second_matrix = cases.emplace_back(make_case(config, rows, N, depth, 3)).call;
  second_matrix.problem.batch = 2;
  second_matrix.stride_a = second_matrix.stride_b = second_matrix.stride_c = kPast;
  return cases;
}

}  // namespace gemm_tune::emulator

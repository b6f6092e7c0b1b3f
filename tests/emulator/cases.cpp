#include "tests/emulator/cases.h"

#include <algorithm>
#include <cstddef>

namespace gemm_tune::emulator {
namespace {

constexpr Order kOrders[] = {Order::forward, Order::reversed, Order::shuffled};

struct Scale {
  float alpha, beta;
};
constexpr Scale kScales[] = {{1, 0}, {-0.5, 2}, {1, 1}, {2, 0}, {1.5, -1}};

template <class T, std::size_t N>
const T& nth(const T (&list)[N], std::size_t i) {
  return list[i % N];
}

// The width of a row, padded by a number of alignment units.
long long padded(long long width, int alignment, std::size_t units) {
  const long long least = std::max(width, 1LL);
  return (least + alignment - 1) / alignment * alignment +
         static_cast<long long>(units) * alignment;
}

// The index-th case of a list: scales, orders and row padding take turns.
Case make_case(const KnownConfig& config, int M, int N, int K, std::size_t index) {
  const int alignment = config.recipe.alignment;
  const Scale scale = nth(kScales, index);
  Case c;
  c.M = M;
  c.N = N;
  c.K = K;
  c.lda = padded(K, alignment, index % 2 * 3);
  c.ldb = padded(N, alignment, (index + 1) % 2);
  c.ldc = padded(N, alignment, index / 2 % 2);
  c.alpha = scale.alpha;
  c.beta = scale.beta;
  c.order = nth(kOrders, index);
  c.seed = static_cast<unsigned>(index) + 1;
  return c;
}

bool is_predicated(const KnownConfig& config) { return config.traits.predicated; }

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
  if (!is_predicated(config)) return {0, tile, 2 * tile, 3 * tile};
  return ascending({0, 1, 11, tile - 1, tile, tile + 1, 2 * tile + 1}, 0);
}

// One tile and a bit, or what an unpredicated kernel can do instead.
int beyond(const KnownConfig& config, int tile, int tiles, int bit) {
  return tiles * tile + (is_predicated(config) ? bit : 0);
}

}  // namespace

std::string to_string(const Case& c) {
  const auto part = [](const char* name, auto value) {
    return std::string(" ") + name + "=" + std::to_string(value);
  };
  return std::to_string(c.M) + "x" + std::to_string(c.N) + "x" + std::to_string(c.K) +
         part("lda", c.lda) + part("ldb", c.ldb) + part("ldc", c.ldc) + part("alpha", c.alpha) +
         part("beta", c.beta) + (c.values == Values::integers ? ", integers" : ", reals") +
         ", threads " + to_string(c.order);
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

std::vector<Case> scale_cases(const KnownConfig& config) {
  const Traits& t = config.traits;
  std::vector<Case> cases;
  for (const float alpha : {0.0f, 1.0f, -2.5f}) {
    for (const float beta : {0.0f, 1.0f, -0.5f}) {
      cases.push_back(make_case(config, beyond(config, t.tile_m, 1, 1),
                                beyond(config, t.tile_n, 1, 3), beyond(config, t.tile_k, 1, 1),
                                cases.size()));
      cases.back().alpha = alpha;
      cases.back().beta = beta;
    }
  }
  return cases;
}

std::vector<Case> rounding_cases(const KnownConfig& config) {
  const Traits& t = config.traits;
  std::vector<Case> cases;
  for (const int slices : {1, 5}) {
    for (const Scale& scale : {Scale{1, 0}, Scale{0.7f, -1.3f}}) {
      cases.push_back(make_case(config, beyond(config, t.tile_m, 1, 2),
                                beyond(config, t.tile_n, 1, 5), beyond(config, t.tile_k, slices, 3),
                                cases.size()));
      cases.back().alpha = scale.alpha;
      cases.back().beta = scale.beta;
      cases.back().values = Values::reals;
    }
  }
  return cases;
}

std::vector<Case> far_cases(const KnownConfig& config) {
  const Traits& t = config.traits;
  constexpr long long kPast = (1LL << 31) + 8;
  std::vector<Case> cases;
  // Row 1 of every operand lies past 2^31 elements; then the second tile and slice do.
  const int rows = is_predicated(config) ? 2 : t.tile_m;
  const int depth = is_predicated(config) ? std::max(2, t.tile_k) : t.tile_k;
  const int N = beyond(config, t.tile_n, 1, 1);
  cases.push_back(make_case(config, rows, N, depth, 1));
  cases.back().lda = cases.back().ldb = cases.back().ldc = kPast;

  const int M = beyond(config, t.tile_m, is_predicated(config) ? 1 : 2, 1);
  const int K = beyond(config, t.tile_k, is_predicated(config) ? 1 : 2, 1);
  const auto just_past = [](int tile) { return padded((1LL << 31) / tile, 4, 1); };
  cases.push_back(make_case(config, M, N, K, 2));
  cases.back().beta = 1;
  cases.back().lda = cases.back().ldc = std::min(kPast, just_past(t.tile_m) + 4LL * K + 4LL * N);
  cases.back().ldb = std::min(kPast, just_past(t.tile_k) + 4LL * N);
  return cases;
}

}  // namespace gemm_tune::emulator

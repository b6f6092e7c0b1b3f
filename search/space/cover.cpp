// SPDX-License-Identifier: Apache-2.0
#include "search/space/cover.h"

#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <string>

namespace gemm_tune {
namespace {

using Point = std::span<const ConfigList::Value>;

// Of one family: a number for each pair of values of two parameters, and which are still to be had.
class Pairs {
 public:
  explicit Pairs(const KernelFamily& family) : family_(family) {
    std::size_t count = 0;
    for (std::size_t a = 0; a < family.params.size(); ++a) {
      for (std::size_t b = a + 1; b < family.params.size(); ++b) {
        first_.push_back(count);
        count += family.params[a].values.size() * family.params[b].values.size();
      }
    }
    wanted_.assign(count, false);
  }

  void want(Point point) {
    visit(point, [this](std::size_t pair) { wanted_[pair] = true; });
  }

  std::size_t gain(Point point) const {
    std::size_t gain = 0;
    visit(point, [&](std::size_t pair) { gain += wanted_[pair] ? 1 : 0; });
    return gain;
  }

  void take(Point point) {
    visit(point, [this](std::size_t pair) { wanted_[pair] = false; });
  }

 private:
  template <class Visit>
  void visit(Point point, Visit visit_pair) const {
    std::vector<std::size_t> place;
    for (std::size_t i = 0; i < point.size(); ++i) {
      const std::vector<int>& values = family_.params[i].values;
      const auto at = std::lower_bound(values.begin(), values.end(), point[i]);
      place.push_back(static_cast<std::size_t>(at - values.begin()));
    }
    std::size_t params = 0;  // pairs of them so far
    for (std::size_t a = 0; a < place.size(); ++a) {
      for (std::size_t b = a + 1; b < place.size(); ++b) {
        visit_pair(first_[params++] + place[a] * family_.params[b].values.size() + place[b]);
      }
    }
  }

  const KernelFamily& family_;
  std::vector<std::size_t> first_;  // by pair of parameters
  std::vector<bool> wanted_;
};

// From a few random points the best, while that pays; then whichever adds something, in turn.
void cover_family(const ConfigList& points, const std::vector<std::size_t>& members,
                  std::mt19937_64& random, std::vector<std::size_t>& chosen) {
  constexpr int kDraws = 200;
  constexpr std::size_t kWorthDrawing = 4;
  Pairs pairs(points.family(members.front()));
  for (const std::size_t member : members) pairs.want(points.values(member));
  const auto take = [&](std::size_t member) {
    pairs.take(points.values(member));
    chosen.push_back(member);
  };
  for (;;) {
    std::size_t best = 0, best_gain = 0;
    for (int i = 0; i < kDraws; ++i) {
      const std::size_t member = members[random() % members.size()];
      const std::size_t gain = pairs.gain(points.values(member));
      if (gain > best_gain) {
        best = member;
        best_gain = gain;
      }
    }
    if (best_gain < kWorthDrawing) break;
    take(best);
  }
  for (const std::size_t least : {3U, 2U, 1U}) {
    for (const std::size_t member : members) {
      if (pairs.gain(points.values(member)) >= least) take(member);
    }
  }
}

}  // namespace

std::vector<std::size_t> draw_evenly(std::size_t size, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  count = std::min(size, count);
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = i * size / count, last = (i + 1) * size / count;
    drawn.push_back(first + random() % (last - first));
  }
  return drawn;
}

std::vector<std::size_t> cover_pairs(const ConfigList& points, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<std::string, std::vector<std::size_t>> members;  // by family
  for (std::size_t i = 0; i < points.size(); ++i) members[points.family(i).name].push_back(i);
  std::vector<std::size_t> chosen;
  for (const auto& [name, of_family] : members) cover_family(points, of_family, random, chosen);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace gemm_tune

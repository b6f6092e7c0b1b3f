// SPDX-License-Identifier: Apache-2.0
#include "search/search_space.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace gemm_tune {

SearchSpace::SearchSpace(std::vector<SearchParam> params, std::vector<ValueIndex> places)
    : params_(std::move(params)), places_(std::move(places)) {
  if (params_.empty() ? !places_.empty() : places_.size() % params_.size() != 0) {
    throw std::invalid_argument("a point of a search space needs a value of every parameter");
  }
  size_ = params_.empty() ? 0 : places_.size() / params_.size();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const SearchParam& param = params_[i % params_.size()];
    if (places_[i] >= param.values.size()) {
      throw std::invalid_argument("a point lies outside the values of " + param.name);
    }
  }
  if (size_ >= std::numeric_limits<std::uint32_t>::max() / 2) {
    throw std::invalid_argument("a search space of more than 2^31 points");
  }
  slots_.assign(std::bit_ceil(2 * size_ + 1), static_cast<std::uint32_t>(size_));
  for (std::size_t point = 0; point < size_; ++point) {
    std::size_t slot = first_slot(at(point));
    while (slots_[slot] != size_) slot = (slot + 1) % slots_.size();
    slots_[slot] = static_cast<std::uint32_t>(point);
  }
}

std::size_t SearchSpace::first_slot(std::span<const ValueIndex> places) const {
  std::uint64_t hash = 0x9E3779B97F4A7C15u;
  for (const ValueIndex place : places) {
    hash = (hash ^ place) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash & (slots_.size() - 1);
}

std::optional<std::size_t> SearchSpace::find(std::span<const ValueIndex> places) const {
  for (std::size_t slot = first_slot(places); slots_[slot] != size_;
       slot = (slot + 1) % slots_.size()) {
    if (std::ranges::equal(at(slots_[slot]), places)) return slots_[slot];
  }
  return std::nullopt;
}

std::vector<std::size_t> SearchSpace::neighbours(std::size_t point) const {
  std::vector<std::size_t> found;
  std::vector<ValueIndex> places(at(point).begin(), at(point).end());
  const auto add = [&](std::size_t param, std::size_t place) {
    const ValueIndex here = std::exchange(places[param], static_cast<ValueIndex>(place));
    const std::optional<std::size_t> other = find(places);
    if (other) found.push_back(*other);
    places[param] = here;
    return other.has_value();
  };
  for (std::size_t param = 0; param < params_.size(); ++param) {
    const std::size_t here = places[param];
    for (std::size_t up = here + 1; up < params_[param].values.size(); ++up) {
      if (add(param, up)) break;
    }
    for (std::size_t down = here; down-- > 0;) {
      if (add(param, down)) break;
    }
  }
  return found;
}

SearchSpace search_space(std::span<const KnownConfig> points) {
  std::vector<const KernelFamily*> families;  // in order of appearance
  for (const KnownConfig& point : points) {
    if (std::find(families.begin(), families.end(), point.family) == families.end()) {
      families.push_back(point.family);
    }
  }
  // A launch that no config has adds no dimension. Its parameter is a family's last.
  const bool may_repack =
      std::ranges::any_of(points, [](const KnownConfig& point) { return point.traits.repack; });
  std::vector<std::string> names;
  std::map<const KernelFamily*, std::vector<std::size_t>> name_of;  // by the family's parameter
  for (const KernelFamily* family : families) {
    for (const ParamSpec& param : family->params) {
      if (param.role == Role::repack && !may_repack) continue;
      const auto name = std::find(names.begin(), names.end(), param.name);
      name_of[family].push_back(static_cast<std::size_t>(name - names.begin()));
      if (name == names.end()) names.push_back(param.name);
    }
  }
  std::vector<std::set<int>> values(names.size());  // those that occur
  for (const KnownConfig& point : points) {
    const std::vector<std::size_t>& to = name_of[point.family];
    for (std::size_t i = 0; i < to.size(); ++i) values[to[i]].insert(point.values[i]);
  }

  std::vector<SearchParam> params = {{"family", {}}};
  for (const KernelFamily* family : families) params[0].values.push_back(family->name);
  std::vector<std::map<int, SearchSpace::ValueIndex>> place_of(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    SearchParam param = {names[i], {"-"}};
    for (const int value : values[i]) {
      place_of[i][value] = static_cast<SearchSpace::ValueIndex>(param.values.size());
      param.values.push_back(std::to_string(value));
    }
    params.push_back(std::move(param));
  }
  std::vector<SearchSpace::ValueIndex> places(points.size() * params.size(), 0);
  for (std::size_t p = 0; p < points.size(); ++p) {
    const KernelFamily* family = points[p].family;
    SearchSpace::ValueIndex* of_point = places.data() + p * params.size();
    *of_point = static_cast<SearchSpace::ValueIndex>(
        std::find(families.begin(), families.end(), family) - families.begin());
    const std::vector<std::size_t>& to = name_of[family];
    for (std::size_t i = 0; i < to.size(); ++i) {
      of_point[to[i] + 1] = place_of[to[i]].at(points[p].values[i]);
    }
  }
  return SearchSpace(std::move(params), std::move(places));
}

}  // namespace gemm_tune

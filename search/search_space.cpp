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
  // A parameter that need not be named, and that no config does name, adds no dimension.
  const auto adds_dimension = [&](const KernelFamily* family, std::size_t i) {
    const std::optional<int> unless_named = family->params[i].unless_named;
    return !unless_named || std::ranges::any_of(points, [&](const KnownConfig& point) {
      return point.family == family && point.values[i] != *unless_named;
    });
  };
  std::vector<std::string> names;
  // By the family: where in `names` its parameters are, with their places in the family.
  std::map<const KernelFamily*, std::vector<std::pair<std::size_t, std::size_t>>> name_of;
  for (const KernelFamily* family : families) {
    for (std::size_t i = 0; i < family->params.size(); ++i) {
      if (!adds_dimension(family, i)) continue;
      const auto name = std::find(names.begin(), names.end(), family->params[i].name);
      name_of[family].emplace_back(name - names.begin(), i);
      if (name == names.end()) names.push_back(family->params[i].name);
    }
  }
  std::vector<std::set<int>> values(names.size());  // those that occur
  for (const KnownConfig& point : points) {
    for (const auto& [name, i] : name_of[point.family]) values[name].insert(point.values[i]);
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
    for (const auto& [name, i] : name_of[family]) {
      of_point[name + 1] = place_of[name].at(points[p].values[i]);
    }
  }
  return SearchSpace(std::move(params), std::move(places));
}

}  // namespace gemm_tune

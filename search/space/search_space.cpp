// SPDX-License-Identifier: Apache-2.0
#include "search/space/search_space.h"

#include <algorithm>
#include <bit>
#include <limits>
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
  for (std::size_t point = 0; point < size_; ++point) {
    for (std::size_t i = 0; i < params_.size(); ++i) {
      if (at(point)[i] >= params_[i].values.size()) {
        throw std::invalid_argument("a point lies outside the values of " + params_[i].name);
      }
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

std::vector<std::size_t> SearchSpace::variants(std::size_t point) const {
  std::vector<std::size_t> found;
  std::vector<ValueIndex> places(at(point).begin(), at(point).end());
  for (std::size_t param = 0; param < params_.size(); ++param) {
    const ValueIndex here = places[param];
    for (std::size_t place = 0; place < params_[param].values.size(); ++place) {
      places[param] = static_cast<ValueIndex>(place);
      if (const std::optional<std::size_t> other = find(places); other && place != here) {
        found.push_back(*other);
      }
    }
    places[param] = here;
  }
  return found;
}

SearchSpace search_space(const ConfigList& points) {
  // The values that occur of each parameter of a family, in order of the families' appearance.
  struct Occurring {
    const KernelFamily* family;
    std::vector<std::set<int>> values;
    std::vector<std::optional<std::size_t>> name = {};  // in `names`; nothing: adds no dimension
  };
  std::vector<Occurring> families;
  std::vector<std::size_t> family_of(points.size());  // in `families`
  std::span<const ConfigList::Value> before;
  for (std::size_t p = 0; p < points.size(); ++p) {
    const KernelFamily& family = points.family(p);
    std::size_t& place = family_of[p];
    while (place < families.size() && families[place].family != &family) ++place;
    if (place == families.size()) {
      families.push_back({&family, std::vector<std::set<int>>(family.params.size())});
    }
    const bool follows = p > 0 && family_of[p - 1] == place;
    const std::span<const ConfigList::Value> here = points.values(p);
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (!follows || before[i] != here[i]) families[place].values[i].insert(here[i]);
    }
    before = here;
  }
  std::vector<std::string> names;
  std::vector<std::set<int>> values;  // by name
  for (Occurring& one : families) {
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      const ParamSpec& param = one.family->params[i];
      one.name.emplace_back();
      // A parameter that has its default value in all configs adds no dimension.
      if (param.default_value && one.values[i] == std::set{*param.default_value}) continue;
      const auto name = std::find(names.begin(), names.end(), param.name);
      one.name.back() = static_cast<std::size_t>(name - names.begin());
      if (name == names.end()) {
        names.push_back(param.name);
        values.emplace_back();
      }
      values[*one.name.back()].insert(one.values[i].begin(), one.values[i].end());
    }
  }

  std::vector<SearchParam> params = {{"family", {}}};
  for (const Occurring& one : families) params[0].values.push_back(one.family->name);
  std::vector<std::vector<SearchSpace::ValueIndex>> place_of;  // by name, by value less the least
  for (std::size_t i = 0; i < names.size(); ++i) {
    SearchParam param = {names[i], {"-"}};
    place_of.emplace_back(*values[i].rbegin() - *values[i].begin() + 1);
    for (const int value : values[i]) {
      place_of[i][static_cast<std::size_t>(value - *values[i].begin())] =
          static_cast<SearchSpace::ValueIndex>(param.values.size());
      param.values.push_back(std::to_string(value));
    }
    params.push_back(std::move(param));
  }
  std::vector<int> least;
  for (const std::set<int>& one : values) least.push_back(*one.begin());
  std::vector<SearchSpace::ValueIndex> places(points.size() * params.size(), 0);
  for (std::size_t p = 0; p < points.size(); ++p) {
    const Occurring& of = families[family_of[p]];
    const std::span<const ConfigList::Value> packed = points.values(p);
    SearchSpace::ValueIndex* of_point = places.data() + p * params.size();
    *of_point = static_cast<SearchSpace::ValueIndex>(family_of[p]);
    for (std::size_t i = 0; i < packed.size(); ++i) {
      if (const auto name = of.name[i]) {
        of_point[*name + 1] = place_of[*name][static_cast<std::size_t>(packed[i] - least[*name])];
      }
    }
  }
  return SearchSpace(std::move(params), std::move(places));
}

}  // namespace gemm_tune

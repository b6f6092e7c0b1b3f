// SPDX-License-Identifier: Apache-2.0
// A space as a searcher sees it: named parameters, their values in order, and the valid points.
//
// What the values mean is the caller's affair, so that our own configs and sweeps that others have
// recorded are searched by the same code. A point is its place in the list; its coordinates are
// places in the value lists. No GPU, clock, disk or global state. Immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/space/config_list.h"

namespace gemm_tune {

struct SearchParam {
  std::string name;
  std::vector<std::string> values;  // neighbours in this list are alike
};

class SearchSpace {
 public:
  using ValueIndex = std::uint16_t;

  // places: of each point in turn, the place of each parameter's value. Throws
  // std::invalid_argument where that is no whole number of points or a place lies outside its list.
  SearchSpace(std::vector<SearchParam> params, std::vector<ValueIndex> places);

  std::size_t size() const { return size_; }
  const std::vector<SearchParam>& params() const { return params_; }

  // The places of a point's values, one for each parameter.
  std::span<const ValueIndex> at(std::size_t point) const {
    return {places_.data() + point * params_.size(), params_.size()};
  }

  // The point at these places, where it is valid; the first of equal ones.
  std::optional<std::size_t> find(std::span<const ValueIndex> places) const;

  // The points that differ from this one in one parameter, changed to the nearest value, up or
  // down, that gives a valid point.
  std::vector<std::size_t> neighbours(std::size_t point) const;

  // The points that differ from this one in one parameter, whatever its value.
  std::vector<std::size_t> variants(std::size_t point) const;

 private:
  std::size_t first_slot(std::span<const ValueIndex> places) const;

  std::vector<SearchParam> params_;
  std::vector<ValueIndex> places_;
  std::size_t size_ = 0;
  std::vector<std::uint32_t> slots_;  // a hash table of points; size_ for a free slot
};

// Configs of any number of families. The parameters are the family and then those of all families
// by name; one that a family lacks has the value "-" there, below all others.
SearchSpace search_space(const ConfigList& points);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "search/space/config_list.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace gemm_tune {

ConfigList::ConfigList(const std::vector<KnownConfig>& configs) {
  for (const KnownConfig& config : configs) add(*config.family, config.values);
}

void ConfigList::add(const KernelFamily& family, Values values) {
  using Limits = std::numeric_limits<Value>;
  for (const int value : values) {
    if (value < Limits::min() || value > Limits::max()) {
      throw std::out_of_range("a parameter's value beyond 16 bits");
    }
  }
  if (runs_.empty() || runs_.back().family != &family) {
    runs_.push_back({&family, size_, values_.size()});
  }
  for (const int value : values) values_.push_back(static_cast<Value>(value));
  ++size_;
}

const ConfigList::Run& ConfigList::run_of(std::size_t config) const {
  if (config >= size_) throw std::out_of_range("a config beyond the end of its list");
  return *std::prev(
      std::upper_bound(runs_.begin(), runs_.end(), config,
                       [](std::size_t one, const Run& run) { return one < run.first; }));
}

const KernelFamily& ConfigList::family(std::size_t config) const { return *run_of(config).family; }

std::span<const ConfigList::Value> ConfigList::values(std::size_t config) const {
  const Run& run = run_of(config);
  const std::size_t count = run.family->params.size();
  return {values_.data() + run.first_value + (config - run.first) * count, count};
}

KnownConfig ConfigList::operator[](std::size_t config) const {
  const std::span<const Value> packed = values(config);
  return known_config(family(config), {packed.begin(), packed.end()});
}

}  // namespace gemm_tune

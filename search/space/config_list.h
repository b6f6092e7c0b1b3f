// SPDX-License-Identifier: Apache-2.0
// Configs as packed numbers: two bytes for each parameter's value.
//
// A space has a million of them, of which a search looks at few: traits and recipe, ten times as
// many bytes, are derived whenever a config is asked for. That takes about a microsecond. The
// families must outlive the list. Threads may read it at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

class ConfigList {
 public:
  using Value = std::int16_t;

  ConfigList() = default;
  ConfigList(const std::vector<KnownConfig>& configs);

  // Adds the config of these values, which break no rule of the family. Throws std::out_of_range
  // for a value that two bytes do not hold.
  void add(const KernelFamily& family, Values values);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const KernelFamily& family(std::size_t config) const;
  std::span<const Value> values(std::size_t config) const;
  KnownConfig operator[](std::size_t config) const;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = KnownConfig;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = KnownConfig;

    Iterator(const ConfigList& list, std::size_t config) : list_(&list), config_(config) {}
    KnownConfig operator*() const { return (*list_)[config_]; }
    Iterator& operator++() {
      ++config_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return config_ == other.config_; }
    bool operator!=(const Iterator& other) const { return config_ != other.config_; }

   private:
    const ConfigList* list_;
    std::size_t config_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  // Neighbours of one family.
  struct Run {
    const KernelFamily* family;
    std::size_t first, first_value;
  };
  const Run& run_of(std::size_t config) const;

  std::vector<Run> runs_;
  std::vector<Value> values_;
  std::size_t size_ = 0;
};

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Winners for calls whose rows must have the same bits for every M.
//
// For each N, K, batch, layout, epilogue and signature on a device one order of sums
// (kernel_templates/registry/order_of_sums.h) is chosen, which never depends on M, and only kernels
// of this order serve. Immutable; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "choose/winner_index.h"

namespace gemm_tune {

// A kernel of a problem's order, legal for the problem.
struct OrderedServing {
  const Winner* winner = nullptr;
  KnownConfig config;
  bool is_specialisation = false;
};

class OneOrder {
 public:
  // winners: for each order of sums, the best kernel of each problem that has it.
  explicit OneOrder(std::vector<Winner> winners = {});
  OneOrder(OneOrder&&) = default;  // its winners stay where they are
  OneOrder& operator=(OneOrder&&) = default;

  // The order in which such calls are added up on the device; nullopt where nothing was tuned for
  // the problem's sizes but M. Of the orders that were tried the one with verified winners at the
  // most M, then with measured ones, then with any; then that with the least loss on the average
  // against the best of all orders; then the first text.
  const std::string* order_for(const DeviceKey& device, const Problem& problem) const;

  // At how many M finals have verified a winner of that order.
  std::size_t verified_at(const DeviceKey& device, const Problem& problem) const;

  // The winner of the nearest M that serves in this order. nullopt: none is legal, or nothing was
  // tuned.
  std::optional<OrderedServing> nearest(const DeviceKey& device, const Problem& problem) const;

 private:
  using Key = std::tuple<std::string, int, Signature, Layout, Epilogue, std::int64_t, std::int64_t,
                         std::int64_t, BatchKind>;
  struct Group {
    std::string order;
    std::size_t verified = 0;
    std::vector<const Winner*> winners;  // of the order
  };
  static Key key_of(const DeviceKey& device, const Problem& problem);
  const Group* group_of(const DeviceKey& device, const Problem& problem) const;

  std::vector<Winner> winners_;  // stay where they are
  std::map<Key, Group> groups_;
};

// The first of the config's served_variants() that has the order and is legal for the problem.
std::optional<LegalConfig> legal_in_order(const KnownConfig& config, std::string_view order,
                                          const Problem& problem);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/registry/order_of_sums.h"

#include <functional>
#include <map>

#include "kernel_templates/registry/families.h"

namespace gemm_tune {

std::optional<std::string> order_of_sums(const KnownConfig& config) {
  using Order = std::optional<std::string> (*)(Values);
#define GT_NAME_AND_ORDER(name) {#name, &name::order_of_sums},
  static const std::map<std::string, Order, std::less<>> kOrders = {
      GT_FAMILIES_WITH_ORDER(GT_NAME_AND_ORDER)};
#undef GT_NAME_AND_ORDER
  const auto of_family = kOrders.find(config.family->name);
  if (of_family == kOrders.end() || config.family->is_users()) return std::nullopt;
  const std::optional<std::string> order = of_family->second(config.values);
  return order ? std::optional(config.family->name + " " + *order) : std::nullopt;
}

}  // namespace gemm_tune

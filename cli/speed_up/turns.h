// SPDX-License-Identifier: Apache-2.0
// Which products of a running program are searched next, and for how long.
//
// What a program multiplies later is not known yet, so that no turn takes more than half of the
// time that is left. Time is passed in. One thread.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/capture/wanted_problems.h"

namespace gemm_tune {

struct Turn {
  std::vector<WantedProblem> products;
  std::chrono::seconds time{};
};

class Turns {
 public:
  // The costliest products of those that had the fewest turns and whose searches have not come to
  // their end; as many as are searched at once on one GPU. Their time is their share, by cost, of
  // what is left, but enough to find something. Without products where none is left.
  Turn next(const std::vector<WantedProblem>& wanted, std::chrono::seconds left);

  // The product's search has come to its end.
  void finish(const std::string& product) { finished_.insert(product); }

 private:
  std::map<std::string, int> had_;  // by the product's text
  std::set<std::string> finished_;
};

}  // namespace gemm_tune

// The valid points of one or more families, enumerated with pruning, and the funnel of what was
// not.
//
// A rule is applied as soon as the parameters it reads are chosen, so that a raw product far larger
// than the valid set enumerates in time proportional to the latter. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernel_templates/registry.h"

namespace gemm_tune {

struct Space {
  std::vector<KnownConfig> points;  // valid, in enumeration order
  std::uint64_t enumerated = 0;     // the raw product over all families
  std::map<std::string, std::uint64_t>
      rejected;  // raw points by the reason of the first rule broken
};

// A parameter that is not the search's to choose.
struct FixedParam {
  std::string name;
  int value = 0;
};

// enumerated == points.size() + the sum over rejected. Points hold pointers into families. Within a
// family the last parameter varies fastest. A family that has one of the fixed parameters is
// enumerated with that value of it only; others of its values are no part of the space.
Space enumerate(std::span<const KernelFamily> families, std::span<const FixedParam> fixed = {});

}  // namespace gemm_tune

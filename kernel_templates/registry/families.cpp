// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/registry/families.h"

namespace gemm_tune {

std::vector<KernelFamily> built_in_families() {
#define GT_CALL_FAMILY(name) name::family(),
  return {GT_FAMILIES(GT_CALL_FAMILY)};
#undef GT_CALL_FAMILY
}

}  // namespace gemm_tune

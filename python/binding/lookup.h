// SPDX-License-Identifier: Apache-2.0
// gt_lookup() and gt_lookup_call() for Python: a recipe's fields as a dict.
//
// The caller holds the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>

namespace gemm_tune {

// type: a gt_type. arch: nothing for the current device.
nanobind::dict lookup(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t batch,
                      bool trans_a, bool trans_b, int type, int type_of_result, int alignment,
                      std::optional<std::string> arch, std::optional<std::string> name,
                      int sm_count);

// Of the arguments of matmul().
nanobind::dict lookup_call(nanobind::handle a, nanobind::handle b, nanobind::handle bias,
                           nanobind::handle out);

}  // namespace gemm_tune

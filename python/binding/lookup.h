// SPDX-License-Identifier: Apache-2.0
// gt_lookup() for Python: a recipe's fields as a dict.
//
// The caller holds the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

namespace gemm_tune {

// problem: as gemm-tune writes it. arch: nothing for the current device.
nanobind::dict lookup(const std::string& problem, std::optional<std::string> arch,
                      std::optional<std::string> name, int sm_count);

// Of the arguments of matmul().
nanobind::dict lookup_call(nanobind::handle a, nanobind::handle b, nanobind::handle bias,
                           nanobind::handle out);

}  // namespace gemm_tune

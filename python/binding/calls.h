// SPDX-License-Identifier: Apache-2.0
// The calls of gt_gemm that matmul() makes, for tests and for figures of the host's time.
//
// The caller holds the GIL.
#pragma once

#include <nanobind/nanobind.h>

namespace gemm_tune {

// All that matmul() does but gt_gemm, with arrays in any memory. The calls' fields.
nanobind::list calls_of(nanobind::handle a, nanobind::handle b, nanobind::handle bias,
                        nanobind::handle out, nanobind::handle activation,
                        nanobind::handle accuracy);

// The same; the result.
nanobind::object prepare_only(nanobind::handle a, nanobind::handle b, nanobind::handle bias,
                              nanobind::handle out);

// gt_gemm's address, the handle, the stream and the call's bytes.
nanobind::tuple c_call_of(nanobind::handle a, nanobind::handle b, nanobind::handle bias,
                          nanobind::handle out);

}  // namespace gemm_tune

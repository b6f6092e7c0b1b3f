// SPDX-License-Identifier: Apache-2.0
// The handle of the library that all calls of the module use, and its statuses as exceptions.
//
// The caller holds the GIL.
#pragma once

#include <optional>
#include <string>

#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune {

// Raises the exception of gemm_tune/_errors.py of this name.
[[noreturn]] void raise(const char* error, const std::string& sentence);

// Raises the status's exception with the library's sentence, unless it is GT_OK.
void check(gt_status status);

// Throws ArgumentError where C would read another text.
const char* text_or_null(const std::optional<std::string>& text);

// The options are those of gt_open(). Earlier handles stay open: their kernels may be at work,
// or in a graph.
void open(const std::optional<std::string>& database,
          const std::optional<std::string>& kernel_cache, int policy, double refine_ms,
          const std::optional<std::string>& refined_choices);

// That of open(), else one with the defaults.
gt_handle* handle();

// Reads the database again.
void reload();

// As gt_load_family().
void load_family_of(const std::string& file);

}  // namespace gemm_tune

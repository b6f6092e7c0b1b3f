// SPDX-License-Identifier: Apache-2.0
// The report's lines: JSON objects, one a line, so that processes may add theirs to one file.
//
// Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "dispatch/preload/report/shape_table.h"

namespace gemm_tune::preload {

// Of the process: "pid", "program" (the path of its executable), "error" where something of
// gemm-tune's failed (the first sentence), "beyond_table" where calls were declined since the
// process had too many different shapes.
std::string process_line(int pid, const std::string& program, const std::string& error,
                         std::uint64_t beyond_table);

// Of a shape, in cuBLAS's terms: "function", "m", "n", "k", "batch", "batch_kind", "op_a", "op_b",
// "lda", "ldb", "ldc", "type_a", "type_b", "type_c", "compute_type", "algorithm", "epilogue",
// "device", "alignments", in bytes, of A, B and C; "served", a count; "declined", an object of a
// count for each reason; "tunable", the number of the declined calls that may be served once the
// shape has been tuned; "accuracy", where GEMM_TUNE_BLAS_ACCURACY names the class in which they are
// served; where some were timed, "timed", their number, and "gpu_us", their GPU time; where the
// database has both, "expected_us" and "cublas_us", what it expects of a call served and of cuBLAS.
std::string shape_line(int pid, const Shape& shape);

// In one write, so that the lines of several processes do not mix. A file that cannot be written
// stays as it is: the process is about to exit, and nobody is there to be told.
void append_to(const std::string& file, const std::string& text);

}  // namespace gemm_tune::preload

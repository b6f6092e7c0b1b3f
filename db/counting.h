// SPDX-License-Identifier: Apache-2.0
// Which of the measurements of one candidate counts.
//
// A candidate is a config of a kernel for a problem on a device, from one source. If its latest row
// is a failure, that row counts; else its latest row of finals; else its latest ok row. Private to
// db/. Stateless; any thread.
#pragma once

namespace gemm_tune {

// Sets measurements.counts; ends before a WHERE, which may name the rows to set: all rows of each
// candidate that it touches, as kOfCandidate does.
extern const char* const kRecount;

// The rows of one candidate, by :device, :problem, :config, :kernel and :source.
extern const char* const kOfCandidate;

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Which of a candidate's measurements counts.
//
// The rows are those of a candidate for a problem on a device, from one source. If its latest row
// is a failure, that row counts; else its latest row of finals; else its latest ok row. Private to
// db/. Stateless; any thread.
#pragma once

namespace gemm_tune {

// Sets measurements.counts for all rows. A WHERE may follow to limit the rows; it must select
// either all rows of a candidate or none, as kOfCandidate does.
extern const char* const kRecount;

// A WHERE for the rows of one candidate: :device, :problem, :candidate and :source.
extern const char* const kOfCandidate;

}  // namespace gemm_tune

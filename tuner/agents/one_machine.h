// SPDX-License-Identifier: Apache-2.0
// Work on the GPUs of this machine alone: a job of one agent, in a thread beside, with the broker
// and the scheduler of a job of many machines. Private threads have the searches; what is to be
// told is told in the caller's thread.
#pragma once

#include <vector>

#include "tuner/job/bench.h"
#include "tuner/job/tune.h"

namespace gemm_tune {

// From problems and a device to winners in the database. Calls on_progress and on_finished in this
// thread. Throws DeviceError if a worker's environment fails and DatabaseError if a row cannot be
// stored. Rows stored before remain.
TuneReport tune(const TuneRequest& request, Database& database, const OnProgress& on_progress,
                const OnFinished& on_finished = nullptr);

// tuner/job/bench.h. Calls on_row in this thread.
std::vector<BenchRow> bench(const TuneRequest& request, const std::vector<Benched>& all,
                            const std::function<void(const BenchRow&)>& on_row);

}  // namespace gemm_tune

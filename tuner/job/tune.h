// SPDX-License-Identifier: Apache-2.0
// The main job: from problems and a device to winners in the database.
//
// enumerate -> reject by rule -> compile -> reject by resources -> rank -> verify -> time -> store
// -> best. Worker processes compile and run the candidates; this process never uses a GPU. Without
// `measure`, the static model replaces the clock, and every row says so. Valid results of earlier
// runs are not tried again.
#pragma once

#include <span>
#include <vector>

#include "db/database.h"
#include "tuner/plan/problem_report.h"
#include "tuner/plan/tune_request.h"
#include "tuner/work/task_pool.h"

namespace gemm_tune {

struct TuneReport {
  std::vector<ProblemReport> problems;  // the problems that were begun
  bool interrupted = false;             // whether the request asked for it
  bool unfinished = false;              // it was, and the same request would go on
  bool out_of_time = false;
};

// As many problems are under way at a time as there are lanes. A lane is a thread with its own view
// of the workers, which tune() uses from that thread alone. Calls on_progress and on_finished from
// those threads, one at a time, and on_finished in the request's order: where a problem ends before
// an earlier one, once this has ended or the run ends. A lane that fails, also in these calls, ends
// the others, and its exception is thrown: DeviceError if a worker's environment fails and
// DatabaseError if a row cannot be stored. Rows stored before remain.
//
// tuner/agents/one_machine.h has it for the GPUs of this machine.
TuneReport tune(const TuneRequest& request, Database& database, std::span<TaskPools* const> lanes,
                const OnProgress& on_progress, const OnFinished& on_finished);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// The main job: from problems and a device to winners in the database.
//
// enumerate -> reject by rule -> compile -> reject by resources -> rank -> verify -> time -> store
// -> best. Candidates are compiled and run in worker processes; this side never touches a GPU. With
// `measure` off it ranks by the static model instead of the clock, and every row says so. What
// earlier runs stored and still holds is not tried again.
#pragma once

#include <vector>

#include "db/database.h"
#include "tuner/job/problem_report.h"
#include "tuner/job/tune_request.h"

namespace gemm_tune {

struct TuneReport {
  std::vector<ProblemReport> problems;  // those begun
  bool interrupted = false;             // by a signal
  bool out_of_time = false;
};

// Throws DeviceError where a worker's environment fails and DatabaseError where a row cannot be
// stored; what was stored before remains.
TuneReport tune(const TuneRequest& request, Database& database, const OnProgress& on_progress,
                const OnFinished& on_finished = nullptr);

}  // namespace gemm_tune

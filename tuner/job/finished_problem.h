// SPDX-License-Identifier: Apache-2.0
// The report of a problem whose search and finals have ended.
#pragma once

#include "tuner/job/finals.h"
#include "tuner/job/search.h"
#include "tuner/plan/plan.h"
#include "tuner/plan/problem_report.h"
#include "tuner/plan/tune_request.h"

namespace gemm_tune {

// Without what the run alone knows: its time, the utilisation of the workers, and what was retried.
// Waits for the search's expected gain.
ProblemReport report_of(const TuneRequest& request, const Plan& plan, Searched searched,
                        const FinalsResult& finals);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// A cluster in virtual time: tuner/cluster's scheduler itself, with fake agents and a fake rank 0
// whose service times were recorded on a real GPU.
//
// Rank 0 has one broker (a thread that handles messages one after the other), a link, and cores
// that the searches share: each enumerates its space once and asks its strategy for each candidate.
// Searches go as in tuner/job, several beside one another. Timings of candidates decide nothing:
// each problem tries those that were recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tuner/cluster/scheduler.h"

namespace gemm_tune {

// A problem of a recorded run.
struct RecordedProblem {
  struct Try {
    std::size_t config = 0;  // a number; equal configs are compiled once
    double compile_s = 0;
    double gpu_s = 0;  // 0: rejected after its compilation
  };
  std::string name;
  double plan_s = 0;                // rank 0: enumeration of the space
  double finals_s = 0;              // on the GPU
  std::size_t specialisations = 0;  // of the winner: compiled and verified after the finals
  double specialisation_compile_s = 0, specialisation_gpu_s = 0;  // of each
  std::vector<Try> tries;
};

// What research/cluster_recording.py writes. Throws UsageError, with the line, where the text is
// none.
//
//   problem NAME PLAN_S FINALS_S SPECIALISATIONS SPECIALISATION_COMPILE_S SPECIALISATION_GPU_S
//   try CONFIG COMPILE_S GPU_S       (any number, in order)
//
// Lines that begin with '#' are comments.
std::vector<RecordedProblem> read_recording(std::istream& in);

struct SimulatedCluster {
  std::size_t agents = 1;
  std::size_t compilers = 15, gpus = 1;  // of each agent
  std::size_t problems = 1;              // the recorded ones, again and again
  std::size_t problems_of_a_gpu = 0;     // at once; 0: as problems_at_once() has it
  // Searches.
  double start_s = 0;         // of the program, until the first problem is planned
  std::size_t leaders = 0;    // the first candidates of a problem, compiled while it is planned
  std::size_t abandoned = 0;  // the last ones: under way when the search is over, not waited for
  std::size_t kernels = 1;    // that finals may hand out: each has its specialisations
  // Of how many of them specialisations are begun with the finals.
  std::size_t specialisations_ahead = 0;
  bool specialisations_in_turn = false;  // compiled and verified one after the other
  // Rank 0.
  std::size_t cores = 64;     // that its searches may use
  double ask_s = 0.006;       // a core's time for each candidate: choice, answers, storing
  double message_s = 0.0001;  // the broker's time for each message
  double latency_s = 0.001;   // of a message, polling included
  double bytes_per_s = 1e9;   // of rank 0's link, each way
  double cubin_bytes = 40000, message_bytes = 2000;
  // Failures. A lost agent is noticed after some time, and comes back.
  double losses_per_hour = 0;  // of each agent
  double noticed_after_s = 2, back_after_s = 300;
  double stragglers = 0,
         straggler_factor = 1;  // the share of agents that take so many times as long
  std::uint64_t seed = 1;
  SchedulerRules rules = {};
};

// When the first problem's search came to its steps.
struct Timeline {
  double planned_s = 0, first_result_s = 0, searched_s = 0, finals_s = 0, ranked_s = 0;
};

struct SimulatedRun {
  double makespan_s = 0;
  Timeline first;
  double last_begun_s = 0;  // when the last problem was begun: then GPUs begin to have none
  double compilers_busy = 0, gpus_busy = 0;  // shares of the makespan
  double cores_busy = 0, broker_busy = 0, link_busy = 0;
  std::uint64_t messages = 0;
  double bytes = 0;
  std::uint64_t events = 0, lost_agents = 0;
  std::size_t tasks_ended = 0, tasks_lost = 0, tasks_submitted = 0;
  std::size_t most_problems = 0;  // under way at once, being planned included
};

// Throws UsageError if the cluster lacks something or there is nothing to do.
SimulatedRun simulate(const SimulatedCluster& cluster,
                      const std::vector<RecordedProblem>& recording);

// A sentence on what keeps the run from being faster.
std::string limit_of(const SimulatedCluster& cluster, const SimulatedRun& run);

}  // namespace gemm_tune

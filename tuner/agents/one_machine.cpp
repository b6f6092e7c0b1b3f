// SPDX-License-Identifier: Apache-2.0
#include "tuner/agents/one_machine.h"

#include <functional>
#include <span>

#include "core/error.h"
#include "tuner/agents/leader.h"

namespace gemm_tune {
namespace {

// Without the name of a host: losses are of "this machine" by themselves.
AgentFacts facts_of(const TuneRequest& request) {
  AgentFacts facts;
  facts.target.spec = request.device;
  facts.target.measurable = request.measure;
  facts.target.ordinals = request.ordinals;
  facts.jobs = request.jobs;
  return facts;
}

// Calls `work` in a thread beside, with lanes for so many problems, and serves it meanwhile.
void on_this_machine(
    const TuneRequest& request, std::size_t problems,
    const std::function<void(Broker& broker, std::span<TaskPools* const> lanes)>& work) {
  const auto lead_here = [&](Broker& broker) {
    for (const AgentFacts& one : broker.gather([](const std::vector<int>&) {})) {
      if (one.has_bad_options) throw UsageError(one.failure);
      if (!one.failure.empty()) throw DeviceError(one.failure);
    }
    const AgentFacts facts = facts_of(request);
    const GroupWork group = {group_of(facts), problems,
                             [&](std::span<TaskPools* const> lanes) { work(broker, lanes); }};
    lead(
        broker, {&group, 1}, [](const auto&) {}, [](const NodeStatus&) {});
  };
  with_own_agent([&] { return facts_of(request); }, request.worker, nullptr, request.interruption,
                 lead_here, request.worker_clock, request.gpu_share);
}

}  // namespace

TuneReport tune(const TuneRequest& request, Database& database, const OnProgress& on_progress,
                const OnFinished& on_finished) {
  TuneReport report;
  on_this_machine(
      request, request.problems.size(), [&](Broker& broker, std::span<TaskPools* const> lanes) {
        const auto tell_progress = [&](Progress progress) {
          progress.problem = &request.problems[progress.number - 1];  // the search's own may end
          broker.call_soon([&on_progress, progress] { on_progress(progress); });
        };
        const auto tell_finished = [&](const ProblemReport& problem) {
          broker.call_soon([&on_finished, problem] { on_finished(problem); });
        };
        report = tune(request, database, lanes, tell_progress,
                      on_finished ? OnFinished(tell_finished) : nullptr);
      });
  // The caller's functions may ask for the end after the lanes have ended.
  report.interrupted = request.interruption.requested();
  return report;
}

std::vector<BenchRow> bench(const TuneRequest& request, const std::vector<Benched>& all,
                            const std::function<void(const BenchRow&)>& on_row) {
  std::vector<BenchRow> rows;
  on_this_machine(request, 1, [&](Broker& broker, std::span<TaskPools* const> lanes) {
    rows = bench(request, all, *lanes.front(),
                 [&](const BenchRow& row) { broker.call_soon([&on_row, row] { on_row(row); }); });
  });
  return rows;
}

}  // namespace gemm_tune

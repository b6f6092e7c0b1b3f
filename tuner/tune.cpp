#include "tuner/tune.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/error.h"
#include "kernel_templates/source.h"
#include "search/space.h"
#include "search/static_model.h"
#include "search/strategy.h"
#include "tuner/filter.h"
#include "tuner/interrupt.h"
#include "tuner/protocol.h"
#include "tuner/scratch_dir.h"
#include "tuner/worker_pool.h"

namespace gemm_tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kCompileLimit{120};
constexpr std::size_t kFinalists = 8;
// A candidate this much slower than the best so far is timed with the fewest samples.
constexpr double kSlow = 1.3;
constexpr std::chrono::milliseconds kHeartbeat{1000};

// Generous: verification needs a few launches, timing at most some tens; the slowest rung runs at
// about 0.1 TFLOP/s on the smallest card of the table.
std::chrono::seconds measure_limit(const Problem& problem) {
  constexpr double kSlowestFlopsPerSecond = 1e11;
  return std::chrono::seconds(60 + static_cast<long>(20 * flops(problem) / kSlowestFlopsPerSecond));
}

std::vector<double> prior_times(const std::vector<KnownConfig>& points, const Problem& problem,
                                const DeviceSpec& device) {
  std::vector<double> times;
  times.reserve(points.size());
  for (const KnownConfig& point : points) {
    times.push_back(predict(point.traits, problem, device).time_us);
  }
  return times;
}

// Everything one request shares between its problems.
struct Session {
  const TuneRequest& request;
  Database& database;
  const OnProgress& on_progress;
  ScratchDir cubins;
  WorkerPool compilers;
  WorkerPool measurer;
  std::map<std::string, CompileReply> compiled;  // by config text
  std::optional<Clock::time_point> deadline;     // of the current problem

  std::map<std::string, std::string> kernel_hashes;  // by family name

  const std::string& kernel_hash(const KernelFamily& family) {
    std::string& hash = kernel_hashes[family.name];
    if (hash.empty()) hash = kernel_source(family, request.kernel_dir).hash;
    return hash;
  }

  bool must_stop() const { return interrupted() || (deadline && Clock::now() >= *deadline); }
};

// One problem's search, from its candidates to its winner.
class ProblemSearch {
 public:
  ProblemSearch(Session& session, const Problem& problem)
      : session_(session),
        problem_(problem),
        device_(session.request.device),
        key_(device_key(session.request.device)) {}

  ProblemReport run() {
    const Clock::time_point start = Clock::now();
    report_.problem = problem_;
    Candidates candidates = candidates_for(session_.request, problem_);
    points_ = std::move(candidates.points);
    report_.funnel = std::move(candidates.funnel);
    if (!points_.empty()) {
      search();
      choose_winner();
    }
    report_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return std::move(report_);
  }

 private:
  struct Finisher {
    std::size_t point;
    double time_us;
    bool in_finals = false;
  };

  void search() {
    const bool explicit_list = !session_.request.only.empty();
    const std::size_t default_budget =
        session_.request.measure ? kMeasuredBudget : kPredictedBudget;
    budget_ =
        std::min(points_.size(),
                 explicit_list ? points_.size() : session_.request.budget.value_or(default_budget));
    strategy_ = make_guided(points_, prior_times(points_, problem_, device_), budget_,
                            session_.request.seed);
    // Enough under way that neither the compilers nor the GPU wait for the other.
    const std::size_t ahead = 2 * session_.compilers.size() + 2;
    bool exhausted = false;
    tell_progress("searching");
    while (!session_.must_stop()) {
      while (!exhausted && asked_ < budget_ && under_way_ < ahead) {
        const std::vector<std::size_t> next = strategy_->ask(1);
        exhausted = next.empty();
        for (const std::size_t point : next) begin(point);
      }
      if (under_way_ == 0) break;
      WorkerPool::wait({&session_.compilers, &session_.measurer}, kHeartbeat);
      tell_progress("searching");
    }
    report_.funnel.tried = asked_;
    report_.funnel.unfinished = under_way_;
    if (under_way_ > 0) {
      session_.compilers.abandon();
      session_.measurer.abandon();
    }
  }

  void begin(std::size_t point) {
    ++asked_;
    ++under_way_;
    const std::string config = to_string(points_[point].config());
    if (const auto known = session_.compiled.find(config); known != session_.compiled.end()) {
      return after_compile(point, known->second);
    }
    compile(
        config, [this, point](const CompileReply& reply) { after_compile(point, reply); },
        [this, point](Outcome outcome) { finish(point, std::move(outcome)); });
  }

  // Calls `then` with the reply, or `failed` where the compiler itself died or hung.
  void compile(const std::string& config, std::function<void(const CompileReply&)> then,
               std::function<void(Outcome)> failed) {
    const CompileRequest request{
        config, device_.arch,
        session_.request.kernel_dir ? session_.request.kernel_dir->string() : "",
        session_.cubins.path().string()};
    session_.compilers.submit(
        {"compile", request, kCompileLimit,
         [this, config, then = std::move(then), failed = std::move(failed)](TaskResult result) {
           if (result.status == TaskResult::Status::refused) throw DeviceError(result.detail);
           if (result.status != TaskResult::Status::reply) {
             return failed(failure_of(result, "compiler"));
           }
           then(session_.compiled.emplace(config, result.reply.get<CompileReply>()).first->second);
         }});
  }

  static Outcome failure_of(const TaskResult& result, const std::string& step) {
    Outcome outcome;
    outcome.disposition = result.status == TaskResult::Status::timed_out ? Disposition::timed_out
                                                                         : Disposition::crashed;
    outcome.detail = step + ": " + result.detail;
    return outcome;
  }

  void after_compile(std::size_t point, const CompileReply& reply) {
    Outcome outcome;
    if (!reply.ok) {
      outcome.disposition = Disposition::compile_failed;
      outcome.detail = reply.log;
      return finish(point, std::move(outcome));
    }
    outcome.resources = complete_resources(reply.resources, points_[point], device_);
    outcome.predicted_us =
        predict(points_[point].traits, problem_, device_, outcome.resources).time_us;
    if (auto reason = reject_after_compile(*outcome.resources)) {
      outcome.disposition = Disposition::rejected;
      outcome.detail = *reason;
      return finish(point, std::move(outcome));
    }
    if (!session_.request.measure) return finish(point, std::move(outcome));
    measure(point, reply, std::move(outcome));
  }

  MeasureRequest measure_request(const std::string& config, const CompileReply& reply) const {
    MeasureRequest request;
    request.ordinal = session_.request.ordinal;
    request.problem = problem_;
    request.candidate = {config, reply.cubin_key};
    request.cache_dir = session_.cubins.path().string();
    request.seed = session_.request.seed;
    return request;
  }

  void measure(std::size_t point, const CompileReply& reply, Outcome compiled) {
    MeasureRequest request = measure_request(reply.config, reply);
    if (best_us_) request.cutoff_us = kSlow * *best_us_;
    session_.measurer.submit(
        {"measure", request, measure_limit(problem_), [this, point, compiled](TaskResult result) {
           if (result.status == TaskResult::Status::refused) throw DeviceError(result.detail);
           Outcome outcome = compiled;
           if (result.status != TaskResult::Status::reply) {
             const Outcome failure = failure_of(result, "GPU");
             outcome.disposition = failure.disposition;
             outcome.detail = failure.detail;
             return finish(point, std::move(outcome));
           }
           const Outcome measured = result.reply.get<MeasureReply>().outcome;
           outcome.disposition = measured.disposition;
           outcome.detail = measured.detail;
           outcome.timing = measured.timing;
           if (measured.resources &&
               measured.resources->ctas_per_sm != compiled.resources->ctas_per_sm) {
             ++report_.occupancy_disagreements;
             outcome.resources->ctas_per_sm = measured.resources->ctas_per_sm;
           }
           finish(point, std::move(outcome));
         }});
  }

  // Stores the outcome, counts it and tells the strategy.
  void finish(std::size_t point, Outcome outcome) {
    --under_way_;
    ++done_;
    std::optional<double> time_us;
    if (outcome.disposition == Disposition::ok) {
      time_us = outcome.timing ? outcome.timing->median_us : outcome.predicted_us;
    }
    store(points_[point], outcome);
    count(outcome);
    strategy_->tell(point, time_us);
    if (!time_us) return;
    if (!best_us_ || *time_us < *best_us_) best_us_ = time_us;
    finishers_.push_back({point, *time_us});
    outcomes_.emplace(point, std::move(outcome));
  }

  void store(const KnownConfig& config, const Outcome& outcome) {
    session_.database.store(key_, problem_, to_string(config.config()),
                            session_.kernel_hash(*config.family), outcome,
                            session_.request.measure ? Source::measured : Source::predicted);
  }

  void count(const Outcome& outcome) {
    Funnel& funnel = report_.funnel;
    switch (outcome.disposition) {
      case Disposition::ok:
        ++funnel.survived;
        return;
      case Disposition::rejected:
        ++funnel.rejected_by_resources[outcome.detail];
        return;
      case Disposition::compile_failed:
        ++funnel.compile_failed[outcome.detail];
        return;
      default:
        ++funnel.failed_on_gpu[std::string(to_string(outcome.disposition))];
    }
  }

  void choose_winner() {
    if (finishers_.empty()) return;
    rank();
    if (session_.request.measure && !interrupted()) {
      run_finals();
      while (!finishers_.empty() && !twins_are_right(finishers_.front().point)) {
        finishers_.erase(finishers_.begin());
      }
      if (finishers_.empty()) return;
      report_.twins_verified = true;
    }
    const std::size_t point = finishers_.front().point;
    report_.winner = TuneWinner{points_[point], outcomes_.at(point), baseline_};
  }

  // Best first; equal times in the database's order, which is that of the config texts.
  void rank() {
    std::sort(finishers_.begin(), finishers_.end(), [this](const Finisher& a, const Finisher& b) {
      if (a.time_us != b.time_us) return a.time_us < b.time_us;
      return to_string(points_[a.point].config()) < to_string(points_[b.point].config());
    });
  }

  // The best few and cuBLAS once more, interleaved: what decides, and what is stored. Again with
  // the next few where those turn out slower than a candidate that was not among them.
  void run_finals() {
    constexpr int kMaxRounds = 5;
    for (int round = 0; round < kMaxRounds; ++round) {
      std::vector<Finisher*> finalists;
      for (Finisher& finisher : finishers_) {
        if (!finisher.in_finals && finalists.size() < kFinalists) finalists.push_back(&finisher);
      }
      if (finalists.empty()) return;
      time_finalists(finalists);
      rank();
      if (finishers_.front().in_finals) return;
    }
  }

  void time_finalists(const std::vector<Finisher*>& finalists) {
    tell_progress("finals");
    FinalsRequest request;
    request.ordinal = session_.request.ordinal;
    request.problem = problem_;
    request.cache_dir = session_.cubins.path().string();
    request.seed = session_.request.seed;
    for (const Finisher* finalist : finalists) {
      const CompileReply& reply = compile_reply(finalist->point);
      request.finalists.push_back({reply.config, reply.cubin_key});
    }
    const auto reply =
        session_.measurer.call("finals", request, measure_limit(problem_)).get<FinalsReply>();
    baseline_ = Baseline{reply.baseline_name, reply.baseline};
    session_.database.store_baseline(key_, problem_, *baseline_);
    for (std::size_t i = 0; i < finalists.size(); ++i) {
      Finisher& finalist = *finalists[i];
      Outcome& outcome = outcomes_.at(finalist.point);
      outcome.timing = reply.finalists[i];
      finalist.time_us = outcome.timing->median_us;
      finalist.in_finals = true;
      store(points_[finalist.point], outcome);
    }
  }

  const CompileReply& compile_reply(std::size_t point) const {
    return session_.compiled.at(to_string(points_[point].config()));
  }

  // A winner must be usable at every size: its predicated twins are verified at ragged shapes.
  bool twins_are_right(std::size_t point) {
    tell_progress("twins");
    for (const int alignment : {4, 1}) {
      const KnownConfig twin = predicated_twin(points_[point], alignment);
      if (twin.values == points_[point].values) continue;
      const Outcome outcome = verify_twin(twin);
      if (outcome.disposition == Disposition::ok) continue;
      Outcome disqualified = outcomes_.at(point);
      disqualified.disposition = outcome.disposition;
      disqualified.detail = "its twin " + to_string(twin.config()) + ": " + outcome.detail;
      store(points_[point], disqualified);
      count(disqualified);
      --report_.funnel.survived;
      return false;
    }
    return true;
  }

  Outcome verify_twin(const KnownConfig& twin) {
    const std::string config = to_string(twin.config());
    std::optional<Outcome> outcome;
    const auto verify = [&](const CompileReply& reply) {
      if (!reply.ok) {
        outcome.emplace().disposition = Disposition::compile_failed;
        outcome->detail = reply.log;
        return;
      }
      MeasureRequest request = measure_request(config, reply);
      request.small_shapes_only = true;
      session_.measurer.submit(
          {"measure", request, measure_limit(problem_), [&](TaskResult result) {
             outcome = result.status == TaskResult::Status::reply
                           ? result.reply.get<MeasureReply>().outcome
                           : failure_of(result, "GPU");
           }});
    };
    if (const auto known = session_.compiled.find(config); known != session_.compiled.end()) {
      verify(known->second);
    } else {
      compile(config, verify, [&](Outcome failed) { outcome = std::move(failed); });
    }
    while (!outcome) WorkerPool::wait({&session_.compilers, &session_.measurer}, kHeartbeat);
    return *std::move(outcome);
  }

  void tell_progress(const std::string& stage) const {
    session_.on_progress({&problem_, done_, budget_, best_us_, stage});
  }

  Session& session_;
  const Problem problem_;
  const DeviceSpec& device_;
  const DeviceKey key_;
  std::vector<KnownConfig> points_;
  std::unique_ptr<Strategy> strategy_;
  std::size_t budget_ = 0, asked_ = 0, under_way_ = 0, done_ = 0;
  std::optional<double> best_us_;
  std::vector<Finisher> finishers_;
  std::map<std::size_t, Outcome> outcomes_;  // of the finishers, by point
  std::optional<Baseline> baseline_;
  ProblemReport report_;
};

}  // namespace

Candidates candidates_for(const TuneRequest& request, const Problem& problem) {
  Candidates result;
  Space space;
  if (request.only.empty()) {
    space = enumerate(families());
  } else {
    space.points = request.only;
    space.enumerated = request.only.size();
  }
  result.funnel.enumerated = space.enumerated;
  result.funnel.rejected_by_rule = space.rejected;
  for (KnownConfig& point : space.points) {
    std::optional<std::string> reason = reject_before_compile(point, problem, request.device);
    // A config that was asked for by name is tried even where its checks are needless.
    if (!reason && request.only.empty()) reason = reject_needless_predication(point, problem);
    if (reason) {
      ++result.funnel.rejected_by_rule[*reason];
    } else {
      result.points.push_back(std::move(point));
    }
  }
  result.funnel.left = result.points.size();
  return result;
}

TuneReport tune(const TuneRequest& request, Database& database, const OnProgress& on_progress) {
  Session session{request,
                  database,
                  on_progress,
                  ScratchDir("gemm-tune-cubins"),
                  WorkerPool(request.jobs),
                  WorkerPool(1),
                  {},
                  {},
                  {}};
  const Clock::time_point start = Clock::now();
  TuneReport report;
  for (std::size_t i = 0; i < request.problems.size() && !interrupted(); ++i) {
    if (request.time_limit) {
      // What is left is shared evenly, so that the last problem gets its part.
      const auto left = std::max<Clock::duration>(start + *request.time_limit - Clock::now(),
                                                  Clock::duration::zero());
      session.deadline = Clock::now() + left / (request.problems.size() - i);
    }
    report.problems.push_back(ProblemSearch(session, request.problems[i]).run());
    report.out_of_time |= report.problems.back().funnel.unfinished > 0 && !interrupted();
  }
  report.interrupted = interrupted();
  return report;
}

}  // namespace gemm_tune

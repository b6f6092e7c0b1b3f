// SPDX-License-Identifier: Apache-2.0
// look_up [--require] [--entries=N,N] [--benchmark_...]: what a look-up of the library costs, by
// Google Benchmark: time, allocations and locks of gt_lookup, through the C interface only, in
// databases of 23 and of 100,000 winners, from 1 and from 8 threads.
//
//   exact: problems of the database. remembered: others, each asked before. first_seen: others,
//   none asked before. miss_types, miss_arch: winners are of other types, of another architecture.
//   open: gt_open. counts: one allocation and two locks, to show that both are counted.
//
// Prints one table: the CPU time of one look-up in its thread with its goal, allocations and locks
// of one look-up, whose goals are 0. Each row asks 64 problems in turn and checks once how they
// were found. --require: exit code 1 where a goal is missed; 3 where an answer is wrong. Unless
// told otherwise: the medians of 5 repetitions of each row, interleaved with the others'. Needs no
// GPU; where libbenchmark is not installed, carry libbenchmark.so.1 along.
#include <benchmark/benchmark.h>
#include <gemm_tune/gemm_tune.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/library/counted_calls.h"
#include "bench/program.h"
#include "choose/choose.h"
#include "search/space/space.h"
#include "tests/dispatch/open_kernels.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

constexpr int kAsked = 64;  // problems of a row, asked in turn
const DeviceKey kDevice = {"sm_90", "NVIDIA H100 80GB HBM3", 132};
constexpr std::int64_t kTile = 256;  // divides the edges of the winners' problems
constexpr std::int64_t kEdges = 47;  // so many edges: 103,823 problems

// How problems are asked: for these types on this architecture; the answer and the goal.
struct Kind {
  const char* name;
  gt_match match;
  double goal_ns;
  const char* arch;
  gt_type type;
};
constexpr Kind kKinds[] = {
    {"exact", GT_MATCH_EXACT, 25, "sm_90", GT_F32},
    {"remembered", GT_MATCH_NEAREST, 100, "sm_90", GT_F32},
    {"first_seen", GT_MATCH_NEAREST, 2000, "sm_90", GT_F32},
    {"miss_types", GT_MATCH_DEFAULT, 100, "sm_90", GT_BF16},
    {"miss_arch", GT_MATCH_DEFAULT, 100, "sm_75", GT_F32},
};

void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

// Distinct for each index; consecutive ones differ in every edge.
Problem tuned_problem(int index) {
  const std::int64_t i = index, j = i / kEdges, k = j / kEdges;
  return packed_problem(kTile * (1 + (i + j + k) % kEdges), kTile * (1 + (j + k) % kEdges),
                        kTile * (1 + k % kEdges));
}

std::vector<KnownConfig> sample_configs() {
  const auto veto = [](const KnownConfig& point) -> std::optional<std::string_view> {
    if (point.traits.predicated) return "no tuned_problem() has a ragged edge";
    return std::nullopt;
  };
  const Space space =
      enumerate({find_family("warp_tiled")}, settled_params(tuned_problem(0)), veto, {256, 1});
  return {space.points.begin(), space.points.end()};
}

// For tuned_problem(index): another one for the next.
std::string legal_config(const std::vector<KnownConfig>& configs, int index) {
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const KnownConfig& config = configs[(static_cast<std::size_t>(index) + i) % configs.size()];
    const auto legal = legal_for(config, tuned_problem(index));
    if (legal && !legal->is_specialisation) return to_string(config.config());
  }
  throw std::logic_error("no config is legal");
}

// Winners with times and cuBLAS beside them, as a tuning run stores them.
void write_winners(const std::filesystem::path& path, int winners) {
  const std::vector<KnownConfig> configs = sample_configs();
  const std::string revision = current_revisions().at("warp_tiled");
  Database database(path, Database::Mode::create_or_open);
  database.begin_run({"0.1.0", "13.0", "580.159.04", "look_up", 1});
  database.together([&] {
    for (int i = 0; i < winners; ++i) {
      const Problem problem = tuned_problem(i);
      const double us = 3 + 2e-6 * static_cast<double>(problem.M * problem.N * problem.K) / 50;
      Outcome outcome;
      outcome.timing = Timing{us, {us}, 1};
      outcome.predicted_us = us;
      outcome.ranking = Ranking{1, {}, true, true};
      database.store_baseline(kDevice, problem,
                              {"cublasSgemm", "13.1.0", Timing{1.1 * us, {1.1 * us}, 1}});
      database.store(kDevice, problem, legal_config(configs, i), revision, outcome,
                     Source::measured);
    }
  });
}

gt_handle* opened(const std::string& path) {
  gt_handle* handle = nullptr;
  require(open_kernels(path.c_str(), nullptr, &handle) == GT_OK, gt_last_error());
  return handle;
}

// A database file and a handle on it that live as long as the object.
class Opened {
 public:
  explicit Opened(int winners) {
    write_winners(path(), winners);
    handle_.reset(opened(path()));
  }

  std::string path() const { return (folder_.path() / "tune.db").string(); }
  const gt_handle* handle() const { return handle_.get(); }
  // Another one, for questions that would fill the memory of answers of the first.
  const gt_handle* handle_for_new_questions() const {
    std::call_once(opening_, [&] { for_new_questions_.reset(opened(path())); });
    return for_new_questions_.get();
  }

 private:
  struct Close {
    void operator()(gt_handle* handle) const { gt_close(handle); }
  };
  const TempFolder folder_;
  std::unique_ptr<gt_handle, Close> handle_;
  mutable std::once_flag opening_;
  mutable std::unique_ptr<gt_handle, Close> for_new_questions_;
};

const Opened& database_of(int winners) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<Opened>> all;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Opened>& one = all[winners];
  if (!one) one = std::make_unique<Opened>(winners);
  return *one;
}

gt_gemm_call question(std::int64_t M, std::int64_t N, std::int64_t K, gt_type type) {
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.type_a = call.type_b = call.type_c = call.type_d = type;
  call.M = M;
  call.N = N;
  call.K = K;
  call.lda = K;
  call.ldb = call.ldc = N;
  // Never read: only their alignment counts.
  call.A = reinterpret_cast<const void*>(0x10000);
  call.B = reinterpret_cast<const void*>(0x20000);
  call.D = reinterpret_cast<void*>(0x30000);
  call.C = call.D;
  return call;
}

// A problem of no database, another one for each index below 2^32; every other one is aligned.
gt_gemm_call unseen(std::uint64_t index, gt_type type) {
  const std::uint64_t mixed = index * 0x9e3779b1 % (std::uint64_t{1} << 32);  // a bijection
  const auto edge = [&](int shift, int bits) {
    return 65 + static_cast<std::int64_t>(mixed >> shift & ((1U << bits) - 1));
  };
  const std::int64_t k = edge(22, 10), scale = k > 576 ? 4 : 1;
  // M is never a multiple of kTile.
  return question(edge(0, 11) * 2 + 1, edge(11, 11) * scale, k * scale, type);
}

// The first of `count` problems that nobody has asked yet.
std::uint64_t reserve_unseen(std::uint64_t count) {
  static std::atomic<std::uint64_t> next{kAsked};  // those below are asked again and again
  return next.fetch_add(count);
}

std::vector<gt_gemm_call> questions_of(const Kind& kind, int winners) {
  std::vector<gt_gemm_call> asked;
  for (int i = 0; i < kAsked; ++i) {
    const Problem tuned = tuned_problem(static_cast<int>(std::int64_t{i} * winners / kAsked));
    asked.push_back(kind.match == GT_MATCH_EXACT
                        ? question(tuned.M, tuned.N, tuned.K, kind.type)
                        : unseen(static_cast<std::uint64_t>(i), kind.type));
  }
  return asked;
}

void report(benchmark::State& state, const CountedCalls& counted) {
  const auto each = benchmark::Counter::kAvgIterations;
  state.counters["allocations"] = {static_cast<double>(counted.allocations), each};
  state.counters["locks"] = {static_cast<double>(counted.locks), each};
}

template <class Body>
void count(CountedCalls& total, const Body& body) {
  const CountedCalls before = counted_calls();
  body();
  const CountedCalls after = counted_calls();
  total.allocations += after.allocations - before.allocations;
  total.locks += after.locks - before.locks;
}

void look_ups(benchmark::State& state, const Kind& kind, int winners) {
  const bool new_each_time = std::string_view(kind.name) == "first_seen";
  const Opened& database = database_of(winners);
  const gt_handle* const handle =
      new_each_time ? database.handle_for_new_questions() : database.handle();
  const gt_device device = {kind.arch, kDevice.name.c_str(), kDevice.sm_count};
  std::vector<gt_gemm_call> asked = questions_of(kind, winners);
  gt_recipe recipe{};
  for (const gt_gemm_call& one : asked) {
    const gt_status status = gt_lookup(handle, &device, &one, &recipe);
    if (status == GT_OK && recipe.match == kind.match) continue;
    state.SkipWithError(status == GT_OK ? recipe.config : gt_last_error());
    return;
  }
  CountedCalls counted;
  while (state.KeepRunningBatch(kAsked)) {
    if (new_each_time) {
      state.PauseTiming();
      const std::uint64_t first = reserve_unseen(kAsked);
      for (std::uint64_t i = 0; i < kAsked; ++i) asked[i] = unseen(first + i, kind.type);
      state.ResumeTiming();
    }
    count(counted, [&] {
      for (const gt_gemm_call& one : asked) {
        gt_lookup(handle, &device, &one, &recipe);
        benchmark::ClobberMemory();
      }
    });
  }
  report(state, counted);
  state.counters["goal_ns"] = {kind.goal_ns, benchmark::Counter::kAvgThreads};
}

void open(benchmark::State& state, int winners) {
  const std::string path = database_of(winners).path();
  CountedCalls counted;
  for (auto _ : state) count(counted, [&] { gt_close(opened(path)); });
  report(state, counted);
}

void counts(benchmark::State& state) {
  std::mutex mutex;
  std::shared_mutex shared;
  CountedCalls counted;
  for (auto _ : state) {
    count(counted, [&] {
      const std::lock_guard lock(mutex);
      const std::shared_lock reading(shared);
      benchmark::DoNotOptimize(std::make_unique<int>(1).get());
    });
  }
  report(state, counted);
}

void register_rows(const std::vector<int>& entries) {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("counts", counts);
  for (const int winners : entries) {
    const std::string of = "/" + std::to_string(winners);
    RegisterBenchmark(("open" + of).c_str(), open, winners)->Unit(benchmark::kMillisecond);
    for (const Kind& kind : kKinds) {
      for (const int threads : {1, 8}) {
        RegisterBenchmark(("gt_lookup/" + std::string(kind.name) + of).c_str(), look_ups, kind,
                          winners)
            ->Threads(threads);
      }
    }
  }
}

// The rows' medians (without repetitions: the runs) in one table, in the order registered.
class Table : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override {
    PrintBasicContext(&std::cerr, context);
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) errors_.push_back(run.benchmark_name() + ": " + run.error_message);
      if (run.error_occurred || (run.repetitions > 1 && run.aggregate_name != "median")) continue;
      rows_.emplace(std::pair(run.family_index, run.per_family_instance_index), run);
    }
  }

  // Returns the number of missed goals.
  int print() const {
    int missed = 0;
    std::printf("%-40s %7s %12s %12s %9s %12s %7s\n", "look-up / entries", "threads", "CPU ns",
                "goal", "", "allocations", "locks");
    for (const auto& [place, run] : rows_) {
      const auto goal = run.counters.find("goal_ns");
      const bool has_goal = goal != run.counters.end();
      const double ns = run.GetAdjustedCPUTime() * 1e9 / GetTimeUnitMultiplier(run.time_unit);
      const double allocations = run.counters.at("allocations"), locks = run.counters.at("locks");
      const bool met = has_goal && ns <= goal->second && allocations == 0 && locks == 0;
      std::printf("%-40s %7lld %12.1f %12s %9s %12.2f %7.2f\n", run.run_name.function_name.c_str(),
                  static_cast<long long>(run.threads), ns,
                  has_goal ? std::to_string(std::lround(goal->second)).c_str() : "",
                  !has_goal ? "" : (met ? "met" : "MISSED"), allocations, locks);
      missed += has_goal && !met ? 1 : 0;
    }
    for (const std::string& error : errors_) std::printf("ERROR %s\n", error.c_str());
    return missed;
  }

  bool has_errors() const { return !errors_.empty(); }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, Run> rows_;
  std::vector<std::string> errors_;
};

// Takes the program's own options out of the arguments.
struct Options {
  bool require = false;
  std::vector<int> entries = {23, 100'000};
};

std::vector<int> parse_entries(const std::string& text) {
  std::vector<int> entries;
  for (std::size_t at = 0; at <= text.size();) {
    const std::string one = text.substr(at, text.find(',', at) - at);
    int count = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), count);
    if (error != std::errc() || *end != '\0' || count < 1 || count > kEdges * kEdges * kEdges) {
      throw UsageError("--entries: '" + one + "' is no number from 1 to 103823");
    }
    entries.push_back(count);
    at += one.size() + 1;
  }
  return entries;
}

Options take_options(std::vector<char*>& arguments) {
  constexpr std::string_view kEntries = "--entries=";
  Options options;
  std::erase_if(arguments, [&](const char* argument) {
    const std::string_view text = argument;
    if (text == "--require") return options.require = true;
    if (!text.starts_with(kEntries)) return false;
    options.entries = parse_entries(std::string(text.substr(kEntries.size())));
    return true;
  });
  return options;
}

int run(std::vector<char*> arguments) {
  const Options options = take_options(arguments);
  // What the command says later in the line holds.
  std::string defaults[] = {"--benchmark_repetitions=5",
                            "--benchmark_enable_random_interleaving=true"};
  for (std::string& one : defaults) arguments.insert(arguments.begin() + 1, one.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  register_rows(options.entries);
  Table table;
  benchmark::RunSpecifiedBenchmarks(&table);
  const int missed = table.print();
  if (table.has_errors()) return 3;
  return options.require && missed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  return gemm_tune::exit_code_of("look_up", [&] { return gemm_tune::run({argv, argv + argc}); });
}

// SPDX-License-Identifier: Apache-2.0
// host_bench [--benchmark_...]: measures the cost of work on the host, by Google Benchmark.
//
// Enumerating, predicting, parsing, loading winners and choosing among them: a search pays these
// costs per candidate, an application per look-up. Needs no GPU. Each benchmark checks its answer
// once, so that a fast wrong answer is not reported. One thread. DoNotOptimize gets temporaries
// only: for a double variable, DoNotOptimize of libbenchmark 1.7.1 loses the value when compiled by
// g++ 12.
#include <benchmark/benchmark.h>
#ifdef GT_WITH_LIBRARY
#include <gemm_tune/gemm_tune.hpp>
#endif

#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "choose/choose.h"
#include "search/space.h"
#include "search/static_model.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

constexpr const char* kConfig =
    "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0";
const DeviceKey kDevice = {"sm_86", "NVIDIA GeForce RTX 3090", 82};

void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("host_bench: " + what);
}

// Of a database with `count` winners: whole tiles from 128x128x128 to 1280x1280x1280.
Problem tuned_problem(int index) {
  return packed_problem(128 * (1 + index % 10), 128 * (1 + index / 10 % 10),
                        128 * (1 + index / 100));
}

// A database file that lives as long as the object.
class SampleDatabase {
 public:
  explicit SampleDatabase(int winners) {
    Database database(path(), Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "", "host_bench", 1});
    const std::string hash = current_kernel_hashes().at("vectorized_2d");
    for (int i = 0; i < winners; ++i) {
      Outcome outcome;
      outcome.predicted_us = 100 + i;
      database.store(kDevice, tuned_problem(i), kConfig, hash, outcome, Source::predicted);
    }
  }

  std::filesystem::path path() const { return folder_.path() / "tune.db"; }

 private:
  const TempFolder folder_;
};

// Written at first use, once for all benchmarks that ask for so many winners.
const SampleDatabase& database_of(int winners) {
  static std::map<int, std::unique_ptr<SampleDatabase>> all;
  std::unique_ptr<SampleDatabase>& one = all[winners];
  if (!one) one = std::make_unique<SampleDatabase>(winners);
  return *one;
}

std::vector<Winner> winners_of(int count) {
  std::vector<Winner> winners =
      load_winners(Database(database_of(count).path(), Database::Mode::read_only), kDevice.arch);
  require(winners.size() == static_cast<std::size_t>(count), "winners are missing");
  return winners;
}

void enumerate_one_layout(benchmark::State& state) {
  const std::vector<FixedParam> fixed = settled_params(packed_problem(1024, 1024, 1024));
  for (auto _ : state) benchmark::DoNotOptimize(enumerate(families_of(Signature()), fixed));
  const Space space = enumerate(families_of(Signature()), fixed);
  require(!space.points.empty(), "the space is empty");
  state.counters["raw"] = static_cast<double>(space.enumerated);
  state.counters["points"] = static_cast<double>(space.points.size());
}
BENCHMARK(enumerate_one_layout)->Unit(benchmark::kMillisecond);

void predict_one_point(benchmark::State& state) {
  const KnownConfig config = check_config(parse_config(kConfig));
  const DeviceSpec device = *find_device_spec(kDevice.arch);
  const Problem problem = packed_problem(1024, 1024, 1024);
  for (auto _ : state) benchmark::DoNotOptimize(predict(config.traits, problem, device));
  require(predict(config.traits, problem, device).time_us > 0, "no time was predicted");
}
BENCHMARK(predict_one_point);

void parse_and_check_config(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(check_config(parse_config(kConfig)));
  require(to_string(check_config(parse_config(kConfig)).config()) == kConfig, "parsing loses text");
}
BENCHMARK(parse_and_check_config);

void load_all_winners(benchmark::State& state) {
  const Database database(database_of(static_cast<int>(state.range())).path(),
                          Database::Mode::read_only);
  for (auto _ : state) benchmark::DoNotOptimize(load_winners(database, kDevice.arch));
}
BENCHMARK(load_all_winners)->Arg(1)->Arg(100)->Arg(1000)->Unit(benchmark::kMicrosecond);

// One problem for each way in which a winner is found.
void choose_among(benchmark::State& state, const Problem& problem, Match match, bool is_twin) {
  const Tuned tuned(winners_of(static_cast<int>(state.range())));
  for (auto _ : state) benchmark::DoNotOptimize(choose(tuned, kDevice, problem));
  const Choice choice = choose(tuned, kDevice, problem);
  require(choice.match == match && choice.is_twin == is_twin, choice.explanation);
}
BENCHMARK_CAPTURE(choose_among, exact, tuned_problem(0), Match::exact, false)
    ->Arg(1)
    ->Arg(100)
    ->Arg(1000);
BENCHMARK_CAPTURE(choose_among, nearest, packed_problem(2048, 2048, 2048), Match::nearest, false)
    ->Arg(1)
    ->Arg(100)
    ->Arg(1000);
BENCHMARK_CAPTURE(choose_among, ragged_twin, packed_problem(1000, 1004, 1020), Match::nearest, true)
    ->Arg(1)
    ->Arg(100)
    ->Arg(1000);

#ifdef GT_WITH_LIBRARY
// What an application pays: the same through the installed library's C interface.
void look_up_through_the_library(benchmark::State& state) {
  const Handle handle(database_of(static_cast<int>(state.range())).path().string());
  const gt_device device = {kDevice.arch.c_str(), kDevice.name.c_str(), kDevice.sm_count, {}};
  const gt_problem problem = make_problem(1000, 1004, 1020);
  for (auto _ : state) benchmark::DoNotOptimize(handle.lookup(device, problem));
  require(handle.lookup(device, problem).is_twin == 1, "the library finds no twin");
}
BENCHMARK(look_up_through_the_library)->Arg(1)->Arg(100)->Arg(1000);
#endif

}  // namespace
}  // namespace gemm_tune

BENCHMARK_MAIN();

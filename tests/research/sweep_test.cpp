// SPDX-License-Identifier: Apache-2.0
#include "research/sweep/sweep.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "db/database.h"
#include "kernel_templates/registry/registry.h"
#include "search/model/static_model.h"
#include "tests/db/sample_database.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

// Two parameters, one of them a text; a time, three ways to fail, and a number JSON does not have.
constexpr const char* kCache = R"({
  "device_name": "a GPU", "tune_params_keys": ["BM", "order"],
  "tune_params": {"BM": [128, 16, 64], "order": ["row", "column"]},
  "cache": {
    "128,row": {"BM": 128, "order": "row", "time": 2.5, "times": [2.4, 2.6]},
    "16,row": {"BM": 16, "order": "row", "time": "RuntimeFailedConfig"},
    "64,row": {"BM": 64, "order": "row", "time": 0.125, "GFLOP/s": NaN},
    "16,column": {"BM": 16, "order": "column", "__error__": "CompilationFailedConfig", "time": 1.0},
    "64,column": {"BM": 64.0, "order": "column", "time": -Infinity}}})";

constexpr const char* kT4 = R"({"schema_version": "1.0.0", "results": [
  {"configuration": {"Z": 1, "BM": 64}, "times": {"runtimes": [1.0, 3.0]}, "invalidity": "correct",
   "correctness": 1, "measurements": [{"name": "time", "value": 500, "unit": "us"}],
   "objectives": ["time"]},
  {"configuration": {"Z": 0, "BM": 64}, "times": {"runtimes": [1.0, 3.0]}, "invalidity": "correct",
   "correctness": 1},
  {"configuration": {"Z": 0, "BM": 8}, "times": {"runtimes": [1.0]}, "invalidity": "compile",
   "correctness": 0}]})";

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

std::size_t point_of(const Sweep& sweep, const std::string& key) {
  for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
    if (sweep.keys[i] == key) return i;
  }
  ADD_FAILURE() << key << " is not in the sweep";
  return 0;
}

TEST(SweepTest, ReadsAKernelTunerCache) {
  const Sweep sweep = parse_sweep(kCache, "a");
  ASSERT_EQ(sweep.space.size(), 5u);
  ASSERT_EQ(sweep.space.params().size(), 2u);
  EXPECT_EQ(sweep.space.params()[0].name, "BM");
  EXPECT_THAT(sweep.space.params()[0].values, ElementsAre("16", "64", "128"));
  EXPECT_EQ(sweep.space.params()[1].name, "order");
  EXPECT_EQ(sweep.time_us[point_of(sweep, "128,row")], 2500);
  EXPECT_EQ(sweep.time_us[point_of(sweep, "64,row")], 125);
  EXPECT_EQ(sweep.time_us[point_of(sweep, "16,row")], std::nullopt);
  EXPECT_EQ(sweep.time_us[point_of(sweep, "16,column")], std::nullopt);
  EXPECT_EQ(sweep.time_us[point_of(sweep, "64,column")], std::nullopt);
  EXPECT_EQ(sweep.space.at(point_of(sweep, "64,column"))[0], 1);  // 64.0 is 64
  EXPECT_TRUE(sweep.predicted_us.empty());
}

TEST(SweepTest, ReadsT4Results) {
  const Sweep sweep = parse_sweep(kT4, "a");
  EXPECT_THAT(sweep.keys, ElementsAre("1,64", "0,64", "0,8"));  // in the file's order
  EXPECT_THAT(sweep.time_us, ElementsAre(500, 2000, std::nullopt));
  EXPECT_EQ(sweep.space.params()[0].name, "Z");
  EXPECT_THAT(sweep.space.params()[1].values, ElementsAre("8", "64"));
}

// Kernel Tuner writes the closing braces when its job ends.
TEST(SweepTest, ReadsTheCacheOfAnInterruptedJobUpToItsLastWholeEntry) {
  const std::string begun = R"({"tune_params_keys": ["A"], "cache": {
"1": {"A": 1, "time": 2.0},
"2": {"A": 2, "time": 1.0},)";
  for (const char* const end : {"", "\n", "\n\"3\": {\"A\": 3, \"ti"}) {
    EXPECT_THAT(parse_sweep(begun + end, "a").time_us, ElementsAre(2000, 1000)) << end;
  }
}

TEST(SweepTest, OnlyATimeThatIsNoneOrAnErrorMarksAnEntryAsFailed) {
  const Sweep sweep = parse_sweep(R"({"tune_params_keys": ["A"], "cache": {
    "1": {"A": 1, "time": 2.0, "note": "as in MyConfig"},
    "2": {"A": 2, "time": "InvalidConfig"},
    "3": {"A": 3, "time": 1.0, "__error__": "RuntimeFailedConfig"}}})",
                                  "a");
  EXPECT_THAT(sweep.time_us, ElementsAre(2000, std::nullopt, std::nullopt));
}

TEST(SweepTest, RefusesWhatIsNoSweepByName) {
  const auto of = [](const std::string& text) {
    return refusal([&] { parse_sweep(text, "mine"); });
  };
  EXPECT_THAT(of("{"), AllOf(HasSubstr("'mine' is not JSON"), HasSubstr("byte 2")));
  EXPECT_THAT(of(R"({"cache": 1e999})"), AllOf(HasSubstr("'mine'"), HasSubstr("too large")));
  EXPECT_THAT(of("[1]"), HasSubstr("'mine' is neither a Kernel Tuner cache file nor T4 results"));
  EXPECT_THAT(of(R"({"cache": {}})"), HasSubstr("no list tune_params_keys"));
  EXPECT_THAT(of(R"({"tune_params_keys": [1], "cache": {}})"), HasSubstr("no text but number"));
  EXPECT_THAT(of(R"({"tune_params_keys": ["A"], "cache": {}})"), HasSubstr("an empty cache"));
  EXPECT_THAT(of(R"({"tune_params_keys": ["A"], "cache": {"1": {"B": 1}}})"),
              HasSubstr("entry '1' lacks A"));
  EXPECT_THAT(of(R"({"tune_params_keys": ["A"], "cache": {"1": 5}})"),
              HasSubstr("entry '1' is no object"));
  EXPECT_THAT(of(R"({"tune_params_keys": ["A"], "cache": {"1": {"A": 1, "time": "XConfig"}}})"),
              HasSubstr("'mine' has no entry with a time"));
  EXPECT_THAT(of(R"({"tune_params_keys": ["A"], "cache": {"1": {"A": [1]}}})"),
              HasSubstr("entry '1': A is neither a number nor a text"));
  EXPECT_THAT(of(R"({"results": []})"), HasSubstr("'mine' has no results"));
  EXPECT_THAT(of(R"({"results": [{"configuration": {"A": 1}}, {"configuration": {"B": 1}}]})"),
              HasSubstr("result 1 lacks A"));
  EXPECT_THAT(of(R"({"results": [{"times": {}}]})"), HasSubstr("result 0 has no configuration"));
  EXPECT_THAT(of(R"({"results": [{"configuration": {"A": 1},
                     "measurements": [{"name": "time", "value": 1, "unit": "fortnights"}]}]})"),
              HasSubstr("'fortnights'"));
}

TEST(SweepTest, ReadsFilesPackedOrNotAndNamesTheSweepAfterThem) {
  const TempFolder folder;
  const std::string plain = (folder.path() / "gpu.v2.json").string();
  std::ofstream(plain) << kCache;
  const std::vector<Sweep> sweeps = read_sweeps(plain);
  ASSERT_EQ(sweeps.size(), 1u);
  EXPECT_EQ(sweeps[0].name, "gpu.v2");

  const std::string packed = (folder.path() / "gpu.json.gz").string();
  gzFile file = gzopen(packed.c_str(), "wb");
  gzputs(file, kCache);
  gzclose(file);
  EXPECT_EQ(read_sweeps(packed)[0].name, "gpu");
  EXPECT_EQ(read_sweeps(packed)[0].space.size(), 5u);

  std::ifstream whole(packed, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(whole), {});
  const std::string cut = (folder.path() / "cut.json.gz").string();
  std::ofstream(cut, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  EXPECT_THROW(read_sweeps(cut), UsageError);
  EXPECT_THROW(read_sweeps((folder.path() / "missing.json").string()), UsageError);
  EXPECT_THROW(read_sweeps(folder.path().string()), UsageError);
}

// Of each a little: 13 MB of gzip can unpack to gigabytes, which JSON turns into tens of them.
TEST(SweepTest, RefusesWhatUnpacksToMoreThanItsBound) {
  const TempFolder folder;
  const std::string packed = (folder.path() / "bomb.json.gz").string();
  const gzFile file = gzopen(packed.c_str(), "wb1");
  const std::string blanks(1'000'000, ' ');
  for (int i = 0; i < 257; ++i) gzwrite(file, blanks.data(), static_cast<unsigned>(blanks.size()));
  gzclose(file);
  EXPECT_THAT(refusal([&] { read_sweeps(packed); }), HasSubstr("unpacks to more than 256 MB"));
}

// The bounds' own numbers of values take minutes under a sanitizer.
TEST(SweepTest, RefusesMoreConfigsThanItsBound) {
  EXPECT_EQ(SweepBounds().configs, 500'000u);
  EXPECT_EQ(parse_sweep(kCache, "many", {.configs = 5}).space.size(), 5u);
  EXPECT_THAT(refusal([&] { parse_sweep(kCache, "many", {.configs = 4}); }),
              HasSubstr("sweep 'many' has 5 configs, and 4 are the most"));
  EXPECT_EQ(parse_sweep(kT4, "many", {.configs = 3}).space.size(), 3u);
  EXPECT_THAT(refusal([&] { parse_sweep(kT4, "many", {.configs = 2}); }),
              HasSubstr("sweep 'many' has 3 configs, and 2 are the most"));
}

TEST(SweepTest, RefusesMoreValuesThanItsBound) {
  EXPECT_EQ(SweepBounds().values, 20'000'000u);
  const std::string seven = R"([0, "a", true, null, {"b": 1.5}])";
  EXPECT_THAT(refusal([&] { parse_sweep(seven, "deep", {.values = 6}); }),
              HasSubstr("sweep 'deep' holds more than 6 values"));
  EXPECT_THAT(refusal([&] { parse_sweep(seven, "deep", {.values = 7}); }),
              HasSubstr("is neither a Kernel Tuner cache file nor T4 results"));
}

TEST(SweepTest, ReadsAPackedSweepOfSeveralMembers) {
  const TempFolder folder;
  const std::string packed = (folder.path() / "two.json.gz").string(), text = kCache;
  for (const char* mode : {"wb", "ab"}) {
    const gzFile file = gzopen(packed.c_str(), mode);
    gzputs(file, *mode == 'w' ? text.substr(0, 20).c_str() : text.substr(20).c_str());
    gzclose(file);
  }
  EXPECT_EQ(read_sweeps(packed)[0].space.size(), 5u);
}

TEST(SweepTest, ADatabaseHoldsASweepOfEachDeviceAndProblem) {
  const TempFolder folder;
  const std::string path = (folder.path() / "tune.db").string();
  sample_database(path);
  const std::vector<Sweep> sweeps = read_sweeps(path);
  const auto sweep = std::find_if(sweeps.begin(), sweeps.end(), [](const Sweep& one) {
    return one.name == "NVIDIA RTX A6000 1024x1024x1024";
  });
  ASSERT_NE(sweep, sweeps.end());
  ASSERT_EQ(sweep->space.size(), 2u);
  EXPECT_EQ(sweep->time_us[point_of(*sweep, kWholeTiles)], 151.25);
  EXPECT_EQ(sweep->problem, parse_problem("1024x1024x1024"));
  EXPECT_EQ(sweep->device->arch, "sm_86");
  // From the config alone, whatever the row says of the compiled kernel.
  EXPECT_EQ(sweep->predicted_us[point_of(*sweep, kPredicated)],
            predict(check_config(parse_config(kPredicated)).traits, *sweep->problem, *sweep->device)
                .time_us);
  EXPECT_EQ(sweep->space.params()[0].name, "family");
  // What was predicted only is no recording.
  EXPECT_TRUE(std::none_of(sweeps.begin(), sweeps.end(), [](const Sweep& one) {
    return one.name == "NVIDIA RTX A6000 4096x4096x4096";
  }));
}

TEST(SweepTest, LibrariesAlgorithmsOfADatabaseAreNotOfItsSweep) {
  const TempFolder folder;
  const std::string path = (folder.path() / "tune.db").string();
  {
    Database database = writable(path);
    store_measured(database, kA6000, "1024x1024x1024", kWholeTiles, 151.25);
    store_measured(database, kA6000, "1024x1024x1024", "cublas/WORKSPACE=33554432", 130);
  }
  const std::vector<Sweep> sweeps = read_sweeps(path);
  ASSERT_EQ(sweeps.size(), 1u);
  EXPECT_EQ(sweeps[0].space.size(), 1u);
  EXPECT_GT(sweeps[0].predicted_us.at(0), 0);
}

// tiled_2d at a problem of ours on a GPU of the table; what no entry names is fixed or 0.
std::string our_cache(const std::string& problem, const std::string& device, double slow) {
  return R"({"device_name": ")" + device + R"(", "kernel_name": "tiled_2d", "problem_size": ")" +
         problem + R"(", "tune_params_keys": ["BM", "GONE"], "fixed_params": {"BN": 64, "BK": 8,
      "TM": 8, "TN": 8}, "cache": {
      "64,0": {"BM": 64, "GONE": 0, "time": 1}, "128,0": {"BM": 128, "GONE": 0, "time": )" +
         std::to_string(slow) + R"(},
      "64,1": {"BM": 64, "GONE": 1, "time": 3}, "60,0": {"BM": 60, "GONE": 0, "time": 4}}})";
}

TEST(SweepTest, TheStaticModelForetellsWhatTodaysFamiliesStillHave) {
  const Sweep sweep = parse_sweep(our_cache("1024x1024x1024", "NVIDIA RTX A6000", 2), "a");
  ASSERT_EQ(sweep.predicted_us.size(), 4u);
  EXPECT_EQ(sweep.predicted_us[point_of(sweep, "64,0")],
            predict(check_config(parse_config("tiled_2d/BM=64,BN=64,BK=8,TM=8,TN=8,PRED=0")).traits,
                    parse_problem("1024x1024x1024"), find_device_spec("sm_86").value())
                .time_us);
  EXPECT_TRUE(std::isfinite(sweep.predicted_us[point_of(sweep, "128,0")]));
  EXPECT_TRUE(std::isnan(sweep.predicted_us[point_of(sweep, "64,1")]));  // what was GONE=1?
  EXPECT_TRUE(std::isnan(sweep.predicted_us[point_of(sweep, "60,0")]));  // breaks a rule
  EXPECT_TRUE(parse_sweep(our_cache("1024", "a GPU", 2), "a").predicted_us.empty());
  EXPECT_TRUE(parse_sweep(our_cache("large", "NVIDIA RTX A6000", 2), "a").predicted_us.empty());
}

TEST(SweepTest, OtherSweepsCorrectTheStaticModel) {
  const Sweep sweep = parse_sweep(our_cache("1024x1024x1024", "NVIDIA RTX A6000", 2), "a");
  const Sweep other = parse_sweep(our_cache("512x512x512", "NVIDIA RTX A6000", 10), "b");
  const std::size_t fast = point_of(sweep, "64,0"), slow = point_of(sweep, "128,0");
  EXPECT_EQ(transferred_prior(sweep, {})[fast], sweep.predicted_us[fast]);
  const std::vector<const Sweep*> others = {&other};
  const std::vector<double> prior = transferred_prior(sweep, others);
  const double before = sweep.predicted_us[slow] / sweep.predicted_us[fast];
  EXPECT_GT(prior[slow] / prior[fast], 1.6 * before);  // the model had no idea of the 10
  EXPECT_TRUE(std::isnan(prior[point_of(sweep, "64,1")]));
  std::string text = our_cache("512x512x512", "NVIDIA RTX A6000", 10);
  text.replace(text.find("tiled_2d"), 8, "vectorized_2d");
  text.replace(text.find("\"TM\""), 4, "\"VEC\": 4, \"TM\"");
  const Sweep of_another_family = parse_sweep(text, "c");
  const std::vector<const Sweep*> no_help = {&of_another_family};
  EXPECT_EQ(transferred_prior(sweep, no_help)[slow], sweep.predicted_us[slow]);
  const Sweep stranger = parse_sweep(kCache, "stranger");
  EXPECT_THAT(refusal([&] { transferred_prior(stranger, others); }),
              HasSubstr("'stranger' has no times of the static model"));
}

TEST(SweepTest, TakesAnotherSweepsTimesAsAPrior) {
  const Sweep sweep = parse_sweep(kCache, "a");
  // It lacks `order`, so that its BM=64 stands for both; of two entries the geometric mean counts.
  const Sweep other = parse_sweep(R"({"tune_params_keys": ["BM", "C"], "cache": {
      "64,1": {"BM": 64, "C": 1, "time": 2}, "64,2": {"BM": 64, "C": 2, "time": 8},
      "16,1": {"BM": 16, "C": 1, "time": "RuntimeFailedConfig"}}})",
                                  "b");
  const std::vector<double> prior = prior_from(other, sweep);
  EXPECT_NEAR(prior[point_of(sweep, "64,row")], 4000, 1e-6);
  EXPECT_NEAR(prior[point_of(sweep, "64,column")], 4000, 1e-6);
  EXPECT_TRUE(std::isnan(prior[point_of(sweep, "16,row")]));
  EXPECT_TRUE(std::isnan(prior[point_of(sweep, "128,row")]));
  const Sweep stranger = parse_sweep(
      R"({"tune_params_keys": ["Q"], "cache": {"1": {"Q": 1, "time": 2}}})", "stranger");
  EXPECT_THAT(refusal([&] { prior_from(stranger, sweep); }),
              HasSubstr("'stranger' has no config in common with 'a'"));
}

}  // namespace
}  // namespace gemm_tune

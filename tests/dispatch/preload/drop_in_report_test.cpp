// SPDX-License-Identifier: Apache-2.0
// The drop-in's report and environment. Each process has these once, so that this one makes no call
// itself.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/dispatch/preload/interposed.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

extern "C" int gemm_tune_blas_report_of(const char* counts, const char* report);

namespace gemm_tune {
namespace {

using Json = nlohmann::json;

// Runs `calls` in a process of its own with a report, and returns the report's lines. The process
// exits as a program does that returns from main().
std::vector<Json> report_of(const std::map<std::string, std::string>& environment,
                            const std::function<void()>& calls) {
  const TempFolder folder;
  const std::string file = folder.path() / "report.jsonl";
  const pid_t child = ::fork();
  if (child == 0) {
    setenv("GEMM_TUNE_BLAS_REPORT", file.c_str(), 1);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    calls();
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child failed";
  std::vector<Json> lines;
  std::istringstream text(read_file(file));
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

class ReportTest : public InterposedTest {
 protected:
  void SetUp() override {
    InterposedTest::SetUp();
    handle_.status = 0;  // cuBLAS takes every call
  }
  void expect_served(int m) {
    const int before = handle_.calls;
    EXPECT_EQ(sgemm(handle_, m), 0);
    EXPECT_EQ(handle_.calls, before);
  }
  void expect_by_cublas(int m) {
    const int before = handle_.calls;
    EXPECT_EQ(sgemm(handle_, m), 0);
    EXPECT_EQ(handle_.calls, before + 1);
  }
  // Each value of the variable is named, and nothing is served.
  void expect_refused(const std::string& variable, const std::vector<std::string>& values,
                      const std::string& reason) {
    for (const std::string& value : values) {
      const auto lines = report_of({{variable, value}}, [&] { expect_by_cublas(100); });
      ASSERT_EQ(lines.size(), 2U) << value;
      EXPECT_EQ(lines[0]["error"], variable + " is '" + value + "': " + reason);
    }
  }
};

TEST_F(ReportTest, CountsWhatWasServedAndDeclinedForEachShape) {
  const auto lines = report_of({}, [&] {
    for (int i = 0; i < 3; ++i) sgemm(handle_, 100);
    handle_.math_mode = 3;
    for (int i = 0; i < 2; ++i) sgemm(handle_, 100);
    handle_.pointer_mode = 1;
    sgemm(handle_, 100);
    FakeHandle other;
    other.status = 0;
    library_.recipe.tuned_us = 11;
    cublasGemmStridedBatchedEx(&other, 1, 2, 20, 8, 12, &kAlpha, matrix, 2, 16, 1000, matrix, 2, 20,
                               2000, &kBeta, matrix, 0, 24, 3000, 7, 68, 99);
  });
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0]["program"].get<std::string>(), HasSubstr("preload_report_test"));
  EXPECT_FALSE(lines[0].contains("error"));
  const bool first_is_sgemm = lines[1]["function"] == "cublasSgemm";
  const Json& sgemm_line = lines[first_is_sgemm ? 1 : 2];
  const Json& batched_line = lines[first_is_sgemm ? 2 : 1];
  const Json pid = lines[0]["pid"];
  EXPECT_EQ(sgemm_line, Json::parse(R"({"function": "cublasSgemm", "m": 100, "n": 8, "k": 8,
      "batch": 1, "batch_kind": "strided", "op_a": "N", "op_b": "N", "lda": 100, "ldb": 8, "ldc": 100, "type_a": "f32",
      "type_b": "f32", "type_c": "f32", "compute_type": 68, "algorithm": -1, "epilogue": "none", "device": 3,
      "alignments": [16, 16, 16], "served": 3, "declined": {"a math mode for other arithmetic": 2,
      "alpha and beta on the device": 1}, "tunable": 0, "timed": 5, "gpu_us": 1250.0,
      "expected_us": 9.0, "cublas_us": 10.0, "pid": )" +
                                    pid.dump() + "}"));
  EXPECT_EQ(batched_line, Json::parse(R"({"function": "cublasGemmStridedBatchedEx", "m": 20,
      "n": 8, "k": 12, "batch": 7, "batch_kind": "strided", "op_a": "T", "op_b": "C", "lda": 16, "ldb": 20, "ldc": 24,
      "type_a": "f16", "type_b": "f16", "type_c": "f32", "compute_type": 68, "algorithm": 99, "epilogue": "none",
      "device": 3, "alignments": [16, 8, 16], "served": 0, "declined": {"cuBLAS was faster": 1}, "tunable": 1,
      "expected_us": 11.0, "cublas_us": 10.0, "pid": )" +
                                      pid.dump() + "}"));
}

TEST_F(ReportTest, OfABatchOfPointersTheLeadingDimensionsAreAligned) {
  float* const addresses[3] = {matrix, matrix + 1, matrix + 2};
  float* const* const odd = addresses + 1;  // where the array lies says nothing
  const auto lines = report_of({}, [&] {
    cublasSgemmBatched(&handle_, 0, 0, 102, 8, 12, &kAlpha, odd, 102, odd, 12, &kBeta, odd, 104, 2);
  });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["function"], "cublasSgemmBatched");
  EXPECT_EQ(lines[1]["batch_kind"], "pointers");
  EXPECT_EQ(lines[1]["alignments"], Json({8, 16, 16}));
  EXPECT_EQ(lines[1]["served"], 1);
}

TEST_F(ReportTest, OnlyAnErrorThatCublasReturnedIsCalledOne) {
  const auto declined = [&](int cublas_status, const std::function<int()>& call) {
    handle_.status = cublas_status;
    const auto lines = report_of({}, [&] { EXPECT_EQ(call(), cublas_status); });
    EXPECT_EQ(lines.size(), 2U);
    return lines.back()["declined"];
  };
  const auto lda_0 = [&] {
    return cublasSgemm_v2(&handle_, 0, 0, 100, 8, 8, &kAlpha, matrix, 0, matrix, 8, &kBeta, matrix,
                          100);
  };
  const auto null_a = [&] {
    return cublasSgemm_v2(&handle_, 0, 0, 100, 8, 8, &kAlpha, nullptr, 100, matrix, 8, &kBeta,
                          matrix, 100);
  };
  const auto null_descriptors = [&] {
    return cublasLtMatmul(&handle_, nullptr, &kAlpha, matrix, nullptr, matrix, nullptr, &kBeta,
                          matrix, nullptr, matrix, nullptr, nullptr, nullptr, 0, nullptr);
  };
  const std::vector<std::pair<std::function<int()>, std::string>> calls = {
      {lda_0, "a size, leading dimension, stride or operation out of its range"},
      {null_a, "an address that is NULL"},
      {null_descriptors, "descriptors that cannot be read"}};
  for (const auto& [call, reason] : calls) {
    EXPECT_EQ(declined(0, call), Json({{reason, 1}}));
    EXPECT_EQ(declined(7, call), Json({{"an error that cuBLAS returned", 1}}));
  }
  const auto untuned = [&] {
    library_.recipe.match = GT_MATCH_NONE;
    return sgemm(handle_, 100);
  };
  EXPECT_EQ(declined(0, untuned), Json({{"nothing tuned fits", 1}}));
  EXPECT_EQ(declined(13, untuned), Json({{"an error that cuBLAS returned", 1}}));
}

// Strides and addresses are no part of a shape, which is looked up once.
TEST_F(ReportTest, SaysOfEachCallThatTheLibraryFindsInvalidWhy) {
  const auto batched = [&](const float* a, long long stride_c) {
    return cublasSgemmStridedBatched(&handle_, 0, 0, 8, 8, 8, &kAlpha, a, 8, 64, matrix, 8, 64,
                                     &kBeta, matrix, 8, stride_c, 3);
  };
  const auto declined = [&](const std::function<void()>& calls) {
    const auto lines = report_of({}, calls);
    EXPECT_EQ(lines.size(), 2U);
    EXPECT_FALSE(lines[0].contains("error"));
    return lines.back()["declined"];
  };
  const Json overlap = {{"results of a batch that overlap", 1}};
  EXPECT_EQ(declined([&] {
              EXPECT_EQ(batched(matrix, 64), 0);
              EXPECT_EQ(handle_.calls, 0);
              library_.gemm_status = GT_INVALID_ARGUMENT;
              EXPECT_EQ(batched(matrix, 0), 0);
              EXPECT_EQ(handle_.calls, 1);
            }),
            overlap);
  EXPECT_EQ(declined([&] {
              library_.lookup_status = GT_INVALID_ARGUMENT;
              batched(matrix, 0);
            }),
            overlap);
  EXPECT_EQ(declined([&] {
              library_.lookup_status = GT_INVALID_ARGUMENT;
              const auto odd = reinterpret_cast<std::uintptr_t>(matrix) + 2;
              batched(reinterpret_cast<const float*>(odd), 64);
            }),
            Json({{"an address that is no multiple of its element's size", 1}}));
  EXPECT_EQ(declined([&] {
              library_.lookup_status = GT_INVALID_ARGUMENT;
              batched(matrix, -64);
            }),
            Json({{"a size, leading dimension, stride or operation out of its range", 1}}));
}

TEST_F(ReportTest, CountsACallForSeveralGroupsAsOneOfTheLargestSizes) {
  const int n[] = {0, 0}, m[] = {24, 40}, sizes[] = {12, 8}, ld[] = {40, 48}, count[] = {2, 3};
  const float* const in[] = {matrix};
  float* const out[] = {matrix};
  const auto lines = report_of({}, [&] {
    EXPECT_EQ(cublasSgemmGroupedBatched(&handle_, n, n, m, sizes, sizes, &kAlpha, in, ld, in, ld,
                                        &kBeta, out, ld, 2, count),
              0);
    EXPECT_EQ(handle_.calls, 1);
  });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["function"], "cublasSgemmGroupedBatched");
  EXPECT_EQ(lines[1]["batch_kind"], "groups");
  EXPECT_EQ(lines[1]["m"], 40);
  EXPECT_EQ(lines[1]["n"], 12);
  EXPECT_EQ(lines[1]["batch"], 5);
  EXPECT_EQ(lines[1]["tunable"], 0);
  EXPECT_EQ(lines[1]["declined"],
            Json({{"several groups, which cuBLAS multiplies in one launch", 1}}));
}

TEST_F(ReportTest, HasTheGpuTimeOfASampleOfAShapesCalls) {
  const auto lines = report_of({}, [&] {
    for (int i = 0; i < 100; ++i) sgemm(handle_, 100);
    EXPECT_LE(fake_driver()->events, 4);
    sgemm(handle_, 104);
  });
  ASSERT_EQ(lines.size(), 3U);
  const bool first_has_100 = lines[1]["m"] == 100;
  const Json& timed = lines[first_has_100 ? 1 : 2];
  EXPECT_EQ(timed["timed"], 11);  // the second to the ninth, the 32nd, the 64th and the 96th
  EXPECT_EQ(timed["gpu_us"], 11 * 250.0);
  EXPECT_FALSE(lines[first_has_100 ? 2 : 1].contains("timed"));  // which loads its kernel
}

TEST_F(ReportTest, OnlyCountsCallsThatCannotBeTimed) {
  const auto expect_counted = [&](const std::function<void()>& change) {
    const auto lines = report_of({}, [&] {
      change();
      for (int i = 0; i < 40; ++i) expect_served(100);
    });
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[1]["served"], 40);
    EXPECT_FALSE(lines[1].contains("timed"));
    EXPECT_FALSE(lines[1].contains("gpu_us"));
  };
  expect_counted([] { fake_driver()->capture_status = 1; });
  expect_counted([] { fake_driver()->gpu_is_behind = true; });
  expect_counted([] { fake_driver()->record_status = 400; });
}

TEST_F(ReportTest, WaitsForNoEventAndMakesNoMoreThanAPoolOfThem) {
  const auto lines = report_of({}, [&] {
    fake_driver()->gpu_is_behind = true;
    for (int m = 100; m < 140; ++m) {
      for (int i = 0; i < 9; ++i) sgemm(handle_, m);
    }
    EXPECT_EQ(fake_driver()->events, 256);
    fake_driver()->gpu_is_behind = false;
  });
  std::int64_t timed = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) timed += lines[i].value("timed", 0);
  EXPECT_EQ(timed, 128);  // collected at exit
}

TEST_F(ReportTest, TimingBreaksNoCaptureOfAnotherThread) {
  const auto lines = report_of({}, [&] {
    fake_driver()->another_thread_captures = true;
    for (int i = 0; i < 9; ++i) sgemm(handle_, 100);
    EXPECT_FALSE(fake_driver()->capture_is_broken);
  });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["timed"], 8);
}

TEST_F(ReportTest, EventsOfAContextThatHasEndedAreLeftAlone) {
  const auto lines = report_of({}, [&] {
    for (int i = 0; i < 3; ++i) sgemm(handle_, 100);
    fake_driver()->context = 2;
    for (int i = 0; i < 3; ++i) sgemm(handle_, 100);
    EXPECT_EQ(fake_driver()->events, 2 + 2);
  });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["timed"], 1 + 3);
}

TEST_F(ReportTest, SaysWhyNothingIsServedWhereTheDatabaseIsUnusable) {
  const auto lines = report_of({}, [&] {
    library_.open_status = GT_DATABASE_ERROR;
    library_.error = "database 'x' does not exist";
    expect_by_cublas(100);
  });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["error"], "database 'x' does not exist");
  EXPECT_EQ(lines[1]["declined"], Json({{"the library or its database is unusable", 1}}));
}

TEST_F(ReportTest, ADatabaseThatComesLaterIsOpenedAndTheErrorForgotten) {
  const auto lines = report_of({}, [&] {
    library_.open_status = GT_DATABASE_ERROR;
    library_.error = "database 'x' does not exist";
    expect_by_cublas(100);
    library_.open_status = GT_OK;
    while (library_.served == 0) sgemm(handle_, 100);
  });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_FALSE(lines[0].contains("error"));
  EXPECT_EQ(lines[1]["served"], 1);
}

TEST_F(ReportTest, AnIntervalOfZeroLeavesTheWinnersOfTheStart) {
  const auto lines = report_of({{"GEMM_TUNE_BLAS_REFRESH", "0"}}, [&] {
    const auto threads = [] {  // that of ThreadSanitizer among them
      const std::filesystem::directory_iterator all("/proc/self/task");
      return std::distance(begin(all), end(all));
    };
    const auto before = threads();
    expect_served(100);
    EXPECT_EQ(threads(), before);
    EXPECT_EQ(library_.refreshes, 0);
  });
  EXPECT_EQ(lines.size(), 2U);
}

TEST_F(ReportTest, AnIntervalThatIsNoneIsNamedAndNothingIsServed) {
  expect_refused("GEMM_TUNE_BLAS_REFRESH", {"", "often", "-1", "nan", "1e9", "4x", " 4", "0x4"},
                 "it must be a number of seconds from 0 (never) to 86400");
}

TEST_F(ReportTest, SaysWhyTheLibraryFailedAtACall) {
  const auto lines = report_of({}, [&] {
    library_.gemm_status = GT_DEVICE_ERROR;
    expect_by_cublas(100);
  });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["error"], "the fake failed");
  EXPECT_EQ(lines[1]["declined"], Json({{"an error of gemm-tune's library", 1}}));
}

TEST_F(ReportTest, ADistanceThatIsNoneIsNamedAndNothingIsServed) {
  expect_refused("GEMM_TUNE_BLAS_DISTANCE", {"", "near", "0.5", "nan", "4x", " 4", "4,5"},
                 "it must be a number from 1 on");
}

TEST_F(ReportTest, AnAccuracyThatIsNoneOfFp32IsNamedAndNothingIsServed) {
  expect_refused("GEMM_TUNE_BLAS_ACCURACY", {"", "fp16x3", "sums_fp16"},
                 "it must be an accuracy class of fp32 products, as fp32_f16x3");
}

TEST_F(ReportTest, AnAccuracyOfTheEnvironmentIsThatOfTheCallsThatItConcerns) {
  const auto lines =
      report_of({{"GEMM_TUNE_BLAS_ACCURACY", "fp32_f16x3"}}, [&] { expect_served(100); });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["accuracy"], "fp32_f16x3");
  for (const Json& line : report_of({}, [&] { expect_served(100); })) {
    EXPECT_FALSE(line.contains("accuracy"));
  }
}

TEST_F(ReportTest, AnAccuracyThatNoKernelHasIsNamedOnce) {
  library_.recipe.match = GT_MATCH_NONE;
  const auto error = [&](const std::string& accuracy, const std::string& explanation) {
    library_.explanation = explanation;
    const auto lines = report_of({{"GEMM_TUNE_BLAS_ACCURACY", accuracy}}, [&] {
      expect_by_cublas(100);
      expect_by_cublas(200);
    });
    EXPECT_EQ(lines.size(), 3U);
    return lines.empty() ? "" : lines[0].value("error", "");
  };
  const std::string none = "no kernel serves 100x8x8: sm_75 has no kernel of f32+tf32";
  EXPECT_EQ(error("tf32", none), "GEMM_TUNE_BLAS_ACCURACY is 'tf32': " + none);
  EXPECT_EQ(error("fp32", none), "");
  EXPECT_EQ(error("fp32_f16x3", "nothing tuned for sm_90 fits 100x8x8"), "");
}

TEST_F(ReportTest, TheDistanceIsTheEnvironments) {
  const auto lines = report_of({{"GEMM_TUNE_BLAS_DISTANCE", "8"}}, [&] {
    library_.recipe.match = GT_MATCH_NEAREST;
    library_.recipe.distance = 8;
    expect_served(100);
    library_.recipe.distance = 9;
    expect_by_cublas(200);
  });
  EXPECT_EQ(lines.size(), 3U);
}

TEST_F(ReportTest, WhatIsExpectedNearATunedSizeIsOfTheSizeCalledFor) {
  const auto lines = report_of({}, [&] {
    library_.recipe.match = GT_MATCH_NEAREST;
    library_.recipe.distance = 2;
    library_.recipe.expected_us = 18;
    library_.recipe.cublas_us = 21;
    expect_served(100);
  });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["expected_us"], 18.0);
  EXPECT_EQ(lines[1]["cublas_us"], 21.0);
}

TEST_F(ReportTest, NvidiasEnvironmentIsHonoured) {
  report_of({{"NVIDIA_TF32_OVERRIDE", "0"}}, [&] {
    handle_.math_mode = 3;
    expect_served(100);
  });
  report_of({{"NVIDIA_TF32_OVERRIDE", "1"}}, [&] { expect_by_cublas(100); });
  report_of({{"CUBLAS_EMULATE_SINGLE_PRECISION", "1"}}, [&] { expect_by_cublas(100); });
  report_of({{"CUBLAS_EMULATE_SINGLE_PRECISION", "0"}}, [&] { expect_served(100); });
}

TEST_F(ReportTest, AChildOfAProcessDoesNotReportItsParentsCalls) {
  const auto lines = report_of({}, [&] {
    sgemm(handle_, 100);
    if (::fork() == 0) std::exit(0);
    int status = -1;
    ::wait(&status);
  });
  EXPECT_EQ(lines.size(), 2U);
}

TEST_F(ReportTest, TheCountsOfAProcessThatIsKilledAreReportedByAnother) {
  const TempFolder folder;
  const auto files = [&] {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (entry.path().filename().string().starts_with("counts.")) all.push_back(entry.path());
    }
    return all;
  };
  const pid_t child = ::fork();
  if (child == 0) {
    setenv("GEMM_TUNE_BLAS_REPORT", (folder.path() / "report").c_str(), 1);
    setenv("GEMM_TUNE_BLAS_COUNTS", folder.path().c_str(), 1);
    for (int i = 0; i < 3; ++i) sgemm(handle_, 100);
    library_.gemm_status = GT_DEVICE_ERROR;
    sgemm(handle_, 100);
    ::raise(SIGKILL);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "report"));
  ASSERT_EQ(files().size(), 1U);
  const std::string report = folder.path() / "recovered";
  EXPECT_EQ(gemm_tune_blas_report_of(files()[0].c_str(), report.c_str()), 0);
  std::istringstream text(read_file(report));
  std::string line;
  ASSERT_TRUE(std::getline(text, line));
  const Json process = Json::parse(line);
  EXPECT_EQ(process["pid"], child);
  EXPECT_THAT(process["program"].get<std::string>(), HasSubstr("preload_report_test"));
  EXPECT_EQ(process["error"], "the fake failed");
  ASSERT_TRUE(std::getline(text, line));
  EXPECT_EQ(Json::parse(line)["served"], 3);
  EXPECT_EQ(Json::parse(line)["declined"], Json({{"an error of gemm-tune's library", 1}}));
  EXPECT_FALSE(std::getline(text, line));
  std::string of_another_version = read_file(files()[0]);
  of_another_version[2] ^= 1;
  write_file(folder.path() / "other", of_another_version.substr(0, 4096));
  EXPECT_EQ(gemm_tune_blas_report_of((folder.path() / "other").c_str(), report.c_str()), 2);
  write_file(folder.path() / "other", "no counts");
  EXPECT_EQ(gemm_tune_blas_report_of((folder.path() / "other").c_str(), report.c_str()), 1);
  EXPECT_EQ(gemm_tune_blas_report_of((folder.path() / "missing").c_str(), report.c_str()), 1);
}

TEST_F(ReportTest, AProcessThatReportsLeavesNoCounts) {
  const TempFolder folder;
  EXPECT_EQ(
      report_of({{"GEMM_TUNE_BLAS_COUNTS", folder.path()}}, [&] { sgemm(handle_, 100); }).size(),
      2U);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(ReportTest, AFolderForCountsThatCannotBeWrittenCostsNothingElse) {
  const auto lines =
      report_of({{"GEMM_TUNE_BLAS_COUNTS", "/proc/no/folder"}}, [&] { expect_served(100); });
  EXPECT_EQ(lines.size(), 2U);
}

TEST_F(ReportTest, ALimitOnFileSizesEndsNoProgram) {
  const TempFolder folder;
  const auto lines = report_of({{"GEMM_TUNE_BLAS_COUNTS", folder.path()}}, [&] {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &limit);
    expect_served(100);
  });
  EXPECT_TRUE(lines.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(ReportTest, APipeThatNobodyReadsHoldsNoProgramUp) {
  const TempFolder folder;
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(report_of({{"GEMM_TUNE_BLAS_REPORT", pipe}}, [&] { expect_served(100); }).empty());
}

TEST_F(ReportTest, AProcessThatNeverMultipliesWritesNothing) {
  EXPECT_TRUE(report_of({}, [] {}).empty());
}

}  // namespace
}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Kernels that tuning has compiled, found by the library and by later runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "choose/choose.h"
#include "gpu/compile/nvrtc.h"
#include "runtime/jit.h"
#include "tests/cli/fixture.h"
#include "tuner/agents/one_machine.h"
#include "tuner/work/worker.h"

namespace gemm_tune {
namespace {

class KernelCacheTest : public CliTest {
 protected:
  // Predicts 2 candidates.
  void tune_into_cache() const {
    const ProgramRun tuned = run("-q --arch sm_86 --sizes 256 --budget 2 --seed 1 --db " +
                                 path("t.db") + " --kernel-cache " + path("kernels") + kOneFamily);
    ASSERT_EQ(tuned.exit_code, 0) << tuned.errors;
  }

  // What the database hands out for the problem.
  Choice choice_for(const Problem& problem) const {
    const Database database(path("t.db"), Database::Mode::read_only);
    const DeviceKey device = device_key(find_device_spec("sm_86").value());
    return choose(load_winners(database, "sm_86"), device, problem);
  }
};

TEST_F(KernelCacheTest, TheLibraryCompilesNothingThatTuningHasCompiled) {
  tune_into_cache();
  const KernelStore store(path("kernels"));
  int compiled = 0;
  const Compiler counting = [&](const KernelSource& source, const KnownConfig& config,
                                const CallForm& form, const std::string& arch) {
    ++compiled;
    return compile_kernel(source, config, form, arch);
  };
  // The tuned one, and sizes that only its predicated specialisations can serve.
  Problem misaligned = packed_problem(256, 256, 256);
  misaligned.alignment = uniform_alignment(misaligned.signature, 1);
  for (const Problem& problem :
       {packed_problem(256, 256, 256), packed_problem(250, 252, 260), misaligned}) {
    const Choice choice = choice_for(problem);
    ASSERT_TRUE(choice.winner) << to_string(problem);
    EXPECT_THAT(jit_cubin(*choice.config, COperand::in_place, "sm_86", &store, counting),
                testing::StartsWith("\177ELF"));
    EXPECT_EQ(compiled, 0) << to_string(choice.config->config());
  }
  EXPECT_TRUE(choice_for(misaligned).is_specialisation);
  // Another architecture's is another kernel.
  jit_cubin(*choice_for(misaligned).config, COperand::in_place, "sm_90", &store, counting);
  EXPECT_EQ(compiled, 1);
}

TEST_F(KernelCacheTest, ARunCompilesNothingThatLiesInTheKernelCache) {
  tune_into_cache();
  TuneRequest request;
  request.problems = {packed_problem(256, 256, 256)};
  request.device = find_device_spec("sm_86").value();
  request.cuda_version = nvrtc_version();
  request.only = {*choice_for(request.problems[0]).config};
  request.kernel_cache = path("kernels");
  request.worker = {path("nowhere"), kWorkerArgument};
  Database database(path("new.db"), Database::Mode::create_or_open);
  database.begin_run({"test", request.cuda_version, "", "again", 1});
  const TuneReport report = tune(request, database, [](const Progress&) {});
  ASSERT_TRUE(report.problems.at(0).winner);
  const Outcome& again = report.problems.at(0).winner->outcome;
  EXPECT_GT(again.resources.value().registers, 0);
  EXPECT_EQ(again.time_us(), choice_for(request.problems[0]).winner->outcome.time_us());
}

class DefaultKernelCacheTest : public KernelCacheTest {
 protected:
  ProgramRun tune(const std::string& options = "") const {
    return run("--arch sm_86 --sizes 256 --budget 2 --seed 1 --db " + path("t.db") + kOneFamily +
               options);
  }

  const std::filesystem::path cache_ = folder_ / "xdg-cache" / "gemm-tune";
};

TEST_F(DefaultKernelCacheTest, HoldsTheWinnersKernelThatTheRunHasCompiled) {
  ASSERT_EQ(tune("-q").exit_code, 0);
  const KnownConfig winner = *choice_for(packed_problem(256, 256, 256)).config;
  const std::string key =
      kernel_key(kernel_source(*winner.family), winner, COperand::in_place, "sm_86");
  EXPECT_THAT(load_kernel(KernelStore(cache_), key).value().bytes, testing::StartsWith("\177ELF"));
}

TEST_F(DefaultKernelCacheTest, StaysAwayWhereItIsNotWantedOrAnotherIsNamed) {
  for (const std::string& options :
       {std::string("--no-kernel-cache"), "--kernel-cache " + path("kernels"),
        std::string("--kernel-dir " GT_KERNEL_TEMPLATES "/.."), std::string("--dry-run")}) {
    const ProgramRun tuned = tune(options);
    ASSERT_EQ(tuned.exit_code, 0) << tuned.errors;
    EXPECT_FALSE(std::filesystem::exists(cache_)) << options;
  }
  expect_refusal("--arch sm_86 --sizes 256 --no-kernel-cache --kernel-cache " + path("kernels"), 2,
                 "--no-kernel-cache");
}

TEST_F(DefaultKernelCacheTest, OneThatCannotServeIsAWarningAndNoFailure) {
  std::filesystem::create_directories(cache_.parent_path());
  std::ofstream(cache_) << "a file in its place";
  const ProgramRun tuned = tune();
  EXPECT_EQ(tuned.exit_code, 0);
  EXPECT_THAT(tuned.errors,
              testing::HasSubstr("'" + cache_.string() +
                                 "' cannot serve as kernel cache: it is no directory"));
  EXPECT_THAT(tune("-q").errors, testing::Not(testing::HasSubstr("kernel cache")));
}

TEST_F(KernelCacheTest, ARunCompilesAgainWhatAnotherNvrtcHasCompiled) {
  tune_into_cache();
  const KernelStore store(path("kernels"));
  const Choice choice = choice_for(packed_problem(256, 256, 256));
  const std::string key = kernel_key(kernel_source(*choice.config->family), *choice.config,
                                     COperand::in_place, "sm_86");
  const std::string compiled = load_kernel(store, key).value().bytes;
  ASSERT_TRUE(store_kernel(store, key, {"13.7", "of another NVRTC"}));
  tune_into_cache();
  EXPECT_EQ(load_kernel(store, key).value().nvrtc_version, nvrtc_version());
  EXPECT_EQ(load_kernel(store, key).value().bytes, compiled);
}

}  // namespace
}  // namespace gemm_tune

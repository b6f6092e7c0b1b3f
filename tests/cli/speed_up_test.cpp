// SPDX-License-Identifier: Apache-2.0
// gemm-tune speed-up, also beside a program that runs already, with programs that multiply by a
// fake cuBLAS, a fake library that serves every call, and predictions in place of a GPU's times.
#include "tests/cli/fixture.h"

namespace gemm_tune {
namespace {

class CliSpeedUpTest : public CliTest {
 protected:
  CliSpeedUpTest() {
    std::filesystem::create_directories(bin_);
    std::filesystem::copy(std::getenv("GT_PROGRAM"), bin_ / "gemm-tune");
    for (const char* const file : {GT_DROP_IN, GT_FAKE_LIBRARY}) {
      std::filesystem::copy(file, bin_ / std::filesystem::path(file).filename());
    }
  }

  // options: ahead of "--".
  ProgramRun speed_up(const std::string& options, const std::string& program) const {
    return run_program((bin_ / "gemm-tune").string(), arguments(options, program));
  }

  std::string arguments(const std::string& options, const std::string& program) const {
    return "speed-up --db " + path("t.db") + " " + options + " -- " + program;
  }

  const std::filesystem::path bin_ = folder_ / "prefix/bin";
  const std::string client_ = GT_CUBLAS_CLIENT;
  const std::string predicted_ = "--arch sm_86 --budget 2 --jobs 1";
};

TEST_F(CliSpeedUpTest, AProgramIsRunTunedAndServedAndServedAtOnceTheSecondTime) {
  const std::string program = "sh -c '" + client_ + " 64 64 64 96; true'";
  const ProgramRun first = speed_up(predicted_, program);
  EXPECT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_EQ(first.output,
            "cublas\ncublas\ncublas\ncublas\ngemm-tune\ngemm-tune\ngemm-tune\ngemm-tune\n");
  EXPECT_THAT(first.errors, StartsWith("gemm-tune: 1 of 3: sh -c "));
  EXPECT_THAT(first.errors, HasSubstr("4 calls of cuBLAS with 2 products to tune, 1.12 ms of GPU "
                                      "time\n"));
  EXPECT_THAT(first.errors, ContainsRegex("   66\\.7 % +3 +250 us +[0-9.]+ us  64x64x64\n"));
  EXPECT_THAT(first.errors,
              ContainsRegex("gemm-tune: 2 of 3: searches on NVIDIA RTX A6000 \\(sm_86, "
                            "84 SMs\\) for 10:00 at most"));
  EXPECT_THAT(first.errors,
              ContainsRegex("\n  1 of 2  64x64x64: [0-9.]+ us \\(predicted, not timed\\)\n"));
  EXPECT_THAT(first.errors, ContainsRegex("\n  wall time +[0-9.]+ m?s +[0-9.]+ m?s +[0-9.]+\n"));
  EXPECT_THAT(first.errors, ContainsRegex("\n  GPU time of GEMM +1\\.12 ms +1\\.12 ms +1\\.000\n"));
  EXPECT_THAT(first.errors, HasSubstr("\ngemm-tune: served 4 of 4 calls of cuBLAS"));
  EXPECT_THAT(first.errors, EndsWith("gemm-tune: from now on: gemm-tune run --db " + path("t.db") +
                                     " -- " + program + "\n"));

  const ProgramRun second = speed_up(predicted_, program);
  EXPECT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_EQ(second.output, "gemm-tune\ngemm-tune\ngemm-tune\ngemm-tune\n");
  EXPECT_THAT(second.errors, HasSubstr(" UTC are known and tuned: it starts served; --again"));
  EXPECT_THAT(second.errors, Not(HasSubstr("of 3")));
  EXPECT_THAT(second.errors, HasSubstr("\n  wall time "));

  const ProgramRun again = speed_up("--again " + predicted_, program);
  EXPECT_THAT(again.errors, StartsWith("gemm-tune: 1 of 3: "));
  const ProgramRun quiet = speed_up("-q " + predicted_, program);
  EXPECT_EQ(quiet.errors, "");
  EXPECT_EQ(quiet.output, second.output);
}

TEST_F(CliSpeedUpTest, AnAccuracyThatTheEnvironmentNamesIsTunedAndServed) {
  const std::string asked = "GEMM_TUNE_BLAS_ACCURACY=fp32_f16x3 ",
                    program = "sh -c '" + client_ + " 256; true'";
  const auto speed_up_by = [&](const std::string& environment) {
    return run_program("/usr/bin/env", environment + (bin_ / "gemm-tune").string() + " " +
                                           arguments("--arch sm_90 --budget 2 --jobs 1", program));
  };
  const ProgramRun first = speed_up_by(asked);
  EXPECT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_EQ(first.output, "cublas\ngemm-tune\n");
  EXPECT_THAT(first.errors, HasSubstr("\n  1 of 1  64x256x64:type=f32+fp32_f16x3: "));
  EXPECT_THAT(first.errors, EndsWith("gemm-tune: from now on: " + asked + "gemm-tune run --db " +
                                     path("t.db") + " -- " + program + "\n"));
  const ProgramRun unknown = speed_up_by("GEMM_TUNE_BLAS_ACCURACY=fp16x3 ");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.output, "");
  EXPECT_THAT(unknown.errors,
              HasSubstr("GEMM_TUNE_BLAS_ACCURACY is 'fp16x3': it must be an accuracy class"));
  const ProgramRun plain = speed_up_by("");
  EXPECT_THAT(plain.errors, StartsWith("gemm-tune: 1 of 3: ")) << "other products are tuned";
  EXPECT_THAT(plain.errors, HasSubstr("\n  1 of 1  64x256x64: "));
}

TEST_F(CliSpeedUpTest, AProgramThatFailsIsToldOfAndTunedAllTheSameTheSecondTime) {
  const ProgramRun first = speed_up(predicted_, client_ + " 64");
  EXPECT_EQ(first.exit_code, 5);
  EXPECT_EQ(first.output, "cublas\n");
  EXPECT_THAT(first.errors,
              HasSubstr("the program itself failed, with exit code 5, before anything "
                        "was served; kept: 1 product"));
  const ProgramRun second = speed_up(predicted_, client_ + " 64");
  EXPECT_EQ(second.exit_code, 5);
  EXPECT_EQ(second.output, "gemm-tune\n");
  EXPECT_THAT(second.errors, HasSubstr(" UTC are known and not tuned to the end"));
  EXPECT_THAT(second.errors,
              HasSubstr("no times to compare, for it failed when it was served, with "
                        "exit code 5, as it may without"));
  EXPECT_THAT(second.errors, HasSubstr("from now on: gemm-tune run "));
}

TEST_F(CliSpeedUpTest, AProgramThatFailsOnlyWhenItIsServedIsLeftAsItIs) {
  const ProgramRun done = speed_up(predicted_, "sh -c '" + client_ + " 64 | grep -q cublas'");
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.errors, HasSubstr("failed when it was served, with exit code 1, and had not "
                                     "before\n"));
  EXPECT_THAT(done.errors, HasSubstr("gemm-tune: leave the program as it is: sh -c "));
  EXPECT_THAT(done.errors, Not(HasSubstr("from now on")));
}

TEST_F(CliSpeedUpTest, AnInterruptedProgramLeavesItsProductsAndTheSameCommandGoesOn) {
  const std::string flag = path("interrupted");
  const std::string program = "sh -c '" + client_ + " 64; [ -e " + flag + " ] || { touch " + flag +
                              "; kill -TERM $PPID; exec sleep 60; }'";
  const ProgramRun first = speed_up(predicted_, program);
  EXPECT_EQ(first.exit_code, 130);
  EXPECT_THAT(first.errors, HasSubstr("gemm-tune: interrupted; kept: 1 product of the program; the "
                                      "same command goes on with the search\n"));
  const ProgramRun second = speed_up(predicted_, program);
  EXPECT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_EQ(second.output, "gemm-tune\n");
  EXPECT_THAT(second.errors, HasSubstr("no times to compare, for the run before was interrupted"));
}

TEST_F(CliSpeedUpTest, AnInterruptedSearchIsKeptAndTheSameCommandGoesOn) {
  const std::string program = "sh -c '" + client_ + " 64; true'", said = path("said");
  write_file(path("interrupt.sh"), "'" + (bin_ / "gemm-tune").string() + "' \"$@\" 2>" + said +
                                       " &\n"
                                       "until grep -q '2 of 3' " +
                                       said + "; do sleep 0.05; done\nkill -TERM $!\nwait $!\n");
  const ProgramRun first = run_program("sh " + path("interrupt.sh"),
                                       arguments("--arch sm_86 --budget all --jobs 1", program));
  EXPECT_EQ(first.exit_code, 130);
  EXPECT_EQ(first.output, "cublas\n");
  EXPECT_THAT(read_file(said), EndsWith(" and the same command goes on from there\n"));
  const ProgramRun second = speed_up(predicted_, program);
  EXPECT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_EQ(second.output, "gemm-tune\n");
  EXPECT_THAT(second.errors, HasSubstr("2 of 3"));
}

TEST_F(CliSpeedUpTest, OnAnotherGpuItBeginsAnew) {
  const std::string program = "sh -c '" + client_ + " 64; true'";
  EXPECT_EQ(speed_up(predicted_, program).exit_code, 0);
  const ProgramRun other = speed_up("--arch sm_80 --budget 2 --jobs 1", program);
  EXPECT_EQ(other.output, "cublas\ngemm-tune\n");
  EXPECT_THAT(other.errors,
              HasSubstr(" was run on NVIDIA RTX A6000 (sm_86, 84 SMs) before: it begins "
                        "anew\n"));
}

// A program under `gemm-tune run`, and what another process does with it. In the script, $run is
// the former's process; awaits FILE TEXT waits until the text is in the file. The drop-in often
// looks for winners. The program ends once the file "stop" is there.
class CliWhileRunningTest : public CliSpeedUpTest {
 protected:
  ProgramRun beside(const std::string& program, const std::string& script) const {
    write_file(path("beside.sh"),
               "export GEMM_TUNE_BLAS_REFRESH=0.01\n"
               "awaits() { until grep -q \"$2\" \"$1\" 2>/dev/null; do sleep 0.02; done; }\n"
               "cd " +
                   folder_.string() + "\n" + tool_ + " run --db t.db -- " + program +
                   " >out 2>run.err &\nrun=$!\n" + script + "\n");
    return run_program("sh", path("beside.sh"));
  }
  std::string while_running(const std::string& process) const {
    return tool_ + " speed-up --while-running " + process + " --arch sm_86 --budget 2 --jobs 1 ";
  }

  const std::string tool_ = "'" + (bin_ / "gemm-tune").string() + "'";
};

TEST_F(CliWhileRunningTest, WhatAProgramMultipliesIsTunedAndServesItAsItGoesOn) {
  const ProgramRun done = beside(client_ + " 64 until 64 32 await stop",
                                 "awaits out cublas\n" + while_running("$run") +
                                     " 2>said &\ntuner=$!\n"
                                     "awaits said 'it waits for others'\n"
                                     "touch stop\nwait $run\necho $?\nwait $tuner\necho $?");
  EXPECT_EQ(done.output, "5\n0\n") << done.errors;
  EXPECT_EQ(read_file(path("out")), "cublas\ngemm-tune\ngemm-tune\n");
  const std::string said = read_file(path("said"));
  EXPECT_THAT(
      said, ContainsRegex("^gemm-tune: process [0-9]+ runs (/|\\.\\.\\./).*; what it multiplies is "
                          "tuned on NVIDIA RTX A6000 \\(sm_86, 84 SMs\\) for 10:00 at "
                          "most, in 20 % of the GPU's time; Ctrl-C keeps"));
  EXPECT_THAT(said, ContainsRegex("\n  64x64x64: [0-9.]+ us \\(predicted, not timed\\)\n"));
  EXPECT_THAT(said, ContainsRegex("\n  64x32x64: [0-9.]+ us \\(predicted, not timed\\)\n"));
  EXPECT_THAT(said, EndsWith("gemm-tune: the program has ended; 2 products with a winner in " +
                             path("t.db") + "\n"));
  EXPECT_THAT(read_file(path("run.err")), HasSubstr("gemm-tune: served "));
  EXPECT_THAT(read_file(path("run.err")), Not(HasSubstr("does not exist")));
}

TEST_F(CliWhileRunningTest, AnInterruptionKeepsWhatIsFoundAndLeavesTheProgramAlone) {
  const ProgramRun done =
      beside(client_ + " 64 await stop 64",
             "awaits out cublas\n" + while_running("$run") + "--db other.db\necho $?\n" +
                 while_running("$run") +
                 " -q 2>said &\ntuner=$!\n"
                 "until [ -n \"$(" +
                 tool_ +
                 " best -q --db t.db --arch sm_86 --sizes 64 2>/dev/null)\" ]; do sleep 0.02; "
                 "done\nkill -TERM $tuner\nwait $tuner\necho $?\n"
                 "touch stop\nwait $run\necho $?");
  EXPECT_EQ(done.output, "2\n130\n5\n") << done.errors;
  EXPECT_EQ(done.errors, "gemm-tune: the program is served by the winners of '" + path("t.db") +
                             "', and would not see those of 'other.db': leave --db out\n");
  EXPECT_THAT(read_file(path("said")), AllOf(StartsWith("gemm-tune: interrupted; "),
                                             HasSubstr(" in " + path("t.db") + ";")));
}

TEST_F(CliWhileRunningTest, AProgramThatMultipliesNothingIsAwaitedToItsEnd) {
  const ProgramRun done =
      beside("sh -c 'until [ -e stop ]; do sleep 0.02; done'",
             "until " + while_running("$run") +
                 "--time 0 2>&1 | grep -q duration; do sleep 0.02; done\n" + while_running("$run") +
                 " 2>said &\ntuner=$!\nawaits said 'it waits for its first product'\n"
                 "touch stop\nwait $tuner\necho $?");
  EXPECT_EQ(done.output, "4\n") << done.errors;
  EXPECT_THAT(read_file(path("said")),
              ContainsRegex("\ngemm-tune: process [0-9]+ made no call of cuBLAS that could be "
                            "served until it ended\n$"));
}

// As after an upgrade of gemm-tune: the first bytes of the counts tell the version.
TEST_F(CliWhileRunningTest, AProgramUnderAnotherVersionIsRefusedInASentence) {
  const ProgramRun done = beside(
      client_ + " 64 await stop",
      "awaits out cublas\n"
      "counts=$(tr '\\0' '\\n' </proc/$(cat /proc/$run/task/$run/children | tr -d ' ')/environ | "
      "sed -n 's/^GEMM_TUNE_BLAS_COUNTS=//p')\n"
      "printf x | dd of=$(echo $counts/counts.*) bs=1 seek=2 conv=notrunc status=none\n" +
          while_running("$run") + "-q\necho $?\ntouch stop\nwait $run");
  EXPECT_EQ(done.output, "2\n") << done.errors;
  EXPECT_THAT(done.errors,
              AllOf(StartsWith("gemm-tune: the program runs under another version of "),
                    HasSubstr("start it again")));
}

TEST_F(CliWhileRunningTest, RefusesProcessesAndSharesThatAreNone) {
  const std::string as = "speed-up --while-running ";
  expect_refusal(as + "2147483647", 2, "there is no process 2147483647");
  expect_refusal(as + "$$", 2,
                 ") does not run under gemm-tune: start the program by gemm-tune run");
  expect_refusal(as + "0", 2, "--while-running");
  expect_refusal(as + "$$ -- true", 2, "--while-running runs no program: leave out 'true'");
  expect_refusal(as + "$$ --again", 2, "--again");
  for (const char* const share : {"0%", "0.001", "20", "101%", "half", "20%%"}) {
    expect_refusal(as + "$$ --gpu-share " + share, 2,
                   "--gpu-share '" + std::string(share) + "' is not a share from 1% to 100%");
  }
  expect_refusal("speed-up --gpu-share 20% -- true", 2, "--while-running");
}

TEST_F(CliSpeedUpTest, WithoutAGpuTheProgramIsNotEvenStarted) {
  expect_refusal("speed-up --db " + path("t.db") + " -- " + client_ + " 64", 3,
                 "speed-up times kernels on a GPU and cannot: ");
}

TEST_F(CliSpeedUpTest, WhatIsNoProgramThatMultipliesIsRefused) {
  expect_refusal("speed-up", 2, "name the program behind --, as in gemm-tune speed-up -- python3");
  expect_refusal("speed-up python3 train.py", 2, "'python3' stands behind no --: write");
  const ProgramRun none = speed_up(predicted_, "true");
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_THAT(none.errors, HasSubstr("made no call of cuBLAS that could be served: true exited"));
  const ProgramRun failed = speed_up(predicted_, "false");
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.errors, HasSubstr("could be served: false exited with 1"));
  EXPECT_EQ(speed_up("--time soon " + predicted_, "true").exit_code, 2);
}

TEST_F(CliSpeedUpTest, AProgramWhoseProductsCannotBeKeptIsNotEvenStarted) {
  const std::string program = "sh -c '" + client_ + " 64; true'";
  EXPECT_EQ(speed_up(predicted_, program).exit_code, 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "speed-up")) {
    const std::filesystem::path record = entry.path();
    std::filesystem::remove(record);
    std::filesystem::create_directory(record);
    const ProgramRun refused = speed_up(predicted_, program);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.output, "");
    EXPECT_EQ(refused.errors, "gemm-tune: '" + record.string() +
                                  "' cannot be written: it is a directory; name a file in it\n");
    break;
  }
}

TEST_F(CliSpeedUpTest, OneThatRunsUnderAnotherIsRefused) {
  const std::string inner = (bin_ / "gemm-tune").string() + " " +
                            arguments(predicted_, "sh -c '" + client_ + " 64; true'");
  const ProgramRun outer = speed_up(predicted_, inner);
  EXPECT_EQ(outer.output, "");
  EXPECT_EQ(outer.exit_code, 2);  // the inner one's
  EXPECT_THAT(outer.errors,
              HasSubstr("gemm-tune: gemm-tune speed-up is itself run by gemm-tune run, capture or "
                        "speed-up, and only one of them would see the program's calls: leave one "
                        "out\n"));
}

TEST_F(CliSpeedUpTest, ADamagedRecordIsMadeAnew) {
  const std::string program = "sh -c '" + client_ + " 64; true'";
  EXPECT_EQ(speed_up(predicted_, program).exit_code, 0);
  int records = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "speed-up")) {
    write_file(entry.path().string(), "{");
    ++records;
  }
  EXPECT_EQ(records, 1);
  EXPECT_EQ(speed_up(predicted_, program).output, "cublas\ngemm-tune\n");
}

}  // namespace
}  // namespace gemm_tune

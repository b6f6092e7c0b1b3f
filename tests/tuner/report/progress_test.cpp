// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/progress.h"

#include "tests/matchers.h"
#include "tests/tuner/report/captured_stderr.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;

TEST(ProgressTest, TellsTheTimeLeftFromTheShareDone) {
  EXPECT_EQ(time_left(0, 100, 10s), "");
  EXPECT_EQ(time_left(25, 100, 10s), "0:30 left");
  EXPECT_EQ(time_left(10, 100, 15s), "2:15 left");
  EXPECT_EQ(time_left(100, 100, 10s), "");
}

Progress progress(const Problem& problem) {
  Progress progress;
  progress.problem = &problem;
  progress.done = 12;
  progress.budget = 64;
  progress.stage = kSearching;
  return progress;
}

TEST(ProgressTest, SaysWhichProblemOfHowManyAndWhetherTheBestIsPredicted) {
  const Problem problem = packed_problem(1024, 1024, 1024);
  Progress now = progress(problem);
  EXPECT_EQ(progress_line(now, "", 200), "1024x1024x1024: 12/64 tried");
  now.best_us = 84.768;
  EXPECT_EQ(progress_line(now, "1:05 left", 200),
            "1024x1024x1024: 12/64 tried, best 84.768 us, 1:05 left");
  now.is_predicted = true;
  now.number = 2;
  now.problems = 48;
  now.stage = "finals";
  EXPECT_EQ(progress_line(now, "1:05 left", 200),
            "2/48 1024x1024x1024: 12/64 tried, finals, best 84.768 us (predicted), 1:05 left");
}

TEST(ProgressTest, SaysHowTheBestStandsToCublasAndWhichProcessesAreAtWork) {
  const Problem problem = packed_problem(1024, 1024, 1024);
  Progress now = progress(problem);
  now.best_us = 50;
  now.cublas_us = 40;
  now.compilers = {14, 15};
  now.gpus = {1, 1};
  EXPECT_EQ(progress_line(now, "1:05 left", 200),
            "1024x1024x1024: 12/64 tried, best 50 us (0.800 of cuBLAS), compile 14/15, GPU 1/1, "
            "1:05 left");
  // Fewer words where these are too many, then no processes.
  EXPECT_EQ(progress_line(now, "1:05 left", 79),
            "1024x1024x1024 12/64, 50 us, 0.8 of cuBLAS, CPU 14/15 GPU 1/1, 1:05 left");
  EXPECT_EQ(progress_line(now, "1:05 left", 71),
            "1024x1024x1024 12/64, 50 us, 0.8 of cuBLAS, 1:05 left");
}

TEST(ProgressTest, ALineNeverTakesMoreColumnsThanThereAre) {
  const Problem problem = parse_problem("1000000x1000000x1000000:layout=nt:align=4:batch=65535");
  Progress now = progress(problem);
  now.best_us = 84.768;
  now.compilers = {2, 2};
  EXPECT_EQ(progress_line(now, "1:05 left", 60),
            "1000000x1000000x1000000:... 12/64, best 84.768 us, 1:05 left");
  for (std::size_t columns = 0; columns < 120; ++columns) {
    EXPECT_LE(progress_line(now, "1:05 left", columns).size(), columns);
  }
}

TEST(ProgressTest, PlainLinesGetRarerInALongRun) {
  EXPECT_EQ(plain_interval(0s), 10s);
  EXPECT_EQ(plain_interval(100s), 10s);
  EXPECT_EQ(plain_interval(300s), 30s);
  EXPECT_EQ(plain_interval(10h), 60s);
}

// A run's progress after that of one problem.
std::string left_after(RunProgress& run, const Progress& progress,
                       std::chrono::milliseconds elapsed) {
  run.note(progress);
  return run.left(elapsed);
}

TEST(ProgressTest, TheTimeLeftIsThatOfAllProblems) {
  const Problem problem = packed_problem(64, 64, 64);
  Progress first = progress(problem);
  first.problems = 4;
  first.done = 16;
  RunProgress run;
  EXPECT_EQ(left_after(run, first, 8s), "2:00 left");  // 16 of 4 x 64 done in 8 s
  first.done = 64;
  EXPECT_EQ(left_after(run, first, 32s), "1:36 left");
  Progress second = first;
  second.number = 2;
  second.budget = 128;
  second.done = 0;
  EXPECT_EQ(left_after(run, second, 32s), "2:40 left");  // 192 begun, as many to come, 64 done
  second.done = 96;
  second.stage = kFinished;  // before its budget is spent
  EXPECT_EQ(left_after(run, second, 80s), "1:20 left");
  Progress third = first;
  third.number = 3;
  third.budget = third.done = 80;
  EXPECT_EQ(left_after(run, third, 120s), "0:40 left");  // 240 done, 80 to come
  third.number = 4;
  EXPECT_EQ(left_after(run, third, 160s), "");
}

TEST(ProgressTest, OfSeveralProblemsUnderWayTheFirstIsShown) {
  const Problem problem = packed_problem(64, 64, 64);
  Progress first = progress(problem), second = first;
  first.problems = second.problems = 2;
  second.number = 2;
  RunProgress run;
  run.note(second);
  EXPECT_TRUE(run.is_first(2)) << "the other is being planned";
  run.note(first);
  EXPECT_TRUE(run.is_first(1));
  EXPECT_FALSE(run.is_first(2));
  first.stage = kFinished;
  run.note(first);
  EXPECT_FALSE(run.is_first(1));
  EXPECT_TRUE(run.is_first(2));
}

TEST(ProgressTest, WhatEarlierRunsTriedTakesNoTime) {
  const Problem problem = packed_problem(64, 64, 64);
  Progress now = progress(problem);
  now.done = now.recalled = 60;
  RunProgress run;
  EXPECT_EQ(left_after(run, now, 1s), "");
  now.done = 61;
  EXPECT_EQ(left_after(run, now, 2s), "0:06 left");
}

TEST(ProgressTest, ALimitOfTheRunBoundsTheTimeLeft) {
  const Problem problem = packed_problem(64, 64, 64);
  Progress now = progress(problem);
  now.done = 1;
  RunProgress run(60s);
  EXPECT_EQ(left_after(run, now, 10s), "0:50 left");
  EXPECT_EQ(left_after(run, now, 61s), "0:00 left");
}

// By a clock of the test's own.
class ProgressPrinterTest : public testing::Test {
 protected:
  // That so many are tried: all by earlier runs, so that no line tells of time.
  void show(ProgressPrinter& printer, std::size_t tried, const char* stage = kSearching) const {
    Progress now = progress(problem_);
    now.done = now.recalled = tried;
    now.stage = stage;
    printer.show(now);
  }

  const Problem problem_ = packed_problem(64, 64, 64);
  ProgressPrinter::Clock::time_point now_;
  const std::function<ProgressPrinter::Clock::time_point()> clock_ = [this] { return now_; };
};

TEST_F(ProgressPrinterTest, WithoutATerminalALineComesAtOnceAndTheNextAfterTenSeconds) {
  Stderr err(Stderr::Kind::pipe);
  {
    ProgressPrinter printer(/*quiet=*/false, std::nullopt, clock_);
    show(printer, 1);
    now_ += 9999ms;
    show(printer, 2);
    show(printer, 3, "finals");
    now_ += 1ms;
    show(printer, 4);
  }
  EXPECT_EQ(err.whole(), "64x64x64: 1/64 tried\n64x64x64: 4/64 tried\nend");
}

TEST_F(ProgressPrinterTest,
       ATerminalsLineIsRewrittenFiveTimesASecondAndForEachStageAndLeavesNothing) {
  Stderr err(Stderr::Kind::terminal);
  {
    ProgressPrinter printer(/*quiet=*/false, std::nullopt, clock_);
    show(printer, 1);
    now_ += 199ms;
    show(printer, 2);
    show(printer, 3, "finals");
    now_ += 200ms;
    show(printer, 4, "finals");
  }
  EXPECT_EQ(err.whole(),
            "64x64x64: 1/64 tried\r\033[K64x64x64: 3/64 tried, finals\r\033[K"
            "64x64x64: 4/64 tried, finals\r\033[Kend");
}

TEST_F(ProgressPrinterTest, QuietOnesSayNothing) {
  Stderr err(Stderr::Kind::pipe);
  {
    ProgressPrinter printer(/*quiet=*/true, std::nullopt, clock_);
    show(printer, 1);
  }
  EXPECT_EQ(err.whole(), "end");
}

TEST(TerminalTest, ATextIsCutBetweenCharactersByTheirColumns) {
  EXPECT_EQ(cut_to_columns("1024x1024", 4), "1024");
  EXPECT_EQ(cut_to_columns("1024", 80), "1024");
  EXPECT_EQ(cut_to_columns("1024", 0), "");
  EXPECT_EQ(cut_to_columns("a\u00fcb", 2), "a\u00fc");
  // Two columns each.
  EXPECT_EQ(columns_of("\u6e2c\u5b9a"), 4u);
  EXPECT_EQ(cut_to_columns("\u6e2c\u5b9a", 3), "\u6e2c");
  // A combining accent belongs to the letter before it and takes none.
  EXPECT_EQ(columns_of("e\u0301"), 1u);
  EXPECT_EQ(cut_to_columns("e\u0301f", 1), "e\u0301");
  // Bytes that are no character.
  EXPECT_EQ(cut_to_columns("\xff\xfe\xfd", 2), "\xff\xfe");
  EXPECT_EQ(cut_to_columns("a\xe6\xb8", 2), "a\xe6");
}

}  // namespace
}  // namespace gemm_tune

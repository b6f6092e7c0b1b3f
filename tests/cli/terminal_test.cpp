// SPDX-License-Identifier: Apache-2.0
// The output of a run as a person sees it: on a terminal, through a pipe, and with -q.
#include "tuner/report/terminal.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/cli/fixture.h"

namespace gemm_tune {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class CliTerminalTest : public CliTest {
 protected:
  std::string tune(const std::string& options) const {
    return options + " --arch sm_86 --seed 1 --db " + path("t.db");
  }

  // Standard output and error on a terminal of so many columns, without the carriage returns that
  // the terminal puts before line ends.
  std::string on_terminal(const std::string& arguments, unsigned short columns,
                          const std::string& before = "") const {
    const std::string command =
        before + " CUDA_VISIBLE_DEVICES= GEMM_TUNE_DB= XDG_CACHE_HOME=" + path("xdg-cache") + " " +
        std::getenv("GT_PROGRAM") + " " + arguments;
    winsize size{50, columns, 0, 0};
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    std::string output;
    std::array<char, 4096> chunk{};
    for (ssize_t n = 0; (n = read(terminal, chunk.data(), chunk.size())) > 0;) {
      output.append(chunk.data(), static_cast<std::size_t>(n));
    }
    close(terminal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0) << output;
    for (std::size_t at = 0; (at = output.find("\r\n", at)) != output.npos;) output.erase(at, 1);
    return output;
  }

  // What a terminal still shows after its one line was rewritten for the last time.
  static std::vector<std::string> shown(const std::string& output) {
    std::vector<std::string> lines = lines_of(output);
    for (std::string& line : lines) {
      const std::size_t cleared = line.rfind("\r\033[K");
      if (cleared != line.npos) line.erase(0, cleared + 4);
    }
    return lines;
  }

  // The lines before the first result, and those from it on.
  static std::vector<std::string> begin_of(const std::vector<std::string>& lines) {
    return {lines.begin(), first_result(lines)};
  }
  static std::vector<std::string> results_of(const std::vector<std::string>& lines) {
    return {first_result(lines), lines.end()};
  }

 private:
  static std::vector<std::string>::const_iterator first_result(
      const std::vector<std::string>& lines) {
    return std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find(" on ") != line.npos && line.find("problem") == line.npos;
    });
  }
};

TEST_F(CliTerminalTest, ARunSaysFirstWhatItDoes) {
  const std::vector<std::string> lines =
      shown(on_terminal(tune("--sizes 64,96 --config " + std::string(kNaive)), 80));
  EXPECT_THAT(lines[0], StartsWith("2 problems on NVIDIA RTX A6000 (sm_86): kernels are compiled"));
  for (const std::string& line : begin_of(lines)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(unbroken(on_terminal("-q " + tune("--sizes 64 --config " + std::string(kNaive)), 80)),
              Not(HasSubstr("kernels are compiled")));
}

TEST_F(CliTerminalTest, ASizeTakesTwelveLinesOfEightyColumnsAtMostOnATerminal) {
  const std::vector<std::string> lines =
      results_of(shown(on_terminal(tune("--sizes 256 --budget 2"), 80)));
  const auto blank = std::find(lines.begin(), lines.end(), "");
  ASSERT_NE(blank, lines.end());
  EXPECT_LE(blank - lines.begin(), 12);
  EXPECT_GE(blank - lines.begin(), 5);
  for (auto line = lines.begin(); line != blank; ++line) EXPECT_LE(line->size(), 80u) << *line;
  EXPECT_THAT(lines[0], StartsWith("256x256x256 on NVIDIA RTX A6000 (sm_86, 84 SMs), "));
  EXPECT_THAT(lines[1], AllOf(StartsWith("  winner   "), testing::EndsWith(",")));
}

TEST_F(CliTerminalTest, AConfigThatTheReportBrokeCanBePastedInQuotes) {
  const std::vector<std::string> lines =
      results_of(shown(on_terminal(tune("--sizes 256 --budget 2" + std::string(kOneFamily)), 80)));
  std::string config = lines[1].substr(11);
  for (std::size_t i = 2; lines[i].starts_with("           "); ++i) config += "\n" + lines[i];
  EXPECT_THAT(config, HasSubstr("\n"));
  const ProgramRun explain =
      run("explain --arch sm_86 --sizes 256 --db " + path("t.db") + " '" + config + "'");
  EXPECT_EQ(explain.exit_code, 0) << explain.errors;
  EXPECT_THAT(explain.output, HasSubstr("at 256x256x256 on"));
}

TEST_F(CliTerminalTest, ExplainFitsEightyColumnsOnATerminal) {
  ASSERT_EQ(run(tune("-q --sizes 256 --budget 2" + std::string(kOneFamily))).exit_code, 0);
  for (const std::string config : {"", kNaive,
                                   "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,"
                                   "PAD=4,INTERLEAVE=0,PRED=0"}) {
    const std::string output =
        on_terminal("explain --arch sm_86 --sizes 256 " + config + " --db t.db", 80,
                    "cd " + folder_.string() + ";");  // whose name may be long
    EXPECT_THAT(output, HasSubstr("best other config"));
    for (const std::string& line : lines_of(output)) EXPECT_LE(line.size(), 80u) << line;
  }
}

class CliColumnsTest : public CliTerminalTest {
 protected:
  // On a terminal and through a pipe.
  void expect_eighty_columns(const std::string& command) const {
    const std::string shown = on_terminal(command, 80);
    std::size_t longest = 0;
    for (const std::string& line : lines_of(shown)) {
      // The command that times the rungs stays whole, to be copied.
      if (!line.starts_with("  gemm-tune ")) longest = std::max(longest, columns_of(line));
    }
    EXPECT_LE(longest, 80u) << shown;
    for (const std::string& line : lines_of(run(command).output)) {
      const bool is_config = line.find("PRED=") != line.npos && line.find_last_of(' ') < 8;
      const bool may_be_long = is_config || line.starts_with("  gemm-tune ");
      EXPECT_TRUE(may_be_long || line.size() <= 80) << line;
    }
  }
};

TEST_F(CliColumnsTest, BestAndDryRunFitEighty) {
  ASSERT_EQ(run(tune("-q --sizes 256 --budget 2")).exit_code, 0);
  const std::string rest = " --arch sm_86 --sizes 256,300x200x100 --db " + path("t.db");
  for (const std::string command : {"best", "--dry-run -q"}) expect_eighty_columns(command + rest);
}

// Eighteen rungs to compile; the commands of one test find the rows of the first.
class CliLadderTest : public CliColumnsTest {
 protected:
  // Of the only device of the database.
  void expect_device(const std::string& ladder, const std::string& device) const {
    EXPECT_THAT(run(ladder).output, StartsWith(device));
  }

  void expect_refusals_of_output(const std::string& ladder) const {
    expect_refusal(ladder + " >/dev/full", 7,
                   "standard output cannot be written: No space left on device");
    expect_refusal(ladder + " >&-", 7, "standard output cannot be written: Bad file descriptor");
  }
};

TEST_F(CliLadderTest, EndsWithTheTunedWinnerAndSaysWhatEachRungChanges) {
  ASSERT_EQ(run(tune("-q --sizes 256 --budget 6")).exit_code, 0);
  const std::string db = " --db " + path("t.db"), problem = " --arch sm_86 --sizes 256" + db;
  const auto json = nlohmann::json::parse(run("ladder -q --json" + problem).output).at(0);
  ASSERT_EQ(json.at("rungs").size(), 19u);
  EXPECT_EQ(json.at("rungs").back().at("rung"), "the tuned winner");
  // The rungs are rows now, too, and one of them might have won.
  const auto after = nlohmann::json::parse(run("best --json" + problem).output).at(0);
  EXPECT_EQ(json.at("rungs").back().at("config"), after.at("config"));
  EXPECT_THAT(run("ladder -q" + problem).output,
              ContainsRegex("\n  two fragments +[0-9.]+ TFLOP/s +x[0-9.]+\n"
                            "    a k step's operands are loaded while the step before is "
                            "multiplied\n    warp_tiled/"));
  expect_eighty_columns("ladder -q" + problem);
  expect_device("ladder -q --sizes 256" + db, "256x256x256 on NVIDIA RTX A6000 (sm_86)");
  expect_refusals_of_output("ladder -q" + problem);
  const ProgramRun piped = run("ladder --arch sm_86 --sizes @/dev/stdin" + db, "printf '256\\n' |");
  EXPECT_EQ(piped.exit_code, 0) << piped.errors;
  EXPECT_THAT(piped.output, HasSubstr("256x256x256"));
}

// Of a size that no tile divides, and of a card that is not the architecture's typical one.
TEST_F(CliLadderTest, OfPredicatedRungsOnAnotherCard) {
  const std::string db = " --db " + path("t.db");
  ASSERT_EQ(run("-q --gpu 'RTX 3090' --sizes 96 --config " + std::string(kNaive) + db).exit_code,
            0);
  const std::string ladder = "ladder -q --sizes 300x200x100,64" + db;
  expect_device(ladder, "300x200x100 on NVIDIA GeForce RTX 3090 (sm_86)");
  expect_eighty_columns(ladder);
  expect_refusals_of_output(ladder);
  const ProgramRun piped = run("ladder --sizes @/dev/stdin" + db, "printf '64\\n' |");
  EXPECT_EQ(piped.exit_code, 0) << piped.errors;
  EXPECT_THAT(piped.output, HasSubstr("64x64x64"));
}

TEST_F(CliTerminalTest, APipeGetsNoControlByteAndConfigsWhole) {
  const ProgramRun piped = run(tune("--sizes 256 --budget 2" + std::string(kOneFamily)));
  ASSERT_EQ(piped.exit_code, 0) << piped.errors;
  for (const std::string& text : {piped.output, piped.errors}) {
    EXPECT_EQ(text.find('\033'), text.npos);
    EXPECT_EQ(text.find('\r'), text.npos);
  }
  EXPECT_THAT(piped.output, ContainsRegex("\n  winner   [a-z_0-9]+/[^\n]*PRED=0\n  time     "));
  int wide = 0;
  const std::vector<std::string> lines = lines_of(piped.output);
  for (std::size_t i = 0; !lines[i].empty(); ++i) wide += lines[i].size() > 80 ? 1 : 0;
  EXPECT_LE(wide, 1) << "only the config's";
}

TEST_F(CliTerminalTest, AProgressLineIsRewrittenOnATerminalAndLeavesNothing) {
  const std::string output =
      on_terminal(tune("--sizes 64,96 --budget 3 --jobs 1" + std::string(kOneFamily)), 80);
  // The searches run side by side: the second may end while the first is still shown.
  EXPECT_THAT(output,
              ContainsRegex("1/2 64x64x64: [0-3]/3 tried, [^\n]*compile [01]/1[^\n]*\r\033\\[K"));
  EXPECT_THAT(output, ContainsRegex("best [0-9.]+ us \\(predicted\\)"));
  for (const std::string& line : shown(output)) {
    EXPECT_EQ(line.find('\r'), line.npos) << line;
    EXPECT_THAT(line, Not(HasSubstr(" tried, ")));
  }
}

TEST_F(CliTerminalTest, ARunWithoutATerminalPrintsLinesOfProgress) {
  const ProgramRun piped = run(tune("--sizes 64,96 --config " + std::string(kNaive)));
  // The problems' searches run side by side: either may speak first.
  EXPECT_THAT(piped.errors, ContainsRegex("^(1/2 64x64x64|2/2 96x96x96): 0/1 tried"));
}

TEST_F(CliTerminalTest, NoColoursAreUsedWithAndWithoutNoColor) {
  const std::string colour = "\033\\[[0-9;]*m";
  for (const char* environment : {"NO_COLOR=1", "TERM=xterm-256color"}) {
    EXPECT_THAT(on_terminal(tune("--sizes 64,96 --config " + std::string(kNaive)), 80, environment),
                Not(ContainsRegex(colour)));
  }
}

TEST_F(CliTerminalTest, WhyListsEveryReasonAndThePlainReportThree) {
  const ProgramRun plain = run(tune("--sizes 256 --budget 2"));
  const ProgramRun why = run(tune("--sizes 256 --budget 2 --why"));
  ASSERT_EQ(why.exit_code, 0) << why.errors;
  EXPECT_THAT(why.output,
              AllOf(HasSubstr("  rejected by rule "), HasSubstr("more stages than slices"),
                    HasSubstr("warp tile does not divide CTA tile")));
  EXPECT_THAT(plain.output, HasSubstr("every reason for a rejection: the same command with --why"));
  EXPECT_THAT(plain.output, AllOf(HasSubstr("  rejected "), Not(HasSubstr("rejected by rule")),
                                  Not(HasSubstr("more stages than slices"))));
}

TEST_F(CliTerminalTest, QuietIsExactlyOneLineForEachSize) {
  const ProgramRun quiet = run(tune("-q --sizes 64,96,100x52x33 --config " + std::string(kNaive)));
  EXPECT_EQ(quiet.exit_code, 4) << "for no size of 100 is a multiple of the tile";
  EXPECT_EQ(quiet.errors, "");
  const std::vector<std::string> lines = lines_of(quiet.output);
  ASSERT_EQ(lines.size(), 3u) << quiet.output;
  EXPECT_THAT(lines[0], StartsWith("64x64x64  "));
  EXPECT_THAT(lines[2], StartsWith("100x52x33  no candidate survived: "));
}

}  // namespace
}  // namespace gemm_tune

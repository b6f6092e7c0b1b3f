// SPDX-License-Identifier: Apache-2.0
#include "core/text/shell_quote.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

namespace gemm_tune {
namespace {

using std::string_literals::operator""s;

// The bytes that bash makes of a word.
std::string read_by_shell(const std::string& word) {
  const std::string command =
      "exec bash -c \"$(cat <<'END_OF_WORD'\nprintf %s " + word + "\nEND_OF_WORD\n)\"";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::array<char, 256> chunk{};
  std::string text;
  while (const std::size_t n = fread(chunk.data(), 1, chunk.size(), pipe)) {
    text.append(chunk.data(), n);
  }
  return pclose(pipe) == 0 ? text : "the shell failed";
}

TEST(ShellQuoteTest, QuotesOnlyWhereItMust) {
  for (const char* plain : {"/data/runs-1/tune.db", "512:4096:512,@sizes.txt"}) {
    EXPECT_EQ(shell_quote(plain), plain);
  }
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("my runs/a.db"), "'my runs/a.db'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("a\nb"), "$'a\\nb'");
}

TEST(ShellQuoteTest, TheShellReadsTheSameBytesBack) {
  for (const std::string& word :
       {"~/a b"s, "$HOME`x`\"!*?[]{}"s, "it's a \\ backslash"s, "-o=#1;2&3|4"s,
        "esc \x1b[31m \\ and 'quotes'\n\tand \xff"s, "caf\xc3\xa9"s}) {
    EXPECT_EQ(read_by_shell(shell_quote(word)), word) << shell_quote(word);
  }
}

}  // namespace
}  // namespace gemm_tune

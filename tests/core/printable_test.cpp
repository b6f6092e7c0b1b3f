// SPDX-License-Identifier: Apache-2.0
#include "core/text/printable.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

using std::string_literals::operator""s;

TEST(PrintableTest, KeepsTextAndEscapesControlBytes) {
  EXPECT_EQ(printable("NVIDIA H100\xc2\xb2 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "NVIDIA H100\xc2\xb2 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("a\x1b[2Jb\r\n\tc\x7f\0d"s), "a\\x1b[2Jb\\x0d\\n\\tc\\x7f\\x00d");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "a control character above ASCII";
  EXPECT_EQ(printable("A\xe2\x80\xae"
                      "B"),
            "A\\xe2\\x80\\xaeB")
      << "from right to left";
  EXPECT_EQ(printable("\xe2\x81\xa7\xe2\x80\xa8"), "\\xe2\\x81\\xa7\\xe2\\x80\\xa8");
  EXPECT_EQ(printable("\xef\xbb\xbf\xe2\x80\x8b"), "\\xef\\xbb\\xbf\\xe2\\x80\\x8b");
  EXPECT_EQ(printable("\xf3\xa0\x81\x81"), "\\xf3\\xa0\\x81\\x81") << "a tag";
}

TEST(PrintableTest, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("a\xc3"), "a\\xc3") << "cut off";
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(printable("\xe2\x82(a"), "\\xe2\\x82(a");
}

TEST(PrintableTest, ALongTextKeepsItsStartAndItsEnd) {
  EXPECT_EQ(printable("size '" + std::string(5'000'000, '7') + "' is too large", 40),
            "size '77777777777777[... 4999980 bytes ...]777777' is too large");
  const std::string long_escaped = printable(std::string(5'000'000, '\x1b'));
  EXPECT_LT(long_escaped.size(), 4 * kLongestMessage + 100);
  EXPECT_EQ(long_escaped.substr(0, 8), "\\x1b\\x1b");
}

TEST(PrintableTest, LinesStayWhereTheyAreWanted) {
  EXPECT_EQ(printable_lines("a\n\tb\x1b\n"), "a\n\tb\\x1b\n");
}

TEST(PrintableTest, AnExcerptCutsNoCharacter) {
  EXPECT_EQ(excerpt("short"), "short");
  EXPECT_EQ(excerpt("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 8),
            "\xe2\x82\xac[... 6 bytes ...]\xe2\x82\xac");
}

TEST(PrintableTest, ASentenceDoesNotEndAtAZeroByteOfAQuote) {
  EXPECT_EQ(excerpt(std::string_view("a\0b\033", 4)), "a\\x00b\033");
  EXPECT_EQ(excerpt(std::string_view("\0bcde\0", 6), 4), "\\x00b[... 2 bytes ...]e\\x00");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

}  // namespace
}  // namespace gemm_tune

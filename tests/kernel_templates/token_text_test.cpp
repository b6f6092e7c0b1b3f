// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/token_text.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace gemm_tune {
namespace {

std::string tokens(std::string_view text, const std::map<std::string, std::string>& headers = {}) {
  return token_text(text, [&](const std::string& path) -> const std::string* {
    const auto found = headers.find(path);
    return found == headers.end() ? nullptr : &found->second;
  });
}

TEST(TokenText, HasNeitherCommentsNorWhiteSpace) {
  EXPECT_EQ(tokens("int  a;// one\n\n/* two\n lines */\tint b ;"), "int a ; int b ;\n");
  EXPECT_EQ(tokens("a/**/b"), "a b\n");
  EXPECT_EQ(tokens(""), "");
  EXPECT_EQ(tokens("// only\n"), "");
}

TEST(TokenText, TellsApartWhatTheCompilerTellsApart) {
  EXPECT_NE(tokens("a + +b"), tokens("a++b"));
  EXPECT_NE(tokens("a b"), tokens("ab"));
  EXPECT_NE(tokens("1e+5"), tokens("1e +5"));
  EXPECT_NE(tokens("x = 1;"), tokens("x = 2;"));
  EXPECT_EQ(tokens("a+b<<=c"), tokens("a + b <<= c"));
  EXPECT_EQ(tokens("a>>b"), "a >> b\n");
}

TEST(TokenText, KeepsTextInQuotesAsItIs) {
  EXPECT_EQ(tokens(R"(asm("ld  // no comment \" ;");)"),
            "asm ( \"ld  // no comment \\\" ;\" ) ;\n");
  EXPECT_EQ(tokens("u8\"a b\" '/'"), "u8\"a b\" '/'\n");
  EXPECT_EQ(tokens("R\"x(a \")\" b)x\" c"), "R\"x(a \")\" b)x\" c\n");
  EXPECT_EQ(tokens("1'000'000 x"), "1'000'000 x\n");
}

TEST(TokenText, KeepsDirectivesOnLinesOfTheirOwn) {
  EXPECT_EQ(tokens("int a;\n#pragma unroll\nfor"), "int a ;\n# pragma unroll\nfor\n");
  EXPECT_EQ(tokens("#define F(x)  x\n#define G (x)\n"), "# define F( x ) x\n# define G ( x )\n");
  EXPECT_EQ(tokens("#define A \\\n 1\n"), tokens("#define A 1\n"));
  EXPECT_EQ(tokens("#if A\nx\n#else\ny\n#endif\n"), "# if A\nx\n# else\ny\n# endif\n");
}

TEST(TokenText, LeavesOutWhatNoCompilerOfAKernelReads) {
  EXPECT_EQ(tokens("#pragma once\n#line 7\nint a;"), "int a ;\n");
  EXPECT_EQ(tokens("#ifdef TUNED_PARAMS\ndevice\n#else\nhost\n#endif\nboth"), "device both\n");
  EXPECT_EQ(tokens("#ifndef GT_EMULATOR\n#if X\na\n#endif\n#else\nb\n#endif\n"),
            "# if X\na\n# endif\n");
  EXPECT_EQ(tokens("#ifdef GT_EMULATOR\n#define X 1\n#if X\na\n#endif\n#endif\nb"), "b\n");
}

TEST(TokenText, IsThatOfTheKernelWithAnEpilogueOrWithoutOne) {
  const std::string text =
      "#ifdef TUNED_EPILOGUE\na\n#ifdef TUNED_IN_PLACE\nb\n#endif\n#else\nc\n#endif\nd";
  const auto no_header = [](const std::string&) -> const std::string* { return nullptr; };
  EXPECT_EQ(token_text(text, no_header), "c d\n");
  EXPECT_EQ(token_text(text, no_header, {.epilogue = true}),
            "a\n# ifdef TUNED_IN_PLACE\nb\n# endif\nd\n");
}

TEST(TokenText, IsThatOfTheKernelWithLaterParametersOrFromBeforeThem) {
  const std::string text =
      "a\n#ifdef TUNED_KEEP\nb\n#else\nc\n#endif\n#ifndef TUNED_STAGED_FIRST\nd\n#endif\ne";
  const auto no_header = [](const std::string&) -> const std::string* { return nullptr; };
  EXPECT_EQ(token_text(text, no_header), "a c d e\n");
  EXPECT_EQ(token_text(text, no_header, {.later_params = true}), "a b e\n");
}

TEST(TokenText, HasADeviceHeaderWhereItIsFirstIncluded) {
  const std::map<std::string, std::string> headers = {{"d/a.cuh", "#pragma once\nint a;\n"},
                                                      {"d/b.cuh", "#include \"d/a.cuh\"\nint b;"}};
  EXPECT_EQ(tokens("#include \"d/b.cuh\"\n#include \"d/a.cuh\"\nint c;", headers),
            "int a ; int b ; int c ;\n");
  EXPECT_EQ(tokens("#include <cuda_fp16.h>\n#include \"other.h\"\n"),
            "# include <cuda_fp16.h>\n# include \"other.h\"\n");
}

TEST(TokenText, BearsTextsThatNoCompilerWouldTake) {
  for (const char* text : {"\"", "'", "/*", "R\"(", "#endif\n#endif\n", "#else", "#", "\\", "#if",
                           "#include", "#include \"", "#include <", "#ifdef TUNED_PARAMS", "1'"}) {
    EXPECT_EQ(tokens(text), tokens(text)) << text;
  }
}

}  // namespace
}  // namespace gemm_tune

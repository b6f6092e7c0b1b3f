// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/values/sizes.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "core/error.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

std::string message_of(std::string_view sizes) {
  try {
    parse_sizes(sizes);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

std::string size_file(const std::string& text) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "sizes.txt";
  std::ofstream(path) << text;
  return path;
}

TEST(SizesTest, ReadsSquaresShapesAndRangesInOrder) {
  EXPECT_THAT(parse_sizes("1024,4096x512x1024,512:1536:512"),
              ElementsAre(packed_problem(1024, 1024, 1024), packed_problem(4096, 512, 1024),
                          packed_problem(512, 512, 512), packed_problem(1536, 1536, 1536)));
}

TEST(SizesTest, RefusesABatchThatNoLaunchHolds) {
  EXPECT_EQ(parse_sizes("64x64x64:batch=65535").at(0).batch, 65535);
  EXPECT_THAT(message_of("64x64x64:batch=65536"),
              HasSubstr("size '64x64x64:batch=65536' has a batch above 65535"));
}

TEST(SizesTest, ABatchMayBeOfPointersAndNotOfGroups) {
  EXPECT_EQ(to_string(parse_sizes("1024:batch=16:pointers").at(0)),
            "1024x1024x1024:batch=16:pointers");
  EXPECT_EQ(to_string(parse_sizes("64:pointers", {Layout::nn, 8}).at(0)),
            "64x64x64:batch=8:pointers");
  EXPECT_THAT(message_of("64:batch=16:groups"),
              HasSubstr("64x64x64:batch=16:groups: no kernel family serves batches of groups"));
}

TEST(SizesTest, AllowsAnEmptyReductionAndAnAlignmentClass) {
  Problem misaligned = packed_problem(8, 8, 8);
  misaligned = in_class(misaligned, 1);
  EXPECT_THAT(parse_sizes("7x5x0, 8x8x8:align=4"),
              ElementsAre(packed_problem(7, 5, 0), misaligned));
}

TEST(SizesTest, ASquareMayNameItsOwnTypeAndLayout) {
  const Signature bf16 = signature_of(ElementType::bf16);
  EXPECT_THAT(
      parse_sizes("64:layout=nt,64:type=bf16,64,64:type=f32", {Layout::nn, 1, bf16}),
      ElementsAre(packed_problem(64, 64, 64, Layout::nt, 1, bf16),
                  packed_problem(64, 64, 64, Layout::nn, 1, bf16), packed_problem(64, 64, 64)));
  EXPECT_THAT(message_of("64:form=nt"), HasSubstr("'64x64x64:form=nt' is not a problem"));
  EXPECT_THAT(message_of("0:layout=nt"), HasSubstr("has an edge below 1"));
}

TEST(SizesTest, LayoutAndBatchAreThoseOfEverySize) {
  const std::string path = size_file("1000x1001x1002\n");
  EXPECT_THAT(
      parse_sizes("64,8:16:8,7x5x0,@" + path, {Layout::tn, 3}),
      ElementsAre(packed_problem(64, 64, 64, Layout::tn, 3), packed_problem(8, 8, 8, Layout::tn, 3),
                  packed_problem(16, 16, 16, Layout::tn, 3), packed_problem(7, 5, 0, Layout::tn, 3),
                  packed_problem(1000, 1001, 1002, Layout::tn, 3)));
  std::remove(path.c_str());
}

TEST(SizesTest, WhatASizeSaysItselfStands) {
  Problem misaligned = packed_problem(8, 8, 8, Layout::nt, 4);
  misaligned = in_class(misaligned, 2);
  EXPECT_THAT(
      parse_sizes("8x8x8:layout=nn,8x8x8:align=8,8x8x8:layout=tt:batch=1,8", {Layout::nt, 4}),
      ElementsAre(packed_problem(8, 8, 8, Layout::nn, 4), misaligned,
                  packed_problem(8, 8, 8, Layout::tt, 1), packed_problem(8, 8, 8, Layout::nt, 4)));
}

TEST(SizesTest, DropsDuplicates) {
  EXPECT_THAT(parse_sizes("64,64x64x64,64:64:8"), ElementsAre(packed_problem(64, 64, 64)));
}

TEST(SizesTest, ReadsAFileWithComments) {
  const std::string path = size_file("# mine\n128\n\n 256 , 1x2x3  # two\n");
  EXPECT_THAT(parse_sizes("@" + path),
              ElementsAre(packed_problem(128, 128, 128), packed_problem(256, 256, 256),
                          packed_problem(1, 2, 3)));
  std::remove(path.c_str());
}

TEST(SizesTest, ARowOfThreeNumbersInAFileIsMNK) {
  const auto shapes = ElementsAre(packed_problem(1760, 16, 1760), packed_problem(35, 8457, 0));
  for (const char* text :
       {"1760,16,1760\n35,8457,0\n", "1760, 16, 1760\n 35 8457 0\n", "1760\t16\t1760\n35\t8457\t0",
        "1760;16;1760\r\n35;8457;0\r\n", "M,N,K\n1760,16,1760\n35,8457,0\n",
        "m n k\n1760 16 1760 # first\n35 8457 0\n",
        "\xef\xbb\xbf"
        "1760,16,1760\n35,8457,0\n"}) {
    const std::string path = size_file(text);
    EXPECT_THAT(read_sizes(path), shapes) << text;
    std::remove(path.c_str());
  }
  const std::string path = size_file("64 96\n32 48 128 80\n");
  EXPECT_EQ(read_sizes(path).size(), 6u) << "two or four are squares";
  std::remove(path.c_str());
}

TEST(SizesTest, BelowAHeadingEachRowHasThreeNumbers) {
  for (const std::string row : {"64 96", "32,48,128,80", "64"}) {
    const std::string path = size_file("M,N,K\n1,2,3\n" + row + "\n");
    EXPECT_THAT(message_of("@" + path),
                HasSubstr("size '" + row + "' is not a row of three numbers"));
    std::remove(path.c_str());
  }
}

TEST(SizesTest, AFilesNameMayHoldCommas) {
  const TempFolder folder;
  const std::string path = (folder.path() / "a,b 1.txt").string();
  write_file(path, "128\n");
  write_file(folder.path() / "a", "64\n");
  EXPECT_THAT(read_sizes(path), ElementsAre(packed_problem(128, 128, 128)));
  EXPECT_THAT(parse_sizes("@" + path), ElementsAre(packed_problem(128, 128, 128)));
  EXPECT_THAT(parse_sizes("32,@" + path),
              ElementsAre(packed_problem(32, 32, 32), packed_problem(128, 128, 128)));
  EXPECT_THAT(parse_sizes("@" + (folder.path() / "a").string() + ",32"),
              ElementsAre(packed_problem(64, 64, 64), packed_problem(32, 32, 32)));
}

TEST(SizesTest, NamesTheOffendingItem) {
  EXPECT_THAT(message_of("0"), HasSubstr("size '0' has an edge below 1"));
  EXPECT_THAT(message_of("-5"), HasSubstr("size '-5' has an edge below 1"));
  EXPECT_THAT(message_of("1024x"), HasSubstr("size '1024x' does not have three edges"));
  EXPECT_THAT(message_of("1024x1024x"), HasSubstr("size '1024x1024x' is not a size"));
  EXPECT_THAT(message_of("99999999999"),
              HasSubstr("size '99999999999' has an edge above 2000000000"));
  EXPECT_THAT(message_of("99999999999999999999"), HasSubstr("is too large"));
  EXPECT_THAT(message_of("abc"), HasSubstr("size 'abc' is not a size"));
  EXPECT_THAT(message_of("64,,64"), HasSubstr("size '' is empty"));
  EXPECT_THAT(message_of("1:2"), HasSubstr("size '1:2' is not a range"));
  EXPECT_THAT(message_of("64:32:8"), HasSubstr("is an empty range"));
  EXPECT_THAT(message_of("1:2000000000:1"), HasSubstr("more than 10000 problems"));
  EXPECT_THAT(message_of("@/no/such/file"), HasSubstr("'/no/such/file' cannot be read"));
}

TEST(SizesTest, ARangeOfMHasTwoNumbersTheSmallerFirst) {
  EXPECT_EQ(parse_m_range("1:256").first, 1);
  EXPECT_EQ(parse_m_range("1:256").last, 256);
  EXPECT_EQ(parse_m_range("7:7").last, 7);
  for (const char* text : {"", "1", "1:", ":8", "0:8", "1:8:2", "1-8", "a:b", "1:2000000001"}) {
    EXPECT_THROW(parse_m_range(text), UsageError) << text;
  }
  try {
    parse_m_range("256:1");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("range '256:1' ends before it begins"));
  }
}

TEST(SizesTest, BesideARangeOfMSizesAreNAndK) {
  const std::vector<std::int64_t> all_m = {1, 17};
  const auto ranges = [&](const std::string& text, const ProblemDefaults& defaults = {}) {
    return parse_sizes_without_m(text, all_m, defaults);
  };
  using One = std::vector<Problem>;
  EXPECT_THAT(ranges("96x64"),
              ElementsAre(One{packed_problem(1, 96, 64), packed_problem(17, 96, 64)}));
  EXPECT_EQ(ranges("64 64x64,64 X 64;").size(), 1u);  // N and K alike, three times
  EXPECT_EQ(to_string(ranges("96x64:layout=nt", {Layout::nn, 2}).at(0).at(1)),
            "17x96x64:layout=nt:batch=2");
  // A transposed A has rows of M elements.
  EXPECT_EQ(ranges("96x64:layout=tn").at(0).at(0).alignment.a, 4);
  const TempFolder folder;
  const std::string path = (folder.path() / "sizes X.txt").string();
  write_file(path, "96x64  # comment\n\n128\n");
  EXPECT_EQ(ranges("32,@" + path).size(), 3u);
  const std::string with_commas = (folder.path() / "a,b;c.txt").string();
  write_file(with_commas, "96x64 256\n128;\n");
  EXPECT_THAT(ranges("32 @" + with_commas), SizeIs(4));
  for (const char* text : {"", "8x96x64", "64:128:64", "96x", "0", "64x-1", "abc", "@", "@/no/such",
                           "96x64:layout=zz", "1024x1024x"}) {
    EXPECT_THROW(ranges(text), UsageError) << text;
  }
  write_file(path, "M,N,K\n64,128,256\n");
  EXPECT_THAT([&] { ranges("@" + path); },
              ThrowsMessage<UsageError>(HasSubstr("size '64x128x256' is not NxK")));
}

TEST(SizesTest, BlanksAndSemicolonsSeparateAndMayEndAList) {
  const auto squares =
      ElementsAre(packed_problem(1024, 1024, 1024), packed_problem(4096, 4096, 4096));
  for (const char* text : {"1024 4096", "1024,4096,", "1024;4096;", " 1024 ,\t4096 ",
                           "1024\n4096\n", "1024;4096 ,", "1024, 4096;"}) {
    EXPECT_THAT(parse_sizes(text), squares) << text;
  }
  EXPECT_THAT(parse_sizes("1024,1024,1024;"), ElementsAre(packed_problem(1024, 1024, 1024)));
  for (const char* text : {"", ",", ";", "64,,64", "64;;64", ",64"}) {
    EXPECT_THAT(message_of(text), HasSubstr("size '' is empty")) << text;
  }
}

TEST(SizesTest, AnyMultiplicationSignWillDoAndBlanksMayStandBesideIt) {
  const auto product = ElementsAre(packed_problem(4096, 512, 1024));
  for (const char* text : {"4096X512X1024", "4096 x 512 x 1024", "4096*512*1024", "4096 X512x 1024",
                           "4096\u00d7512 \u00d7 1024"}) {
    EXPECT_THAT(parse_sizes(text), product) << text;
  }
  EXPECT_THAT(parse_sizes("64 x 64 x 64 128 : 256 : 128"),
              ElementsAre(packed_problem(64, 64, 64), packed_problem(128, 128, 128),
                          packed_problem(256, 256, 256)));
}

TEST(SizesTest, TwoEqualEdgesAreSquareMatricesAndTwoOthersAreRefused) {
  EXPECT_THAT(
      parse_sizes("1024 x 1024, 64x64:layout=nt"),
      ElementsAre(packed_problem(1024, 1024, 1024), packed_problem(64, 64, 64, Layout::nt)));
  EXPECT_THAT(message_of("4096x512"), HasSubstr("size '4096x512' does not have three edges"));
}

TEST(SizesTest, AFilesNameMayHoldBlanksAndStandBehindSizes) {
  const std::string path = size_file("128 256;\n");
  const std::string with_blank = path + " (1, 2).txt";
  std::rename(path.c_str(), with_blank.c_str());
  EXPECT_THAT(message_of("@/no/such file (1 2)"),
              HasSubstr("'/no/such file (1 2)' cannot be read"));
  const std::string moved = path + " 1;2.txt";
  std::rename(with_blank.c_str(), moved.c_str());
  EXPECT_THAT(parse_sizes("64 @" + moved + ",512"),
              ElementsAre(packed_problem(64, 64, 64), packed_problem(128, 128, 128),
                          packed_problem(256, 256, 256), packed_problem(512, 512, 512)));
  std::remove(moved.c_str());
}

TEST(SizesTest, PyTorchsNotationIsRefusedWithTheRightSpelling) {
  EXPECT_THAT(message_of("[1024, 512] @ [512, 2048]"),
              AllOf(HasSubstr("'[1024, 512] @ [512, 2048]'"), HasSubstr("write 1024x2048x512")));
  EXPECT_THAT(message_of("torch.Size([1024, 512]) @ torch.Size([512, 2048])"),
              HasSubstr("write 1024x2048x512"));
  EXPECT_THAT(message_of("(1024, 512), (512, 2048)"), HasSubstr("write 1024x2048x512"));
  EXPECT_THAT(message_of("[8, 1024, 512] @ [8, 512, 2048]"),
              HasSubstr("write 1024x2048x512:batch=8"));
  // Where the text does not say which product.
  for (const char* text : {"torch.Size([1024, 512])", "[1024, 512] @ [2048, 512].T",
                           "[1024, 512] @ [2048, 512]", "[1024]"}) {
    EXPECT_THAT(message_of(text), HasSubstr("the product [M, K] @ [K, N] is written MxNxK"))
        << text;
  }
}

TEST(SizesTest, ABracketAloneIsNoNotation) {
  for (const char* text : {"[", "[2J", "(64", "64(1)", "torch"}) {
    EXPECT_THAT(message_of(text), HasSubstr("' is not a size: write 1024 (square)")) << text;
  }
}

TEST(SizesTest, CublassNotationsAreRefusedWithTheRightSpelling) {
  EXPECT_THAT(message_of("-m 1024 -n 1024 -k 512"),
              AllOf(HasSubstr("'-m 1024 -n 1024 -k 512'"), HasSubstr("write 1024x1024x512")));
  for (const char* text : {"-m 1024 -n 512 -k 256", "--m=1024 --n=512 --k=256", "m1024n512k256",
                           "m=1024, n=512, k=256", "nn_1024_512_256"}) {
    EXPECT_THAT(message_of(text),
                HasSubstr("is cuBLAS's notation: write 512x1024x256, for its column-major m and n "
                          "are N and M here"))
        << text;
  }
  // As capture reads the same line of PyTorch's TunableOp.
  EXPECT_THAT(message_of("GemmTunableOp_float_NT,nt_25088_4096_64_ld_25088_4096_25088"),
              HasSubstr("write 4096x25088x64:layout=tn"));
  EXPECT_THAT(message_of("M=1024 N=512 K=256"),
              AllOf(HasSubstr("'M=1024 N=512 K=256'"), HasSubstr("write 1024x512x256")));
  EXPECT_THAT(message_of("m1024n512"), HasSubstr("'m1024n512' is not a size"));
}

TEST(SizesTest, RefusesAFileWithoutSizesAndFilesInFiles) {
  const std::string empty = size_file("# nothing\n");
  EXPECT_THAT(message_of("@" + empty), HasSubstr("holds no size"));
  const std::string nested = size_file("@other\n");
  EXPECT_THAT(message_of("@" + nested), HasSubstr("names a file inside a file"));
  std::remove(nested.c_str());
}

TEST(DurationTest, ReadsSecondsMinutesAndHours) {
  EXPECT_EQ(parse_duration("90").count(), 90);
  EXPECT_EQ(parse_duration("15:00").count(), 900);
  EXPECT_EQ(parse_duration("1:30:05").count(), 5405);
}

TEST(DurationTest, RefusesWhatIsNone) {
  for (const char* text : {"", "0", "15:", "15:61", "1:2:3:4", "-3", "soon"}) {
    EXPECT_THROW(parse_duration(text), UsageError) << text;
  }
}

TEST(SizesTest, ThousandsHaveNoSeparator) {
  for (const char* const text : {"1,024", "1,024x512x64", "4,096x64x64"}) {
    EXPECT_THAT(message_of(text), HasSubstr("begins with 0; thousands have no separator")) << text;
  }
}

TEST(SizesTest, ACaptureSaysWhatEachProblemIsWorth) {
  const std::string path = size_file(
      "# gemm-tune capture -o calls.txt -- program\n"
      "64x32x64  # 6 calls, 20.0 % of the operations, 1.5 ms of GPU time\n"
      "64x160x64  # 1 call, 10.0 % of the operations, 600 us of GPU time\n"
      "8x8x8  # 1 call, 30.0 % of the operations\n"
      "9x9x9\n");
  const WeightedProblems captured = read_capture(path);
  EXPECT_THAT(captured.problems,
              ElementsAre(packed_problem(64, 32, 64), packed_problem(64, 160, 64),
                          packed_problem(8, 8, 8), packed_problem(9, 9, 9)));
  EXPECT_THAT(captured.weights, ElementsAre(1500, 600, 2100, 600));
  std::remove(path.c_str());
}

TEST(SizesTest, AListOfSizesAloneWeighsNothing) {
  const std::string path = size_file("64x32x64\n# 5 s of GPU time\n8\n");
  EXPECT_EQ(read_capture(path).problems.size(), 2U);
  EXPECT_TRUE(read_capture(path).weights.empty());
  std::remove(path.c_str());
}

}  // namespace
}  // namespace gemm_tune

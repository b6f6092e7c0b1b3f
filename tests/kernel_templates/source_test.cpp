// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/source/source.h"

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "kernel_templates/source/embedded_texts.h"
#include "tests/epilogues.h"
#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> header_paths(const KernelSource& source) {
  std::vector<std::string> paths;
  for (const auto& [path, text] : source.headers) paths.push_back(path);
  return paths;
}

// A folder of this test's own that holds the embedded texts as files.
class KernelDir : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) /
           (std::string("gt_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    for (const KernelFamily& family : families()) {
      const KernelSource source = kernel_source(family);
      write(source.path, source.text);
      for (const auto& [path, text] : source.headers) write(path, text);
    }
  }

  void TearDown() override { fs::remove_all(dir_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((dir_ / path).parent_path());
    std::ofstream(dir_ / path, std::ios::binary) << text;
  }

  fs::path dir_;
};

TEST(KernelSourceTest, HoldsTheFamilyAndTheDeviceHeadersItReaches) {
  const KernelSource source = kernel_source(*find_family("naive"));
  EXPECT_EQ(source.path, "kernel_templates/naive/kernel.cuh");
  EXPECT_THAT(source.text, HasSubstr("namespace gemm_tune::naive"));
  std::vector<std::string> paths = header_paths(source);
  const auto functors = std::erase_if(paths, [](const std::string& path) {
    return path.starts_with("kernel_templates/device/epilogue/");
  });
  EXPECT_EQ(functors, static_cast<std::size_t>(kEpilogueFunctors));
  EXPECT_THAT(paths, testing::IsSupersetOf({"kernel_templates/device/call/call_form.cuh",
                                            "kernel_templates/device/call/epilogue.cuh",
                                            "kernel_templates/device/call/epilogue_chain.cuh",
                                            "kernel_templates/device/call/gemm_args.cuh",
                                            "kernel_templates/device/tile/raster.cuh",
                                            "kernel_templates/naive/params.cuh",
                                            "kernel_templates/rules.h"}));
  EXPECT_THAT(paths, Not(Contains("kernel_templates/device/copy/async_copy.cuh")));
}

TEST(KernelSourceTest, FollowsIncludesOfIncludes) {
  EXPECT_THAT(header_paths(kernel_source(*find_family("vectorized_2d"))),
              testing::Contains("kernel_templates/device/copy/tile_map.cuh"));
}

TEST(KernelSourceTest, TheRevisionIsTheFamilysNumber) {
  KernelFamily naive = *find_family("naive");
  naive.revision = 7;
  EXPECT_EQ(kernel_source(naive).revision, "7");
}

TEST_F(KernelDir, AnIncludeThatIsNotUtf8IsRefused) {
  write("kernel_templates/naive/kernel.cuh", "#include \"kernel_templates/a\xff.cuh\"\n");
  write("kernel_templates/a\xff.cuh", "// text\n");
  EXPECT_THAT([&] { kernel_source(*find_family("naive"), dir_); },
              ThrowsMessage<UsageError>(
                  AllOf(HasSubstr("kernel_templates/a\xff.cuh'"), HasSubstr("is not UTF-8"))));
}

TEST_F(KernelDir, SourcesOfAllFamiliesAreThoseOfEachFamily) {
  const KernelSources sources = kernel_sources(dir_);
  EXPECT_EQ(sources.size(), families().size());
  for (const KernelFamily& family : families()) {
    const KernelSource one = kernel_source(family, dir_);
    EXPECT_EQ(sources.at(family.name).revision, one.revision);
    EXPECT_EQ(sources.at(family.name).headers, one.headers);
  }
}

TEST_F(KernelDir, WithTheSameTextsGivesTheSameSource) {
  for (const KernelFamily& family : families()) {
    const KernelSource embedded = kernel_source(family);
    const KernelSource read = kernel_source(family, dir_);
    EXPECT_EQ(read.text, embedded.text) << family.name;
    EXPECT_EQ(read.headers, embedded.headers) << family.name;
    EXPECT_EQ(read.revision, embedded.revision) << family.name;
  }
}

// A comment counts, too: who changes a text is told that it is another one.
TEST_F(KernelDir, AChangedTextIsTheUsersForThoseWhoReachIt) {
  const std::string path = "kernel_templates/device/copy/tile_map.cuh";
  write(path, embedded_texts().at(path) + "// mine\n");
  const std::string mine = kernel_source(*find_family("tiled_2d"), dir_).revision;
  EXPECT_THAT(mine, MatchesRegex("user:[0-9a-f]{16}"));
  EXPECT_EQ(kernel_sources(dir_).at("tiled_2d").revision, mine);
  EXPECT_EQ(kernel_source(*find_family("naive"), dir_).revision, "1");
  write(path, embedded_texts().at(path) + "// mine again\n");
  EXPECT_NE(kernel_source(*find_family("tiled_2d"), dir_).revision, mine);
}

TEST_F(KernelDir, MayBringHeadersOfItsOwn) {
  const KernelFamily& naive = *find_family("naive");
  write("kernel_templates/naive/kernel.cuh",
        "#include \"kernel_templates/device/mine.cuh\"\n" + kernel_source(naive).text);
  write("kernel_templates/device/mine.cuh", "// mine\n");
  EXPECT_THAT(header_paths(kernel_source(naive, dir_)),
              testing::Contains("kernel_templates/device/mine.cuh"));
}

TEST_F(KernelDir, LackingAFileIsAnErrorThatNamesIt) {
  fs::remove(dir_ / "kernel_templates/device/element/vec.cuh");
  EXPECT_THAT(
      [&] { kernel_source(*find_family("naive"), dir_); },
      ThrowsMessage<UsageError>(HasSubstr("must hold kernel_templates/device/element/vec.cuh")));
}

// As a folder that was copied from a release without the family.
TEST_F(KernelDir, MayLackAFamilyOfTypesThatNobodyAskedFor) {
  fs::remove(dir_ / "kernel_templates/mma/kernel.cuh");
  const KernelSources sources = kernel_sources(dir_);
  EXPECT_TRUE(sources.contains("naive"));
  EXPECT_FALSE(sources.contains("mma"));
  EXPECT_THAT([&] { kernel_sources(dir_, {signature_of(ElementType::bf16)}); },
              ThrowsMessage<UsageError>(HasSubstr("must hold kernel_templates/mma/kernel.cuh")));
  fs::remove(dir_ / "kernel_templates/naive/kernel.cuh");
  EXPECT_THAT([&] { kernel_sources(dir_); },
              ThrowsMessage<UsageError>(HasSubstr("must hold kernel_templates/naive/kernel.cuh")));
}

TEST_F(KernelDir, WithAFileWithoutEndOrWithoutContentIsRefusedByName) {
  const fs::path text = dir_ / "kernel_templates/naive/kernel.cuh";
  const auto refusal = [&] {
    try {
      kernel_source(*find_family("naive"), dir_);
      return std::string();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  fs::remove(text);
  fs::create_symlink("/dev/zero", text);
  EXPECT_THAT(refusal(), HasSubstr("naive/kernel.cuh' is neither a regular file nor a pipe"));
  fs::remove(text);
  write("kernel_templates/naive/kernel.cuh", "//");
  fs::resize_file(text, 1'000'000'000);  // of which the disk holds nothing
  EXPECT_THAT(refusal(), HasSubstr("naive/kernel.cuh' is longer than 16 MB"));
  fs::resize_file(text, 0);
  EXPECT_THAT(refusal(), HasSubstr("naive/kernel.cuh' is empty; the kernel directory must hold"));
}

TEST(KernelDirTest, ThatDoesNotExistIsAnErrorThatNamesTheFile) {
  EXPECT_THAT([] { kernel_source(*find_family("naive"), "/no/such/dir"); },
              ThrowsMessage<UsageError>(
                  HasSubstr("'/no/such/dir/kernel_templates/naive/kernel.cuh' cannot be read")));
}

TEST(TunedParams, AreDesignatedInitialisers) {
  EXPECT_EQ(tuned_params(known("naive/BM=8,BN=32,COALESCED=1,PRED=0")),
            "{.BM=8,.BN=32,.COALESCED=1,.PRED=0}");
}

TEST(TunedParams, OmitThoseOfTheirDefaultValue) {
  const std::string before =
      "skinny/CLUSTER=0,BS=1,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC=4,SPLIT_K=3,SKINNY_N=0,TA=0,TB=0,"
      "PRED=1";
  EXPECT_EQ(tuned_params(known(before + ",KEEP=0")), tuned_params(known(before)));
  EXPECT_THAT(tuned_params(known(before + ",KEEP=6,STAGED_FIRST=1")),
              HasSubstr(".PRED=1,.KEEP=6,.STAGED_FIRST=1}"));
}

TEST(CompileDefinitions, SayOfTheFormOfTheCall) {
  EXPECT_EQ(tuned_form({}), "{.IN_PLACE=1}");
  EXPECT_EQ(tuned_form(COperand::separate), "{.IN_PLACE=0}");
  EXPECT_TRUE(epilogue_definitions({}).empty());
  EXPECT_THAT(compile_definitions(known("naive/BM=8,BN=32,COALESCED=1,PRED=0"),
                                  {COperand::separate, kBiasColumnRelu}),
              ElementsAre("TUNED_PARAMS={.BM=8,.BN=32,.COALESCED=1,.PRED=0}", "TUNED_CLUSTER=1",
                          "TUNED_FORM={.IN_PLACE=0}",
                          "TUNED_EPILOGUE_1=\"kernel_templates/device/epilogue/bias_column.cuh\"",
                          "TUNED_EPILOGUE_2=\"kernel_templates/device/epilogue/relu.cuh\"",
                          "TUNED_EPILOGUE=BiasColumn,Relu"));
}

TEST(CompileDefinitions, SayOfHowManyCtasAClusterIs) {
  const std::string skinny = "BS=1,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC=4,SPLIT_K=3,SKINNY_N=0,";
  EXPECT_EQ(compile_definitions(known("skinny/CLUSTER=1," + skinny + "TA=0,TB=0,PRED=1")).at(1),
            "TUNED_CLUSTER=3");
  EXPECT_EQ(compile_definitions(known("skinny/CLUSTER=0," + skinny + "TA=0,TB=0,PRED=1")).at(1),
            "TUNED_CLUSTER=1");
}

TEST(CompileDefinitions, SayOfFurtherKernels) {
  const std::string tile =
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=2,TAIL=0,TA=0,TB=0,PRED=1";
  EXPECT_EQ(compile_definitions(known(tile)).size(), 3U);
  EXPECT_EQ(compile_definitions(known(tile + ",REPACK=1")).back(), "TUNED_REPACK");
  EXPECT_EQ(compile_definitions(known(tile + ",REDUCE=1")).back(), "TUNED_REDUCE");
}

}  // namespace
}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/error.h"
#include "kernel_templates/embedded_texts.h"
#include "tests/kernel_templates/spaces.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::ThrowsMessage;

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
  EXPECT_EQ(source.path, "kernel_templates/naive.cuh");
  EXPECT_THAT(source.text, HasSubstr("namespace gemm_tune::naive"));
  EXPECT_THAT(
      header_paths(source),
      ElementsAre("kernel_templates/device/bias.cuh", "kernel_templates/device/epilogue.cuh",
                  "kernel_templates/device/gemm_args.cuh", "kernel_templates/device/raster.cuh",
                  "kernel_templates/device/vec.cuh", "kernel_templates/rules.h"));
}

TEST(KernelSourceTest, FollowsIncludesOfIncludes) {
  EXPECT_THAT(header_paths(kernel_source(*find_family("vectorized_2d"))),
              testing::Contains("kernel_templates/device/tile_map.cuh"));
}

TEST(KernelSourceTest, HashIsSixteenHexDigitsAndTellsFamiliesApart) {
  const std::string naive = kernel_source(*find_family("naive")).hash;
  EXPECT_THAT(naive, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(naive, kernel_source(*find_family("naive")).hash);
  EXPECT_NE(naive, kernel_source(*find_family("tiled_2d")).hash);
}

TEST_F(KernelDir, AnIncludeThatIsNotUtf8IsRefused) {
  write("kernel_templates/naive.cuh", "#include \"kernel_templates/a\xff.cuh\"\n");
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
    EXPECT_EQ(sources.at(family.name).hash, one.hash);
    EXPECT_EQ(sources.at(family.name).headers, one.headers);
  }
}

TEST_F(KernelDir, WithTheSameTextsGivesTheSameSource) {
  for (const KernelFamily& family : families()) {
    const KernelSource embedded = kernel_source(family);
    const KernelSource read = kernel_source(family, dir_);
    EXPECT_EQ(read.text, embedded.text) << family.name;
    EXPECT_EQ(read.headers, embedded.headers) << family.name;
    EXPECT_EQ(read.hash, embedded.hash) << family.name;
  }
}

TEST_F(KernelDir, AChangedHeaderChangesTheHashOfThoseWhoReachIt) {
  const std::string path = "kernel_templates/device/tile_map.cuh";
  write(path, "namespace gemm_tune { constexpr int kMine = 1; }\n");
  EXPECT_NE(kernel_source(*find_family("tiled_2d"), dir_).hash,
            kernel_source(*find_family("tiled_2d")).hash);
  EXPECT_EQ(kernel_source(*find_family("naive"), dir_).hash,
            kernel_source(*find_family("naive")).hash);
}

TEST_F(KernelDir, AChangedFamilyChangesItsHash) {
  const KernelFamily& naive = *find_family("naive");
  write("kernel_templates/naive.cuh", kernel_source(naive).text + "constexpr int kMine = 1;\n");
  EXPECT_NE(kernel_source(naive, dir_).hash, kernel_source(naive).hash);
}

// Every device text in turn, since a family's identity is made of many.
TEST_F(KernelDir, ACommentALicenceLineOrAReflowInAnyFileChangesNoHash) {
  std::set<std::string> paths;
  for (const KernelFamily& family : families()) {
    const KernelSource source = kernel_source(family);
    paths.insert(source.path);
    for (const auto& [path, text] : source.headers) paths.insert(path);
  }
  for (const std::string& path : paths) {
    std::string text = embedded_texts().at(path);
    for (std::size_t at = 0; (at = text.find(" {\n", at)) != std::string::npos; at += 4) {
      text.replace(at, 3, "\n\t{\n");
    }
    write(path, "// SPDX-License-Identifier: Apache-2.0\n/* another\n comment */\n" + text +
                    "\n// the end\n");
  }
  for (const KernelFamily& family : families()) {
    EXPECT_EQ(kernel_source(family, dir_).hash, kernel_source(family).hash) << family.name;
    EXPECT_NE(version_1_hash(kernel_source(family, dir_)), version_1_hash(kernel_source(family)));
  }
}

TEST_F(KernelDir, AConstantChangesTheHashOfExactlyItsFamily) {
  for (const KernelFamily& changed : families()) {
    const std::string text = kernel_source(changed).text;
    std::string other = text;
    // In the part that the device compiles, where every family declares its entry.
    other.insert(other.find("extern \"C\""), "constexpr int kMine = 1;\n");
    write(changed.source_path(), other);
    for (const KernelFamily& family : families()) {
      EXPECT_EQ(kernel_source(family, dir_).hash != kernel_source(family).hash,
                family.name == changed.name)
          << changed.name << " and " << family.name;
    }
    write(changed.source_path(), text);
  }
}

// A database of kernels without an epilogue stays valid where only that of others changes.
TEST_F(KernelDir, TheEpilogueIsPartOfTheIdentityOfKernelsWithOneOnly) {
  const std::string path = "kernel_templates/device/bias.cuh";
  write(path, embedded_texts().at(path) + "constexpr int kMine = 1;\n");
  for (const KernelFamily& family : families()) {
    const KernelSource now = kernel_source(family), changed = kernel_source(family, dir_);
    EXPECT_NE(epilogue_identity(now), now.hash) << family.name;
    EXPECT_EQ(changed.hash, now.hash) << family.name;
    EXPECT_NE(epilogue_identity(changed), epilogue_identity(now)) << family.name;
  }
}

TEST_F(KernelDir, TheHostsPartOfAFamilyIsNoPartOfItsIdentity) {
  const KernelFamily& naive = *find_family("naive");
  std::string text = kernel_source(naive).text;
  const std::size_t host = text.find("#else  // the host");
  ASSERT_NE(host, std::string::npos);
  text.insert(text.find('\n', host), "\nconstexpr int kMine = 1;");
  write(naive.source_path(), text);
  EXPECT_EQ(kernel_source(naive, dir_).hash, kernel_source(naive).hash);
}

TEST(Version1, NamesTheTextsOfItsLastReleaseByTodaysIdentityOrAnOlderOne) {
  // From a database that the last program of version 1 wrote.
  EXPECT_THAT(identity_of_version_1("warp_tiled", "a7b2e2aa0ce39372"),
              testing::Optional(std::string("8f8aeb69529e0d0f")));
  EXPECT_EQ(identity_of_version_1("skinny", "a7b2e2aa0ce39372"), std::nullopt);
  EXPECT_EQ(identity_of_version_1("warp_tiled", ""), std::nullopt);
}

TEST(Version1, TheTokensOfItsKernelsAreThoseOfTheirIdentities) {
  const std::map<std::string, std::string> identities = {
      {"coarsened_1d", "c4556223ea29b074"}, {"naive", "902186727d0ee206"},
      {"skinny", "e0113361a921641d"},       {"smem_tiled", "18157738c734e28f"},
      {"tiled_2d", "f79fbe24b22df43a"},     {"vectorized_2d", "e4c52a77427472ba"},
      {"warp_tiled", "8f8aeb69529e0d0f"}};
  for (const auto& [family, identity] : identities) {
    const auto tokens = earlier_tokens(family, identity);
    ASSERT_TRUE(tokens) << family;
    EXPECT_EQ(identity_of(*tokens), identity) << family;
  }
  EXPECT_EQ(earlier_tokens("naive", "e0113361a921641d"), std::nullopt);
}

TEST_F(KernelDir, MayBringHeadersOfItsOwn) {
  const KernelFamily& naive = *find_family("naive");
  write("kernel_templates/naive.cuh",
        "#include \"kernel_templates/device/mine.cuh\"\n" + kernel_source(naive).text);
  write("kernel_templates/device/mine.cuh", "// mine\n");
  EXPECT_THAT(header_paths(kernel_source(naive, dir_)),
              testing::Contains("kernel_templates/device/mine.cuh"));
}

TEST_F(KernelDir, LackingAFileIsAnErrorThatNamesIt) {
  fs::remove(dir_ / "kernel_templates/device/vec.cuh");
  EXPECT_THAT([&] { kernel_source(*find_family("naive"), dir_); },
              ThrowsMessage<UsageError>(HasSubstr("must hold kernel_templates/device/vec.cuh")));
}

// As a folder that was copied from a release without the family.
TEST_F(KernelDir, MayLackAFamilyOfTypesThatNobodyAskedFor) {
  fs::remove(dir_ / "kernel_templates/mma.cuh");
  const KernelSources sources = kernel_sources(dir_);
  EXPECT_TRUE(sources.contains("naive"));
  EXPECT_FALSE(sources.contains("mma"));
  EXPECT_THAT([&] { kernel_sources(dir_, {signature_of(ElementType::bf16)}); },
              ThrowsMessage<UsageError>(HasSubstr("must hold kernel_templates/mma.cuh")));
  fs::remove(dir_ / "kernel_templates/naive.cuh");
  EXPECT_THAT([&] { kernel_sources(dir_); },
              ThrowsMessage<UsageError>(HasSubstr("must hold kernel_templates/naive.cuh")));
}

TEST_F(KernelDir, WithAFileWithoutEndOrWithoutContentIsRefusedByName) {
  const fs::path text = dir_ / "kernel_templates/naive.cuh";
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
  EXPECT_THAT(refusal(), HasSubstr("naive.cuh' is neither a regular file nor a pipe"));
  fs::remove(text);
  write("kernel_templates/naive.cuh", "//");
  fs::resize_file(text, 1'000'000'000);  // of which the disk holds nothing
  EXPECT_THAT(refusal(), HasSubstr("naive.cuh' is longer than 16 MB"));
  fs::resize_file(text, 0);
  EXPECT_THAT(refusal(), HasSubstr("naive.cuh' is empty; the kernel directory must hold"));
}

TEST(KernelDirTest, ThatDoesNotExistIsAnErrorThatNamesTheFile) {
  EXPECT_THAT([] { kernel_source(*find_family("naive"), "/no/such/dir"); },
              ThrowsMessage<UsageError>(
                  HasSubstr("'/no/such/dir/kernel_templates/naive.cuh' cannot be read")));
}

TEST(TunedParams, AreDesignatedInitialisers) {
  EXPECT_EQ(tuned_params(known("naive/BM=8,BN=32,COALESCED=1,PRED=0")),
            "{.BM=8,.BN=32,.COALESCED=1,.PRED=0}");
}

TEST(CompileDefinitions, SayOfTheEpilogue) {
  const KnownConfig config = known("naive/BM=8,BN=32,COALESCED=1,PRED=0");
  EXPECT_EQ(compile_definitions(config, {COperand::separate, Epilogue::bias}).back(),
            "TUNED_EPILOGUE=1");
  EXPECT_EQ(compile_definitions(config, {COperand::in_place, Epilogue::bias_relu}).back(),
            "TUNED_EPILOGUE=2");
}

TEST(CompileDefinitions, SayOfHowHowManyCtasAClusterIs) {
  EXPECT_THAT(compile_definitions(known("naive/BM=8,BN=32,COALESCED=1,PRED=0")),
              ElementsAre("TUNED_PARAMS={.BM=8,.BN=32,.COALESCED=1,.PRED=0}", "TUNED_CLUSTER=1",
                          "TUNED_IN_PLACE"));
  EXPECT_EQ(
      compile_definitions(known("naive/BM=8,BN=32,COALESCED=1,PRED=0"), COperand::separate).size(),
      2U);
  const std::string skinny = "BS=1,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC=4,SPLIT_K=3,SKINNY_N=0,";
  EXPECT_EQ(compile_definitions(known("skinny/CLUSTER=1," + skinny + "TA=0,TB=0,PRED=1")).at(1),
            "TUNED_CLUSTER=3");
  EXPECT_EQ(compile_definitions(known("skinny/CLUSTER=0," + skinny + "TA=0,TB=0,PRED=1")).at(1),
            "TUNED_CLUSTER=1");
}

// The struct of the parameters stays as it was, and with it the constants in the machine code.
TEST(CompileDefinitions, NameLaterParametersBesideThoseOfTheStruct) {
  const std::string before =
      "skinny/CLUSTER=0,BS=1,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC=4,SPLIT_K=3,SKINNY_N=0,TA=0,TB=0,"
      "PRED=1";
  const KnownConfig later = known(before + ",KEEP=6,STAGED_FIRST=1");
  EXPECT_EQ(tuned_params(later), tuned_params(known(before)));
  EXPECT_THAT(compile_definitions(later),
              ElementsAre("TUNED_PARAMS=" + tuned_params(later), "TUNED_CLUSTER=1",
                          "TUNED_IN_PLACE", "TUNED_KEEP=6", "TUNED_STAGED_FIRST=1"));
  EXPECT_EQ(compile_definitions(known(before + ",KEEP=0")).size(), 3U);
}

}  // namespace
}  // namespace gemm_tune

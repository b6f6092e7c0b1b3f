// SPDX-License-Identifier: Apache-2.0
// With the libraries of tests/runtime/fakes.
#include "runtime/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/runtime/fakes/fake_libraries.h"

namespace gemm_tune {
namespace {

alignas(16) char g_memory[4];  // no call reads or writes it

GemmCall some_call() {
  return in_place(packed_call(packed_problem(256, 128, 64)), g_memory, g_memory, g_memory);
}

std::vector<std::string> texts_of(const std::vector<KnownConfig>& configs) {
  std::vector<std::string> texts;
  for (const KnownConfig& config : configs) texts.push_back(to_string(config.config()));
  return texts;
}

KnownConfig config(const std::string& text) { return check_config(parse_config(text)); }

TEST(LibraryTest, ProposesCublassOwnChoiceAndThenTheAttributesOfCublasLtsAlgorithms) {
  Library library;
  const std::vector<std::string> texts = texts_of(library.proposals(some_call(), 100));
  ASSERT_EQ(texts.size(), 5u);
  EXPECT_EQ(texts[0], "cublas/WORKSPACE=33554432");
  EXPECT_EQ(texts[1], "cublaslt/ALGO=60,TILE=20");
  EXPECT_EQ(texts[2], "cublaslt/ALGO=61,TILE=21,CLUSTER=3,WORKSPACE=4096");
}

TEST(LibraryTest, TakesMatricesOfWholeElements) {
  Problem halves = packed_problem(49, 49, 32, Layout::nn, 1536, signature_of(ElementType::bf16));
  EXPECT_EQ(halves.alignment.d, 2);
  EXPECT_TRUE(library_takes(halves));
  halves.alignment.b = 1;
  EXPECT_FALSE(library_takes(halves));
  Problem floats = packed_problem(49, 49, 32);
  EXPECT_TRUE(library_takes(floats));
  floats.alignment.a = 2;
  EXPECT_FALSE(library_takes(floats));
}

TEST(LibraryTest, ProposesNoMoreAlgorithmsThanItIsAskedFor) {
  Library library;
  EXPECT_EQ(library.proposals(some_call(), 2).size(), 3u);
}

TEST(LibraryTest, AnAlgorithmMadeOfItsTextIsTheOneThatWasProposed) {
  Library library;
  const GemmCall call = some_call();
  const std::vector<std::string> texts = texts_of(library.proposals(call, 100));
  algorithms_run().clear();
  for (std::size_t i = 1; i < texts.size(); ++i) {
    EXPECT_TRUE(library.prepare(config(texts[i]), call).launch(call, nullptr, nullptr)) << texts[i];
  }
  ASSERT_EQ(algorithms_run().size(), 4u);
  EXPECT_EQ(algorithms_run()[0], (FakeAlgorithm{{60, 20, 1}, {}}));
  EXPECT_EQ(algorithms_run()[1], (FakeAlgorithm{{61, 21, 1, 0, 0, 0, 0, 0, 3}, {}}));
  EXPECT_EQ(algorithms_run()[2], (FakeAlgorithm{{62, 22, 1}, {0, 0, 0, 0, 0xffff0001}}));
  EXPECT_EQ(algorithms_run()[3], (FakeAlgorithm{{kUnmakeable, 23, 1}, {}}));
}

TEST(LibraryTest, AnAlgorithmThatTheLibraryRefusesIsNamed) {
  Library library;
  try {
    library.prepare(config("cublaslt/ALGO=60,TILE=99"), some_call());
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cublaslt/ALGO=60,TILE=99"));
  }
}

TEST(LibraryTest, AnAlgorithmTakesNoCallOfOtherRowsOrLessAlignment) {
  Library library;
  const GemmCall call = some_call();
  const LibraryCall prepared = library.prepare(config("cublaslt/ALGO=60,TILE=20"), call);
  EXPECT_TRUE(prepared.launch(call, nullptr, nullptr));
  GemmCall other = call;
  other.lda += 4;
  EXPECT_FALSE(prepared.launch(other, nullptr, nullptr));
  other = call;
  other.B = g_memory + 1;
  EXPECT_FALSE(prepared.launch(other, nullptr, nullptr));
}

TEST(LibraryTest, CublassOwnChoiceGetsItsWorkspace) {
  Library library;
  const GemmCall call = some_call();
  const LibraryCall prepared = library.prepare(config("cublas/WORKSPACE=65536"), call);
  EXPECT_EQ(prepared.workspace_bytes(), 65536);
  choices_run().clear();
  EXPECT_TRUE(prepared.launch(call, g_memory, nullptr));
  EXPECT_THAT(choices_run(), testing::ElementsAre(g_memory));
}

TEST(LibraryTest, TheRevisionIsTheVersionOfTheFamilysLibrary) {
  Library library;
  for (const KernelFamily& family : library_families()) {
    EXPECT_EQ(library.revision(family), "13.1.0");
  }
}

TEST(LibraryFamiliesTest, ACublasLtConfigHasTheNumbersOfAnAlgorithm) {
  EXPECT_EQ(library_families().back().params.size(), LtAlgorithm().size());
}

TEST(LibraryFamiliesTest, ConfigsAreCheckedAndPrintedLikeAKernels) {
  const std::string text = "cublaslt/ALGO=66,TILE=20,STAGES=36,SPLIT_K=2,X3=-7";
  EXPECT_EQ(to_string(config(text).config()), text);
  EXPECT_EQ(library_workspace_bytes(config(text)), 0);
  EXPECT_THROW(config("cublaslt/ALGO=66,WORKSPACE=-1"), UsageError);
  EXPECT_THROW(config("cublas/ALGO=3"), UsageError);
  EXPECT_TRUE(names_library("cublas/WORKSPACE=0"));
  EXPECT_FALSE(names_library("naive/BM=8,BN=32,COALESCED=1,PRED=1"));
}

TEST(LibraryFamiliesTest, AnAlgorithmIsServedAsItselfOnly) {
  EXPECT_EQ(served_variants(config("cublaslt/ALGO=66")).size(), 1u);
}

}  // namespace
}  // namespace gemm_tune

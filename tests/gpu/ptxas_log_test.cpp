// SPDX-License-Identifier: Apache-2.0
#include "gpu/compile/ptxas_log.h"

#include <gtest/gtest.h>

#include <string>

namespace gemm_tune {
namespace {

constexpr const char* kOneEntry = R"(ptxas info    : 614 bytes gmem, 128 bytes cmem[4]
ptxas info    : Compiling entry function 'gemm' for 'sm_86'
ptxas info    : Function properties for gemm
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 115 registers, used 1 barriers, 424 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 88.663 ms
)";

constexpr const char* kTwoEntriesAndAFunction =
    R"(ptxas warning : Value of threads per SM for entry gemm is out of range. .minnctapersm will be ignored
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_86'
ptxas info    : Function properties for gemm
ptxas         .     16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 16 bytes cumulative stack size, 8000 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 26.049 ms
ptxas info    : Function properties for _Z1gPfi
ptxas         .     24 bytes stack frame, 20 bytes spill stores, 20 bytes spill loads
ptxas info    : Compiling entry function 'gemm_other' for 'sm_86'
ptxas info    : Function properties for gemm_other
ptxas         .     512 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 92 registers, used 0 barriers, 512 bytes cumulative stack size, 360 bytes cmem[0]
ptxas info    : Compile time = 29.832 ms
)";

Resources resources(int registers, int spill_bytes, int stack_bytes, int smem_bytes) {
  return {.registers = registers,
          .spill_bytes = spill_bytes,
          .stack_bytes = stack_bytes,
          .smem_bytes = smem_bytes};
}

TEST(PtxasLog, ReadsRegistersOfTheOnlyEntry) {
  EXPECT_EQ(parse_ptxas_log(kOneEntry, "gemm"), resources(115, 0, 0, 0));
}

TEST(PtxasLog, AddsSpillStoresAndLoadsAndReadsStackAndSharedMemory) {
  EXPECT_EQ(parse_ptxas_log(kTwoEntriesAndAFunction, "gemm"), resources(64, 32, 16, 8000));
}

TEST(PtxasLog, KeepsEntriesApartWhoseNamesShareAPrefix) {
  EXPECT_EQ(parse_ptxas_log(kTwoEntriesAndAFunction, "gemm_other"), resources(92, 0, 512, 0));
}

TEST(PtxasLog, ReadsTheClassicSpelling) {
  EXPECT_EQ(
      parse_ptxas_log("ptxas info    : Compiling entry function 'gemm' for 'sm_75'\r\n"
                      "ptxas info    : Function properties for gemm\r\n"
                      "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\r\n"
                      "ptxas info    : Used 114 registers, 16384 bytes smem, 424 bytes cmem[0]\r\n",
                      "gemm"),
      resources(114, 8, 8, 16384));
}

TEST(PtxasLog, IsEmptyForAnEntryThatTheLogDoesNotHold) {
  EXPECT_EQ(parse_ptxas_log(kOneEntry, "sgemm"), std::nullopt);
  EXPECT_EQ(parse_ptxas_log("", "gemm"), std::nullopt);
}

TEST(PtxasLog, IsEmptyWhereTheLogBreaksOffBeforeTheRegisters) {
  EXPECT_EQ(parse_ptxas_log("ptxas info    : Compiling entry function 'gemm' for 'sm_86'\n"
                            "ptxas info    : Function properties for gemm\n",
                            "gemm"),
            std::nullopt);
}

TEST(PtxasLog, SpillsTooLargeToAddAreNone) {
  EXPECT_EQ(parse_ptxas_log("ptxas info : Compiling entry function 'gemm' for 'sm_86'\n"
                            "ptxas info : Function properties for gemm\n"
                            "8 bytes stack frame, 2000000000 bytes spill stores, 2000000000 bytes "
                            "spill loads\n"
                            "ptxas info : Used 16 registers\n",
                            "gemm"),
            resources(16, 0, 8, 0));
}

TEST(PtxasLog, IgnoresANumberTooLargeToBeOne) {
  EXPECT_EQ(parse_ptxas_log("ptxas info : Compiling entry function 'gemm' for 'sm_86'\n"
                            "ptxas info : Used 99999999999999999999 registers\n",
                            "gemm"),
            std::nullopt);
}

TEST(PtxasLogTest, TellsOfInstructionsThatWaitForEachOther) {
  EXPECT_EQ(serialised_wgmma("ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
                             "instructions are serialized\nptxas info    : Used 90 registers\n"),
            "(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized");
  for (const char* code : {"C7504", "C7508", "C7511", "C7512", "C7515", "C7520"}) {
    EXPECT_EQ(serialised_wgmma("a line\nptxas info : (" + std::string(code) + ") lost\r\n"),
              "(" + std::string(code) + ") lost");
  }
  EXPECT_EQ(serialised_wgmma(kOneEntry), std::nullopt);
  EXPECT_EQ(serialised_wgmma("ptxas info : (C7509) another\nC7510\n"), std::nullopt);
}

}  // namespace
}  // namespace gemm_tune

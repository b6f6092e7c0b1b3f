// SPDX-License-Identifier: Apache-2.0
// Hand-written PTX, whose accesses can be counted by hand.
#include "tuner/trace/trace.h"

#include "core/error.h"
#include "tests/matchers.h"
#include "tuner/trace/memory_instructions.h"

namespace gemm_tune::ptx {
namespace {

// A kernel with the body; %rd1 is A's address, %rd3 D's, %r1 the thread, %r2 the K of the call.
std::string with_body(const std::string& body) {
  return ".version 9.0\n.target sm_86\n.extern .shared .align 16 .b8 smem[];\n"
         ".visible .entry gemm(\n\t.param .align 8 .b8 gemm_param_0[112]\n)\n.maxntid 64, 1, 1\n{\n"
         "\t.reg .pred %p<9>;\n\t.reg .b32 %r<99>;\n\t.reg .b64 %rd<99>;\n"
         "\tld.param.u64 %rd1, [gemm_param_0+24];\n\tld.param.u64 %rd3, [gemm_param_0+40];\n"
         "\tld.param.u32 %r2, [gemm_param_0+8];\n\tmov.u32 %r1, %tid.x;\n" +
         body + "\tret;\n}\n";
}

TracedLaunch launch(int threads, int k = 1, long long ctas_y = 1) {
  GemmArgs args{};
  args.K = k;
  args.A = reinterpret_cast<const float*>(base_of(Memory::a));
  args.D = reinterpret_cast<float*>(base_of(Memory::d));
  args.counters = reinterpret_cast<int*>(base_of(Memory::workspace));
  return {args, {1, ctas_y, 1}, threads};
}

AccessCount count(const std::string& body, Access access, int threads = 32, int k = 1,
                  long long ctas_y = 1) {
  return sum_of(trace(parse(with_body(body)), launch(threads, k, ctas_y), 1'000'000),
                [=](const AccessKey& key) { return key.access == access; });
}

// Of one warp's loads from global memory.
void expect_loads(const std::string& body, double requests, double sectors) {
  const AccessCount loads = count(body, Access::global_load);
  EXPECT_EQ(loads.requests, requests);
  EXPECT_EQ(loads.sectors, sectors);
}

TEST(Trace, NeighboursShareSectors) {
  const AccessCount loads =
      count("mul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd1, %rd4;\nld.global.f32 %f1, [%rd5];\n",
            Access::global_load, 64);
  EXPECT_EQ(loads.requests, 2);
  EXPECT_EQ(loads.lanes, 64);
  EXPECT_EQ(loads.sectors, 8);
  EXPECT_EQ(loads.bytes, 256);
  EXPECT_EQ(loads.requests_by_bytes, (std::map<int, double>{{4, 2}}));
}

TEST(Trace, ArithmeticOfTheLeastIntegerIsThatOfTheProcessor) {
  // The quotient by -1 wraps to the least integer again, the remainder is 0: both set no low bit.
  expect_loads(
      "mov.b64 %rd4, 0x8000000000000000;\nmov.b64 %rd5, -1;\ndiv.s64 %rd6, %rd4, %rd5;\n"
      "rem.s64 %rd7, %rd4, %rd5;\nabs.s64 %rd8, %rd4;\nxor.b64 %rd6, %rd6, %rd8;\n"
      "or.b64 %rd6, %rd6, %rd7;\nadd.s64 %rd6, %rd6, %rd1;\nld.global.f32 %f1, [%rd6];\n",
      1, 1);
}

TEST(Trace, MalformedPtxIsAnErrorThatNamesTheStatement) {
  const auto fault = [](const std::string& body) {
    try {
      trace(parse(with_body(body)), launch(32), 1000);
      return std::string("none");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(fault("mov.u32;\n"), HasSubstr("'mov.u32' is cut off"));
  EXPECT_THAT(fault("add.q %r1, %r1, %r1;\n"), HasSubstr("'add.q %r1, %r1, %r1'"));
  EXPECT_THAT(fault("ld.global.u1000000 %r1, [%rd1];\n"),
              HasSubstr("'ld.global.u1000000 %r1, [%rd1]'"));
  EXPECT_THAT(fault("cp.async.ca.shared.global [smem], [%rd1], 0;\n"),
              HasSubstr("copies of 4, 8 or 16 bytes"));
  EXPECT_THAT(fault("ld.param.u64 %rd4, [gemm_param_0+-4];\n"), HasSubstr("beyond its parameter"));
  EXPECT_THAT(fault("ld.param.v4.u32 {%r4}, [gemm_param_0];\n"), HasSubstr("load of a parameter"));
  EXPECT_THAT(fault(".shared .align 16 .b8 big[99999999999];\n"), HasSubstr("more shared memory"));
}

TEST(Trace, AStrideOfASectorTouchesOneForEachLane) {
  const AccessCount stores = count(
      "mad.wide.u32 %rd5, %r1, 32, %rd3;\nst.global.v4.f32 [%rd5+16], {%f1, %f2, %f3, %f4};\n",
      Access::global_store);
  EXPECT_EQ(stores.sectors, 32);
  EXPECT_EQ(stores.bytes, 512);
}

TEST(Trace, LanesOfOneAddressAreOneSector) {
  const AccessCount loads = count("ld.global.f32 %f1, [%rd1+60];\n", Access::global_load);
  EXPECT_EQ(loads.sectors, 1);
  EXPECT_EQ(loads.bytes, 4);
}

TEST(Trace, OnlyLanesWhosePredicateHoldsAccess) {
  const AccessCount loads = count(
      "setp.lt.s32 %p1, %r1, 3;\nmad.wide.u32 %rd5, %r1, 128, %rd1;\n"
      "@%p1 ld.global.f32 %f1, [%rd5];\n@!%p1 bra $L1;\nld.global.f32 %f1, [%rd5];\n$L1:\n",
      Access::global_load);
  EXPECT_EQ(loads.requests, 2);
  EXPECT_EQ(loads.lanes, 6);
  EXPECT_EQ(loads.sectors, 6);
}

TEST(Trace, LanesThatPartAtABranchMeetAgain) {
  expect_loads(
      "and.b32 %r3, %r1, 1;\nsetp.eq.s32 %p1, %r3, 0;\n@%p1 bra $ODD;\nmov.u32 %r4, 1;\n"
      "bra.uni $END;\n$ODD:\nmov.u32 %r4, 2;\n$END:\nmad.wide.u32 %rd5, %r4, 32, %rd1;\n"
      "ld.global.f32 %f1, [%rd5];\n",
      1, 2);
}

TEST(Trace, ALoopRunsAsOftenAsTheCallSays) {
  const std::string body =
      "mov.u32 %r3, 0;\n$LOOP:\nld.global.f32 %f1, [%rd1];\nadd.s32 %r3, %r3, 1;\n"
      "setp.lt.s32 %p1, %r3, %r2;\n@%p1 bra $LOOP;\n";
  EXPECT_EQ(count(body, Access::global_load, 32, 7).requests, 7);
}

TEST(Trace, AStrideOf32WordsIsA32WayConflictAndOneOfOneWordNone) {
  const std::string body = "mul.lo.s32 %r3, %r1, STRIDE;\nst.shared.f32 [%r3], %f1;\n";
  const auto stores = [&](const std::string& stride) {
    std::string text = body;
    return count(text.replace(text.find("STRIDE"), 6, stride), Access::shared_store);
  };
  EXPECT_EQ(stores("128").wavefronts, 32);
  EXPECT_EQ(stores("128").conflict_free, 1);
  EXPECT_EQ(stores("4").wavefronts, 1);
}

TEST(Trace, ANameOfAnInnerBlockHidesTheOuterOne) {
  const std::string body =
      "setp.eq.s32 %p1, %r1, 0;\n{\n.reg .pred %p1;\nsetp.ne.s32 %p1, %r1, 99;\n}\n"
      "@%p1 ld.global.f32 %f1, [%rd1];\n";
  EXPECT_EQ(count(body, Access::global_load).lanes, 1);
}

TEST(Trace, AVoteOfOneLaneReachesAllWarps) {
  const AccessCount loads = count(
      "setp.eq.s32 %p1, %r1, 63;\nbar.red.or.pred %p2, 0, %p1;\n"
      "@%p2 ld.global.f32 %f1, [%rd1];\n",
      Access::global_load, 64);
  EXPECT_EQ(loads.lanes, 64);
}

// As CTAs that share a tile find out who is the last.
TEST(Trace, OneOfTheCtasOfATileSeesItsCounterFull) {
  const AccessCount stores = count(
      "ld.param.u64 %rd6, [gemm_param_0+96];\nsetp.eq.s32 %p1, %r1, 0;\n"
      "@%p1 atom.global.add.u32 %r5, [%rd6], 1;\nsetp.eq.s32 %p2, %r5, 3;\n"
      "and.pred %p3, %p1, %p2;\n@%p3 st.global.f32 [%rd3], %f1;\n",
      Access::global_store, 32, 1, 4);
  EXPECT_EQ(stores.requests, 0.25) << "of the mean CTA";
}

TEST(Trace, ACopyOfNoBytesWritesZerosAndReadsNothing) {
  const std::string body =
      "setp.lt.s32 %p1, %r1, 8;\nselp.b32 %r4, 16, 0, %p1;\nshl.b32 %r3, %r1, 4;\n"
      "mad.wide.u32 %rd5, %r1, 16, %rd1;\ncp.async.cg.shared.global [%r3 + 0], [%rd5], 16, %r4;\n";
  EXPECT_EQ(count(body, Access::global_load).lanes, 8);
  EXPECT_EQ(count(body, Access::shared_store).lanes, 32);
}

TEST(Trace, NegativeIndicesAndDivisionsAreThoseOfSignedIntegers) {
  const AccessCount loads = count(
      "sub.s32 %r3, 0, 96;\ndiv.s32 %r4, %r3, 3;\nshr.s32 %r5, %r4, 3;\ncvt.s64.s32 %rd4, %r5;\n"
      "add.s64 %rd5, %rd1, %rd4;\nadd.s64 %rd6, %rd5, 4;\nld.global.f32 %f1, [%rd6+-0];\n",
      Access::global_load);  // A - 4 + 4
  EXPECT_EQ(loads.sectors, 1);
}

TEST(Trace, AnEndlessKernelIsGivenUp) {
  EXPECT_THROW(count("$LOOP:\nbra.uni $LOOP;\n", Access::global_load), Error);
}

TEST(Trace, AnInstructionThatNobodyKnowsIsNamed) {
  try {
    parse(with_body("wobble.b32 %r3, %r1;\n"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("wobble.b32 %r3, %r1"));
  }
}

TEST(Trace, ATextWithoutTheKernelIsRefused) {
  EXPECT_THROW(parse(".visible .entry other() { ret; }"), Error);
  EXPECT_THROW(parse(""), Error);
  EXPECT_THROW(parse(".visible .entry gemm( ) { ret;"), Error);
}

TEST(MemoryInstructions, OfPtxAreCountedByTheirWidth) {
  const InstructionCounts counts = memory_instructions(
      parse(with_body("ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r1];\nst.global.f32 [%rd3], %f1;\n"
                      "st.global.f32 [%rd3+4], %f1;\n")));
  EXPECT_EQ(counts, (InstructionCounts{{{MemoryInstruction::shared_load, 16}, 1},
                                       {{MemoryInstruction::global_store, 4}, 2}}));
}

TEST(MemoryInstructions, BytesThatAreNoCubinAreRefused) {
  EXPECT_THROW(memory_instructions(std::string_view("no cubin")), Error);
}

}  // namespace
}  // namespace gemm_tune::ptx

// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async: sums[64, N] += left[64, k] * right[N, k]^T by one warpgroup, elements from
// shared memory, 32 bytes of them along K, sums in fp32.
//
// All 128 threads of the warpgroup call. Sums must not be touched between multiply() and the
// wait_multiplied() that covers it. Thread t has of each 8 columns elements 2 (t % 4) and the next
// one of rows 16 (t / 32) + t % 32 / 4 and that row + 8. PTX ISA 9.0, section "Asynchronous
// Warpgroup Level Matrix Multiply-Accumulate Instructions". Needs sm_90a. The emulator supplies the
// same functions.
#pragma once

#include "kernel_templates/device/element/element_type.cuh"

#ifndef GT_EMULATOR
namespace gemm_tune::wgmma {

// Sums and shared memory written by this thread's earlier instructions may be used by those below.
__device__ inline void begin_multiply() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Makes a group of the instructions issued since the last one.
__device__ inline void commit_multiply() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all groups but the N committed last have ended.
template <int N>
__device__ inline void wait_multiplied() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// Keeps reads of sums behind the wait before it.
template <int COUNT>
__device__ inline void settle(float (&sums)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

template <int N>
struct Instruction;  // multiply(sums, left, right, adds): see below

// The operand list of an instruction's text and the sums behind it: four more every 8 columns.
#define GT_TEXT_8 "%0, %1, %2, %3"
#define GT_TEXT_16 GT_TEXT_8 ", %4, %5, %6, %7"
#define GT_TEXT_24 GT_TEXT_16 ", %8, %9, %10, %11"
#define GT_TEXT_32 GT_TEXT_24 ", %12, %13, %14, %15"
#define GT_TEXT_40 GT_TEXT_32 ", %16, %17, %18, %19"
#define GT_TEXT_48 GT_TEXT_40 ", %20, %21, %22, %23"
#define GT_TEXT_56 GT_TEXT_48 ", %24, %25, %26, %27"
#define GT_TEXT_64 GT_TEXT_56 ", %28, %29, %30, %31"
#define GT_TEXT_72 GT_TEXT_64 ", %32, %33, %34, %35"
#define GT_TEXT_80 GT_TEXT_72 ", %36, %37, %38, %39"
#define GT_TEXT_88 GT_TEXT_80 ", %40, %41, %42, %43"
#define GT_TEXT_96 GT_TEXT_88 ", %44, %45, %46, %47"
#define GT_TEXT_104 GT_TEXT_96 ", %48, %49, %50, %51"
#define GT_TEXT_112 GT_TEXT_104 ", %52, %53, %54, %55"
#define GT_TEXT_120 GT_TEXT_112 ", %56, %57, %58, %59"
#define GT_TEXT_128 GT_TEXT_120 ", %60, %61, %62, %63"
#define GT_TEXT_136 GT_TEXT_128 ", %64, %65, %66, %67"
#define GT_TEXT_144 GT_TEXT_136 ", %68, %69, %70, %71"
#define GT_TEXT_152 GT_TEXT_144 ", %72, %73, %74, %75"
#define GT_TEXT_160 GT_TEXT_152 ", %76, %77, %78, %79"
#define GT_TEXT_168 GT_TEXT_160 ", %80, %81, %82, %83"
#define GT_TEXT_176 GT_TEXT_168 ", %84, %85, %86, %87"
#define GT_TEXT_184 GT_TEXT_176 ", %88, %89, %90, %91"
#define GT_TEXT_192 GT_TEXT_184 ", %92, %93, %94, %95"
#define GT_TEXT_200 GT_TEXT_192 ", %96, %97, %98, %99"
#define GT_TEXT_208 GT_TEXT_200 ", %100, %101, %102, %103"
#define GT_TEXT_216 GT_TEXT_208 ", %104, %105, %106, %107"
#define GT_TEXT_224 GT_TEXT_216 ", %108, %109, %110, %111"
#define GT_TEXT_232 GT_TEXT_224 ", %112, %113, %114, %115"
#define GT_TEXT_240 GT_TEXT_232 ", %116, %117, %118, %119"
#define GT_TEXT_248 GT_TEXT_240 ", %120, %121, %122, %123"
#define GT_TEXT_256 GT_TEXT_248 ", %124, %125, %126, %127"
#define GT_SUMS_8 "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
#define GT_SUMS_16 GT_SUMS_8, "+f"(x[4]), "+f"(x[5]), "+f"(x[6]), "+f"(x[7])
#define GT_SUMS_24 GT_SUMS_16, "+f"(x[8]), "+f"(x[9]), "+f"(x[10]), "+f"(x[11])
#define GT_SUMS_32 GT_SUMS_24, "+f"(x[12]), "+f"(x[13]), "+f"(x[14]), "+f"(x[15])
#define GT_SUMS_40 GT_SUMS_32, "+f"(x[16]), "+f"(x[17]), "+f"(x[18]), "+f"(x[19])
#define GT_SUMS_48 GT_SUMS_40, "+f"(x[20]), "+f"(x[21]), "+f"(x[22]), "+f"(x[23])
#define GT_SUMS_56 GT_SUMS_48, "+f"(x[24]), "+f"(x[25]), "+f"(x[26]), "+f"(x[27])
#define GT_SUMS_64 GT_SUMS_56, "+f"(x[28]), "+f"(x[29]), "+f"(x[30]), "+f"(x[31])
#define GT_SUMS_72 GT_SUMS_64, "+f"(x[32]), "+f"(x[33]), "+f"(x[34]), "+f"(x[35])
#define GT_SUMS_80 GT_SUMS_72, "+f"(x[36]), "+f"(x[37]), "+f"(x[38]), "+f"(x[39])
#define GT_SUMS_88 GT_SUMS_80, "+f"(x[40]), "+f"(x[41]), "+f"(x[42]), "+f"(x[43])
#define GT_SUMS_96 GT_SUMS_88, "+f"(x[44]), "+f"(x[45]), "+f"(x[46]), "+f"(x[47])
#define GT_SUMS_104 GT_SUMS_96, "+f"(x[48]), "+f"(x[49]), "+f"(x[50]), "+f"(x[51])
#define GT_SUMS_112 GT_SUMS_104, "+f"(x[52]), "+f"(x[53]), "+f"(x[54]), "+f"(x[55])
#define GT_SUMS_120 GT_SUMS_112, "+f"(x[56]), "+f"(x[57]), "+f"(x[58]), "+f"(x[59])
#define GT_SUMS_128 GT_SUMS_120, "+f"(x[60]), "+f"(x[61]), "+f"(x[62]), "+f"(x[63])
#define GT_SUMS_136 GT_SUMS_128, "+f"(x[64]), "+f"(x[65]), "+f"(x[66]), "+f"(x[67])
#define GT_SUMS_144 GT_SUMS_136, "+f"(x[68]), "+f"(x[69]), "+f"(x[70]), "+f"(x[71])
#define GT_SUMS_152 GT_SUMS_144, "+f"(x[72]), "+f"(x[73]), "+f"(x[74]), "+f"(x[75])
#define GT_SUMS_160 GT_SUMS_152, "+f"(x[76]), "+f"(x[77]), "+f"(x[78]), "+f"(x[79])
#define GT_SUMS_168 GT_SUMS_160, "+f"(x[80]), "+f"(x[81]), "+f"(x[82]), "+f"(x[83])
#define GT_SUMS_176 GT_SUMS_168, "+f"(x[84]), "+f"(x[85]), "+f"(x[86]), "+f"(x[87])
#define GT_SUMS_184 GT_SUMS_176, "+f"(x[88]), "+f"(x[89]), "+f"(x[90]), "+f"(x[91])
#define GT_SUMS_192 GT_SUMS_184, "+f"(x[92]), "+f"(x[93]), "+f"(x[94]), "+f"(x[95])
#define GT_SUMS_200 GT_SUMS_192, "+f"(x[96]), "+f"(x[97]), "+f"(x[98]), "+f"(x[99])
#define GT_SUMS_208 GT_SUMS_200, "+f"(x[100]), "+f"(x[101]), "+f"(x[102]), "+f"(x[103])
#define GT_SUMS_216 GT_SUMS_208, "+f"(x[104]), "+f"(x[105]), "+f"(x[106]), "+f"(x[107])
#define GT_SUMS_224 GT_SUMS_216, "+f"(x[108]), "+f"(x[109]), "+f"(x[110]), "+f"(x[111])
#define GT_SUMS_232 GT_SUMS_224, "+f"(x[112]), "+f"(x[113]), "+f"(x[114]), "+f"(x[115])
#define GT_SUMS_240 GT_SUMS_232, "+f"(x[116]), "+f"(x[117]), "+f"(x[118]), "+f"(x[119])
#define GT_SUMS_248 GT_SUMS_240, "+f"(x[120]), "+f"(x[121]), "+f"(x[122]), "+f"(x[123])
#define GT_SUMS_256 GT_SUMS_248, "+f"(x[124]), "+f"(x[125]), "+f"(x[126]), "+f"(x[127])

// left, right: descriptors. adds: 0 where the sums begin with this product. LEFT_MN, RIGHT_MN: 1
// where the operand's elements of one k are neighbours, of 16 bits only. f32 is cut off to tf32.
#define GT_ISSUE_ALONG_K(N, K_AND_TYPE, LEFT, RIGHT, ADDS, ...)                   \
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, " ADDS                     \
               ", 0;\n"                                                           \
               "wgmma.mma_async.sync.aligned.m64n" #N K_AND_TYPE " {" GT_TEXT_##N \
               "}, " LEFT ", " RIGHT ", adds, 1, 1;\n}"                           \
               : GT_SUMS_##N                                                      \
               : "l"(left), "l"(right), "r"(adds))
#define GT_ISSUE(N, TYPE, LEFT, RIGHT, ADDS, LEFT_IS_MN, RIGHT_IS_MN)                    \
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, " ADDS                            \
               ", 0;\n"                                                                  \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE " {" GT_TEXT_##N   \
               "}, " LEFT ", " RIGHT ", adds, 1, 1, " LEFT_IS_MN ", " RIGHT_IS_MN ";\n}" \
               : GT_SUMS_##N                                                             \
               : "l"(left), "l"(right), "r"(adds), "n"(LEFT_MN), "n"(RIGHT_MN))
#define GT_INSTRUCTION(N, ...)                                                                  \
  template <>                                                                                   \
  struct Instruction<N> {                                                                       \
    template <int TYPE, int LEFT_MN, int RIGHT_MN>                                              \
    static __device__ __forceinline__ void multiply(float (&x)[N / 2], unsigned long long left, \
                                                    unsigned long long right, int adds) {       \
      if constexpr (TYPE == kTypeBf16) {                                                        \
        GT_ISSUE(N, "bf16.bf16", __VA_ARGS__);                                                  \
      } else if constexpr (TYPE == kTypeF16) {                                                  \
        GT_ISSUE(N, "f16.f16", __VA_ARGS__);                                                    \
      } else {                                                                                  \
        static_assert(LEFT_MN == 0 && RIGHT_MN == 0);                                           \
        if constexpr (TYPE == kTypeF32) {                                                       \
          GT_ISSUE_ALONG_K(N, "k8.f32.tf32.tf32", __VA_ARGS__);                                 \
        } else {                                                                                \
          static_assert(TYPE == kTypeE4m3);                                                     \
          GT_ISSUE_ALONG_K(N, "k32.f32.e4m3.e4m3", __VA_ARGS__);                                \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  };
GT_INSTRUCTION(8, "%4", "%5", "%6", "%7", "%8")
GT_INSTRUCTION(16, "%8", "%9", "%10", "%11", "%12")
GT_INSTRUCTION(24, "%12", "%13", "%14", "%15", "%16")
GT_INSTRUCTION(32, "%16", "%17", "%18", "%19", "%20")
GT_INSTRUCTION(40, "%20", "%21", "%22", "%23", "%24")
GT_INSTRUCTION(48, "%24", "%25", "%26", "%27", "%28")
GT_INSTRUCTION(56, "%28", "%29", "%30", "%31", "%32")
GT_INSTRUCTION(64, "%32", "%33", "%34", "%35", "%36")
GT_INSTRUCTION(72, "%36", "%37", "%38", "%39", "%40")
GT_INSTRUCTION(80, "%40", "%41", "%42", "%43", "%44")
GT_INSTRUCTION(88, "%44", "%45", "%46", "%47", "%48")
GT_INSTRUCTION(96, "%48", "%49", "%50", "%51", "%52")
GT_INSTRUCTION(104, "%52", "%53", "%54", "%55", "%56")
GT_INSTRUCTION(112, "%56", "%57", "%58", "%59", "%60")
GT_INSTRUCTION(120, "%60", "%61", "%62", "%63", "%64")
GT_INSTRUCTION(128, "%64", "%65", "%66", "%67", "%68")
GT_INSTRUCTION(136, "%68", "%69", "%70", "%71", "%72")
GT_INSTRUCTION(144, "%72", "%73", "%74", "%75", "%76")
GT_INSTRUCTION(152, "%76", "%77", "%78", "%79", "%80")
GT_INSTRUCTION(160, "%80", "%81", "%82", "%83", "%84")
GT_INSTRUCTION(168, "%84", "%85", "%86", "%87", "%88")
GT_INSTRUCTION(176, "%88", "%89", "%90", "%91", "%92")
GT_INSTRUCTION(184, "%92", "%93", "%94", "%95", "%96")
GT_INSTRUCTION(192, "%96", "%97", "%98", "%99", "%100")
GT_INSTRUCTION(200, "%100", "%101", "%102", "%103", "%104")
GT_INSTRUCTION(208, "%104", "%105", "%106", "%107", "%108")
GT_INSTRUCTION(216, "%108", "%109", "%110", "%111", "%112")
GT_INSTRUCTION(224, "%112", "%113", "%114", "%115", "%116")
GT_INSTRUCTION(232, "%116", "%117", "%118", "%119", "%120")
GT_INSTRUCTION(240, "%120", "%121", "%122", "%123", "%124")
GT_INSTRUCTION(248, "%124", "%125", "%126", "%127", "%128")
GT_INSTRUCTION(256, "%128", "%129", "%130", "%131", "%132")
#undef GT_INSTRUCTION
#undef GT_ISSUE
#undef GT_ISSUE_ALONG_K

}  // namespace gemm_tune::wgmma
#endif

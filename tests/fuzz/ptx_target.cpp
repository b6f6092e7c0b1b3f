// SPDX-License-Identifier: Apache-2.0
// The reader of a kernel's PTX, and the execution of its integer part.
#include <cmath>
#include <string>

#include "core/error.h"
#include "tests/fuzz/targets.h"
#include "tuner/trace/trace.h"

namespace gemm_tune::fuzz {
namespace {

constexpr std::int64_t kMostInstructions = 20'000;

// The input, or a kernel with the input as its body.
std::string kernel_text(std::string_view input) {
  if (input.find(".entry") != std::string_view::npos) return std::string(input);
  return ".extern .shared .align 16 .b8 smem[];\n.visible .entry gemm(\n\t.param .align 8 .b8 "
         "gemm_param_0[112]\n)\n{\n\tld.param.u64 %rd1, [gemm_param_0+24];\n"
         "\tmov.u32 %r1, %tid.x;\n" +
         std::string(input) + "\tret;\n}\n";
}

ptx::TracedLaunch launch() {
  GemmArgs args{};
  args.M = args.N = args.K = 9;
  args.A = reinterpret_cast<const float*>(ptx::base_of(ptx::Memory::a));
  args.B = reinterpret_cast<const float*>(ptx::base_of(ptx::Memory::b));
  args.D = reinterpret_cast<float*>(ptx::base_of(ptx::Memory::d));
  args.counters = reinterpret_cast<int*>(ptx::base_of(ptx::Memory::workspace));
  return {args, {1, 2, 1}, 48};
}

}  // namespace

void check_ptx(std::string_view input) {
  try {
    const ptx::Kernel kernel = ptx::parse(kernel_text(input));
    for (const auto& [key, count] : ptx::trace(kernel, launch(), kMostInstructions)) {
      require(count.requests > 0 && count.requests <= kMostInstructions, "requests are counted");
      require(count.lanes > 0 && count.lanes <= 32 * count.requests, "a warp has 32 lanes");
      require(count.bytes >= 0 && count.bytes <= 32 * count.lanes, "a lane has 32 bytes at most");
      require(count.sectors >= 0 && count.sectors <= 2 * count.lanes, "a lane touches two sectors");
      require(count.wavefronts >= count.conflict_free, "conflicts cost passes");
    }
  } catch (const Error&) {
  }
}

}  // namespace gemm_tune::fuzz

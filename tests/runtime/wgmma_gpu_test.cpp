// SPDX-License-Identifier: Apache-2.0
// A kernel for sm_90a runs on a GPU of sm_90; on another GPU it is refused before it is compiled.
#include <vector>

#include "core/error.h"
#include "gpu/device.h"
#include "gpu/launch/kernel.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "kernel_templates/device/call/gemm_args.cuh"
#include "runtime/compile.h"
#include "tests/gpu/gpu_test.h"
#include "tests/runtime/wgmma_kernel.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

using WgmmaGpuTest = GpuTest;

TEST_F(WgmmaGpuTest, RunsOnHopperAndIsRefusedElsewhere) {
  const TempFolder temp;
  const KernelFamily family = wgmma_family();
  const KernelSource source = wgmma_source(family, temp.path());
  const KnownConfig config = known_config(family, {8});
  const std::string arch = query_device(0).arch;
  if (arch != "sm_90") {
    EXPECT_THROW(compile_kernel(source, config, COperand::in_place, arch), UsageError);
    return;
  }
  const CompileResult compiled = compile_kernel(source, config, COperand::in_place, arch);
  ASSERT_TRUE(compiled.ok) << compiled.log;
  const LoadedKernel kernel(compiled.cubin);
  DeviceBuffer<float> d(64 * 8);
  d.fill_bytes(0xff, nullptr);
  GemmArgs args{};
  args.alpha = 1.5f;
  args.beta = -2;
  args.D = d.data();
  void* parameters[] = {&args};
  const Stream stream;
  kernel.launch({1}, 128, 0, stream.get(), parameters);
  stream.synchronize();
  std::vector<float> result(64 * 8);
  d.copy_to_host(result);
  for (const float element : result) ASSERT_EQ(element, 16 * 1.5f * -2);
}

}  // namespace
}  // namespace gemm_tune

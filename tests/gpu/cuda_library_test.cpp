// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_libraries/cuda_library.h"

#include "core/error.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

TEST(CudaLibrary, OneThatIsMissingIsADeviceErrorWithWhatToInstall) {
  EXPECT_THAT(
      [] {
        open_cuda_library(
            {"libnowhere.so.13", "Nowhere 13", "cuda-nowhere-13-0", "nvidia-nowhere"});
      },
      ThrowsMessage<DeviceError>(
          AllOf(StartsWith("Nowhere 13 cannot be opened (libnowhere.so.13: "),
                HasSubstr("install CUDA Toolkit 13 or its package cuda-nowhere-13-0, or run 'pip "
                          "install \"nvidia-nowhere==13.*\"' in the "))));
}

TEST(CudaLibrary, OpensAFileInTheFolderOfAnotherLibrary) {
  void* const library = open_cuda_library({"libm.so.6", "", "", ""});
  EXPECT_NE(open_beside(library, "libc.so.6"), nullptr);
  EXPECT_EQ(open_beside(library, "libnowhere.so.13"), nullptr);
}

TEST(CudaLibrary, AFunctionThatIsMissingIsADeviceErrorNamingIt) {
  void* const library = open_cuda_library({"libm.so.6", "", "", ""});
  EXPECT_THAT([&] { find_symbol(library, "nvrtcNothing"); },
              ThrowsMessage<DeviceError>(HasSubstr("nvrtcNothing")));
}

}  // namespace
}  // namespace gemm_tune

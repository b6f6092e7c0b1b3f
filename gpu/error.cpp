#include "gpu/error.h"

#include <string>

namespace gemm_tune {

CudaError::CudaError(cudaError_t code, const char* call)
    : DeviceError(std::string(call) + " failed with " + cudaGetErrorName(code) + ": " +
                  cudaGetErrorString(code)),
      code_(code) {}

bool CudaError::is_sticky() const {
  // The kinds that the runtime's documentation calls inconsistent: "the process must be
  // terminated".
  switch (code_) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
      return true;
    default:
      return false;
  }
}

void check_cuda(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // or the next unrelated check would report this failure again
  throw CudaError(code, call);
}

}  // namespace gemm_tune

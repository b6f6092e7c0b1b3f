#include "gpu/cublas.h"

#include <dlfcn.h>

#include <filesystem>
#include <limits>

#include "core/error.h"

namespace gemm_tune {
namespace {

// What is used of cuBLAS 13's binary interface, as cublas_v2.h and library_types.h declare it.
// Written down here because that header comes with 400 MB of libraries, which a build does without.
namespace abi {

using Handle = struct Context*;
using Status = int;  // of the enumerations' type in C
constexpr Status kSuccess = 0;
constexpr int kOpN = 0;
constexpr int kDefaultMath = 0, kPedanticMath = 2;
constexpr int kMajorVersion = 0, kMinorVersion = 1, kPatchLevel = 2;

using Create = Status(Handle*);
using Destroy = Status(Handle);
using GetProperty = Status(int, int*);
using SetStream = Status(Handle, cudaStream_t);
using SetMathMode = Status(Handle, int);
using GetStatusName = const char*(Status);
// Column-major: handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc.
template <class T>
using Gemm = Status(Handle, int, int, int, int, int, const T*, const T*, int, const T*, int,
                    const T*, T*, int);

}  // namespace abi

// The library by its name, where the loader looks; else beside the CUDA runtime in use, which is
// where a toolkit and NVIDIA's wheels both keep it. Never closed: cuBLAS holds state per process.
void* open_library() {
  constexpr const char* kName = "libcublas.so.13";
  if (void* library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL)) return library;
  const std::string reason = ::dlerror();
  Dl_info runtime{};
  void* const symbol = ::dlsym(RTLD_DEFAULT, "cudaGetDeviceCount");
  if (symbol != nullptr && ::dladdr(symbol, &runtime) != 0 && runtime.dli_fname != nullptr) {
    const auto beside = std::filesystem::path(runtime.dli_fname).parent_path() / kName;
    if (void* library = ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  throw DeviceError("cuBLAS 13 cannot be opened (" + reason +
                    "): install CUDA 13's cuBLAS or put it on the loader's path");
}

template <class Function>
Function* find(void* library, const char* name) {
  void* const symbol = ::dlsym(library, name);
  if (symbol == nullptr) throw DeviceError(std::string("libcublas.so.13 has no ") + name);
  return reinterpret_cast<Function*>(symbol);
}

int narrow(std::int64_t value) {
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    throw DeviceError("cuBLAS's 32-bit interface cannot take a size of " + std::to_string(value));
  }
  return static_cast<int>(value);
}

}  // namespace

struct Cublas::Impl {
  void* library = open_library();
  abi::Create* create = find<abi::Create>(library, "cublasCreate_v2");
  abi::Destroy* destroy = find<abi::Destroy>(library, "cublasDestroy_v2");
  abi::GetProperty* get_property = find<abi::GetProperty>(library, "cublasGetProperty");
  abi::SetStream* set_stream = find<abi::SetStream>(library, "cublasSetStream_v2");
  abi::SetMathMode* set_math_mode = find<abi::SetMathMode>(library, "cublasSetMathMode");
  abi::Gemm<float>* sgemm = find<abi::Gemm<float>>(library, "cublasSgemm_v2");
  abi::Gemm<double>* dgemm = find<abi::Gemm<double>>(library, "cublasDgemm_v2");
  abi::GetStatusName* status_name = find<abi::GetStatusName>(library, "cublasGetStatusName");
  abi::Handle handle = nullptr;

  Impl() { check(create(&handle), "cublasCreate"); }
  ~Impl() {
    if (handle != nullptr) destroy(handle);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void check(abi::Status status, const char* call) const {
    if (status == abi::kSuccess) return;
    throw DeviceError(std::string(call) + " failed with " + status_name(status));
  }
};

Cublas::Cublas() : impl_(std::make_unique<Impl>()) {}
Cublas::~Cublas() = default;
Cublas::Cublas(Cublas&&) noexcept = default;
Cublas& Cublas::operator=(Cublas&&) noexcept = default;

std::string Cublas::version() const {
  std::string text;
  for (const int part : {abi::kMajorVersion, abi::kMinorVersion, abi::kPatchLevel}) {
    int number = 0;
    impl_->check(impl_->get_property(part, &number), "cublasGetProperty");
    text += (text.empty() ? "" : ".") + std::to_string(number);
  }
  return text;
}

void Cublas::set_stream(cudaStream_t stream) {
  impl_->check(impl_->set_stream(impl_->handle, stream), "cublasSetStream");
}

// cuBLAS is column-major, where a row-major matrix reads as its transpose: C^T = B^T * A^T is the
// same call with the operands and M, N swapped.
void Cublas::sgemm(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                   std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                   std::int64_t ldc, Math math) {
  const int mode = math == Math::pedantic ? abi::kPedanticMath : abi::kDefaultMath;
  impl_->check(impl_->set_math_mode(impl_->handle, mode), "cublasSetMathMode");
  impl_->check(impl_->sgemm(impl_->handle, abi::kOpN, abi::kOpN, narrow(N), narrow(M), narrow(K),
                            &alpha, B, narrow(ldb), A, narrow(lda), &beta, C, narrow(ldc)),
               "cublasSgemm");
}

void Cublas::dgemm(std::int64_t M, std::int64_t N, std::int64_t K, double alpha, const double* A,
                   std::int64_t lda, const double* B, std::int64_t ldb, double beta, double* C,
                   std::int64_t ldc) {
  impl_->check(impl_->dgemm(impl_->handle, abi::kOpN, abi::kOpN, narrow(N), narrow(M), narrow(K),
                            &alpha, B, narrow(ldb), A, narrow(lda), &beta, C, narrow(ldc)),
               "cublasDgemm");
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// legal_calls_client: a table of legal and illegal calls, each made by the drop-in that the program
// is linked with and by cuBLAS's own function, on the same operands.
//
// A line of JSON for each: "call", and "cublas" and "drop_in", the statuses of both; "same",
// whether the results are equal. Every element is a small integer, so that sums are exact in any
// order and arithmetic. No call reads or writes a null address: that would end the process's
// context.
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "gpu/cuda_libraries/cublas_types.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/dispatch/preload/clients/opened_cublas.h"
#include "tests/dispatch/preload/fakes/cublas_functions.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kElements = 1 << 18;  // of each matrix, more than any call reads
constexpr int kF32 = cublas_abi::data_type(ElementType::f32),
              kF16 = cublas_abi::data_type(ElementType::f16);
constexpr int kSgemm = 0, kBatched = 1, kGemmEx = 2, kMatmul = 3;  // functions
constexpr int kInPlace = 0, kApart = 1, kNull = 2;                 // places of C

struct Call {
  int function = kSgemm, op_a = 0, op_b = 0, m = 64, n = 48, k = 32, lda = 64, ldb = 32, ldc = 64;
  int batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  float alpha = 2, beta = 0;
  bool null_alpha = false, null_beta = false, scalars_on_device = false;
  bool null_a = false, null_b = false, nan_in_c = false, null_handle = false;
  int type_a = kF32, type_b = kF32, type_c = kF32, compute_type = cublas_abi::kComputeF32;
  int algorithm = -1, math_mode = 0;
  // Of cublasLt.
  int c = kInPlace, epilogue = 1, scale_type = kF32;
  int ld_of_c = 64, rows_of_b = 32, batch_of_a = 1;
  bool null_layout_c = false, null_bias = false;
  std::array<bool, 4> by_rows{};  // A, B, C, D
};

struct Row {
  const char* text;
  int function;
  void (*change)(Call&);
};

void batch_of_3(Call& c) {
  c.batch = c.batch_of_a = 3;
  c.stride_a = 64 * 32;
  c.stride_b = 32 * 48;
  c.stride_c = 64 * 48;
}
void all_by_rows(Call& c) {
  c.by_rows = {true, true, true, true};
  c.ldb = c.ldc = c.ld_of_c = 48;
}
void of_16_bits(Call& c) { c.type_a = c.type_b = c.type_c = kF16; }

const Row kRows[] = {
    {"sgemm", kSgemm, [](Call&) {}},
    {"beta 1", kSgemm, [](Call& c) { c.beta = 1; }},
    {"beta 0 and NaN in C", kSgemm, [](Call& c) { c.nan_in_c = true; }},
    {"M 0", kSgemm, [](Call& c) { c.m = 0; }},
    {"N 0", kSgemm, [](Call& c) { c.n = 0; }},
    {"K 0", kSgemm, [](Call& c) { c.k = 0; }},
    {"K 0 and beta 3", kSgemm, [](Call& c) { c.k = 0, c.beta = 3; }},
    {"M -1", kSgemm, [](Call& c) { c.m = -1; }},
    {"N -1", kSgemm, [](Call& c) { c.n = -1; }},
    {"K -1", kSgemm, [](Call& c) { c.k = -1; }},
    {"lda below M", kSgemm, [](Call& c) { c.lda = 63; }},
    {"ldb below K", kSgemm, [](Call& c) { c.ldb = 31; }},
    {"ldc below M", kSgemm, [](Call& c) { c.ldc = 63; }},
    {"lda 0", kSgemm, [](Call& c) { c.lda = 0; }},
    {"lda -64", kSgemm, [](Call& c) { c.lda = -64; }},
    {"larger ld", kSgemm, [](Call& c) { c.lda = 100, c.ldb = 41, c.ldc = 77; }},
    {"A transposed, lda M", kSgemm, [](Call& c) { c.op_a = 1; }},
    {"A transposed, lda below K", kSgemm, [](Call& c) { c.op_a = 1, c.lda = 31; }},
    {"B transposed", kSgemm, [](Call& c) { c.op_b = 1, c.ldb = 48; }},
    {"B transposed, ldb below N", kSgemm, [](Call& c) { c.op_b = 1; }},
    {"conjugate transposes", kSgemm, [](Call& c) { c.op_a = c.op_b = 2, c.ldb = 48; }},
    {"operation 3", kSgemm, [](Call& c) { c.op_a = 3; }},
    {"operation 17", kSgemm, [](Call& c) { c.op_b = 17; }},
    {"alpha 0", kSgemm, [](Call& c) { c.alpha = 0, c.beta = 3; }},
    {"alpha 0, A and B null", kSgemm,
     [](Call& c) { c.alpha = 0, c.beta = 3, c.null_a = c.null_b = true; }},
    {"K 0, A and B null", kSgemm, [](Call& c) { c.k = 0, c.null_a = c.null_b = true; }},
    {"alpha null", kSgemm, [](Call& c) { c.null_alpha = true; }},
    {"beta null", kSgemm, [](Call& c) { c.null_beta = true; }},
    {"alpha null, M 0", kSgemm, [](Call& c) { c.null_alpha = true, c.m = 0; }},
    {"scalars on the device", kSgemm, [](Call& c) { c.scalars_on_device = true; }},
    {"handle null", kSgemm, [](Call& c) { c.null_handle = true; }},
    {"TF32", kSgemm, [](Call& c) { c.math_mode = 3; }},
    {"pedantic", kSgemm, [](Call& c) { c.math_mode = 2; }},

    {"batch 3", kBatched, batch_of_3},
    {"batch 3, beta 1", kBatched, [](Call& c) { batch_of_3(c), c.beta = 1; }},
    {"batch 1, strides 1", kBatched, [](Call& c) { c.stride_a = c.stride_b = c.stride_c = 1; }},
    {"batch 0", kBatched, [](Call& c) { batch_of_3(c), c.batch = 0; }},
    {"batch -1", kBatched, [](Call& c) { batch_of_3(c), c.batch = -1; }},
    {"stride of A 0", kBatched, [](Call& c) { batch_of_3(c), c.stride_a = 0; }},
    {"stride of B 0", kBatched, [](Call& c) { batch_of_3(c), c.stride_b = 0; }},
    {"all strides 0", kBatched, [](Call& c) { c.batch = 3; }},
    {"stride of A 1", kBatched, [](Call& c) { batch_of_3(c), c.stride_a = 1; }},
    {"matrices of C beside one another", kBatched,
     [](Call& c) { batch_of_3(c), c.ldc = 192, c.stride_c = 64; }},

    {"GemmEx of f32", kGemmEx, [](Call&) {}},
    {"f16", kGemmEx, of_16_bits},
    {"f16 into f32", kGemmEx, [](Call& c) { of_16_bits(c), c.type_c = kF32; }},
    {"f32 into f16", kGemmEx, [](Call& c) { c.type_c = kF16; }},
    {"A of f16, B of f32", kGemmEx, [](Call& c) { c.type_a = kF16; }},
    {"type 77", kGemmEx, [](Call& c) { c.type_a = 77; }},
    {"fast TF32", kGemmEx, [](Call& c) { c.compute_type = 77; }},
    {"compute type f64", kGemmEx, [](Call& c) { c.compute_type = 70; }},
    {"compute type 5", kGemmEx, [](Call& c) { c.compute_type = 5; }},
    {"pedantic f16", kGemmEx, [](Call& c) { of_16_bits(c), c.compute_type = 69; }},
    {"algorithm 0", kGemmEx, [](Call& c) { c.algorithm = 0; }},
    {"algorithm 99", kGemmEx, [](Call& c) { c.algorithm = 99; }},
    {"algorithm 1000", kGemmEx, [](Call& c) { c.algorithm = 1000; }},
    {"f16, M 0", kGemmEx, [](Call& c) { of_16_bits(c), c.m = 0; }},
    {"f16, lda below M", kGemmEx, [](Call& c) { of_16_bits(c), c.lda = 62; }},

    {"Matmul", kMatmul, [](Call&) {}},
    {"C null, beta 0", kMatmul, [](Call& c) { c.c = kNull; }},
    {"C null, beta 1", kMatmul, [](Call& c) { c.c = kNull, c.beta = 1; }},
    {"C apart", kMatmul, [](Call& c) { c.c = kApart, c.beta = 1; }},
    {"C apart, beta 0", kMatmul, [](Call& c) { c.c = kApart; }},
    {"C apart with another ld", kMatmul, [](Call& c) { c.c = kApart, c.beta = 1, c.ld_of_c = 80; }},
    {"C with another ld, beta 0", kMatmul, [](Call& c) { c.c = kApart, c.ld_of_c = 80; }},
    {"C null with another ld, beta 0", kMatmul, [](Call& c) { c.c = kNull, c.ld_of_c = 80; }},
    {"C's layout null, beta 0", kMatmul, [](Call& c) { c.c = kNull, c.null_layout_c = true; }},
    // cublasLt 13.1 itself crashes where its descriptor, alpha or beta is null, and its kernel
    // where alpha is 0 and A and B are null.
    {"Matmul with handle null", kMatmul, [](Call& c) { c.null_handle = true; }},
    {"Matmul with scalars on the device", kMatmul, [](Call& c) { c.scalars_on_device = true; }},
    {"Matmul with a batch of 3", kMatmul, batch_of_3},
    {"Matmul with a stride of A of 0", kMatmul, [](Call& c) { batch_of_3(c), c.stride_a = 0; }},
    {"a batch of A alone", kMatmul, [](Call& c) { c.batch_of_a = 2; }},
    {"K of A and B apart", kMatmul, [](Call& c) { c.rows_of_b = 24; }},
    {"Matmul with lda below M", kMatmul, [](Call& c) { c.lda = 60; }},
    {"Matmul with ldc below M", kMatmul, [](Call& c) { c.ldc = c.ld_of_c = 60; }},
    {"bias", kMatmul, [](Call& c) { c.epilogue = 4; }},
    {"ReLU", kMatmul, [](Call& c) { c.epilogue = 2, c.beta = 1, c.null_bias = true; }},
    {"ReLU with a bias", kMatmul, [](Call& c) { c.epilogue = 2, c.beta = 1; }},
    {"ReLU of a bias", kMatmul, [](Call& c) { c.epilogue = 6, c.beta = 1; }},
    {"bias, C null", kMatmul, [](Call& c) { c.epilogue = 4, c.c = kNull; }},
    {"bias null", kMatmul, [](Call& c) { c.epilogue = 4, c.null_bias = true; }},
    {"epilogue 3000", kMatmul, [](Call& c) { c.epilogue = 3000; }},
    {"A by rows", kMatmul,
     [](Call& c) {
       c.by_rows = {true, false, false, false};
     }},
    {"B by rows", kMatmul,
     [](Call& c) {
       c.by_rows = {false, true, false, false}, c.ldb = 48;
     }},
    {"all by rows", kMatmul, all_by_rows},
    {"all by rows, beta 1", kMatmul, [](Call& c) { all_by_rows(c), c.beta = 1; }},
    {"all by rows, a batch of 3", kMatmul, [](Call& c) { batch_of_3(c), all_by_rows(c); }},
    {"all by rows, a bias", kMatmul, [](Call& c) { all_by_rows(c), c.epilogue = 4; }},
    {"all by rows, ldc below N", kMatmul, [](Call& c) { all_by_rows(c), c.ldc = c.ld_of_c = 40; }},
    {"C and D by rows", kMatmul,
     [](Call& c) {
       c.by_rows = {false, false, true, true};
     }},
    {"D by rows alone", kMatmul,
     [](Call& c) {
       c.by_rows = {false, false, false, true};
     }},
    {"Matmul of f16", kMatmul, of_16_bits},
    {"Matmul of f16, C null", kMatmul, [](Call& c) { of_16_bits(c), c.c = kNull; }},
    {"Matmul of f16 into f32", kMatmul, [](Call& c) { of_16_bits(c), c.type_c = kF32; }},
    {"Matmul in fast TF32", kMatmul, [](Call& c) { c.compute_type = 77; }},
    {"compute type and scalars of f16", kMatmul,
     [](Call& c) { of_16_bits(c), c.compute_type = 64, c.scale_type = kF16; }},
};

// Small integers, as f32 and as f16: the same values, whatever is read.
struct Matrices {
  DeviceBuffer<float> a{kElements}, b{kElements}, c{kElements}, d{kElements}, scalars{2};
  DeviceBuffer<std::uint16_t> a_16{kElements}, b_16{kElements};
  std::vector<float> before;  // C and D before a call

  Matrices() {
    std::mt19937 random(1);
    const auto fill = [&](DeviceBuffer<float>& wide, DeviceBuffer<std::uint16_t>& narrow) {
      std::vector<float> values(kElements);
      std::vector<std::uint16_t> bits(kElements);
      constexpr std::uint16_t kBits[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};  // -2 to 2
      for (std::size_t i = 0; i < kElements; ++i) {
        const auto value = static_cast<unsigned>(random() % 5);
        values[i] = static_cast<float>(value) - 2;
        bits[i] = kBits[value];
      }
      wide.copy_from_host(values);
      narrow.copy_from_host(bits);
      before = values;
    };
    fill(a, a_16);
    fill(b, b_16);
  }
};

// cublasLt's descriptors of a call.
class LtDescriptors {
 public:
  LtDescriptors(void* library, const Call& c, const void* bias) : library_(library) {
    check(function<int(void**, int, int)>("cublasLtMatmulDescCreate")(&product, c.compute_type,
                                                                      c.scale_type));
    constexpr int kPointerMode = 2, kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBias = 8;
    set_product(kPointerMode, c.scalars_on_device ? 1 : 0);
    set_product(kTransposeA, c.op_a);
    set_product(kTransposeB, c.op_b);
    set_product(kEpilogue, c.epilogue);
    if (c.epilogue != 1) set_product(kBias, bias);
    layouts = {layout(c.type_a, c.m, c.k, c.lda, c.stride_a, c.batch_of_a),
               layout(c.type_b, c.rows_of_b, c.n, c.ldb, c.stride_b, c.batch),
               layout(c.type_c, c.m, c.n, c.ld_of_c, c.stride_c, c.batch),
               layout(c.type_c, c.m, c.n, c.ldc, c.stride_c, c.batch)};
    constexpr int kOrder = 1;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      if (c.by_rows[i]) set_layout(layouts[i], kOrder, std::int32_t{1});
    }
  }
  ~LtDescriptors() {
    function<int(void*)>("cublasLtMatmulDescDestroy")(product);
    for (void* const made : layouts) {
      if (made != nullptr) function<int(void*)>("cublasLtMatrixLayoutDestroy")(made);
    }
  }
  LtDescriptors(const LtDescriptors&) = delete;
  LtDescriptors& operator=(const LtDescriptors&) = delete;

  void* product = nullptr;
  std::array<void*, 4> layouts{};  // of A, B, C, D

 private:
  template <class F>
  F* function(const char* name) const {
    return find_function<F>(library_, name);
  }
  static void check(int status) { Cublas::check(status, "a descriptor of cublasLt"); }
  // cublasLt itself answers a call with a setting that it refuses here.
  template <class T>
  void set_product(int attribute, T value) {
    function<int(void*, int, const void*, std::size_t)>("cublasLtMatmulDescSetAttribute")(
        product, attribute, &value, sizeof value);
  }
  template <class T>
  void set_layout(void* object, int attribute, T value) {
    check(function<int(void*, int, const void*, std::size_t)>("cublasLtMatrixLayoutSetAttribute")(
        object, attribute, &value, sizeof value));
  }
  // Null where cublasLt refuses it.
  void* layout(int type, int rows, int columns, int ld, std::int64_t stride, int batch) {
    void* made = nullptr;
    const int status = function<int(void**, int, std::uint64_t, std::uint64_t, std::int64_t)>(
        "cublasLtMatrixLayoutCreate")(&made, type, static_cast<std::uint64_t>(rows),
                                      static_cast<std::uint64_t>(columns), ld);
    if (status != 0) return nullptr;
    constexpr int kBatchCount = 5, kBatchStride = 6;
    set_layout(made, kBatchCount, std::int32_t{batch});
    set_layout(made, kBatchStride, stride);
    return made;
  }

  void* library_;
};

// The status of a call of the drop-in, else of cuBLAS's own function.
int do_call(const Cublas& cublas, bool by_drop_in, const Call& c, const Matrices& x) {
  const auto function = [&]<class F>(F* drop_in, const char* name) {
    void* const library = c.function == kMatmul ? cublas.lt_library : cublas.library;
    return by_drop_in ? drop_in : find_function<F>(library, name);
  };
  const float* const scalars = x.scalars.data();
  const float* const alpha = c.null_alpha ? nullptr : c.scalars_on_device ? scalars : &c.alpha;
  const float* const beta = c.null_beta ? nullptr : c.scalars_on_device ? scalars + 1 : &c.beta;
  const auto operand = [](bool is_null, int type, const float* wide, const std::uint16_t* narrow) {
    return is_null ? nullptr : type == kF16 ? static_cast<const void*>(narrow) : wide;
  };
  const void* const A = operand(c.null_a, c.type_a, x.a.data(), x.a_16.data());
  const void* const B = operand(c.null_b, c.type_b, x.b.data(), x.b_16.data());
  const auto *a = static_cast<const float*>(A), *b = static_cast<const float*>(B);
  float* const d = x.d.data();
  void* const made_handle = c.function == kMatmul ? cublas.lt : cublas.handle;
  void* const handle = c.null_handle ? nullptr : made_handle;
  switch (c.function) {
    case kSgemm:
      return function(&cublasSgemm_v2, "cublasSgemm_v2")(handle, c.op_a, c.op_b, c.m, c.n, c.k,
                                                         alpha, a, c.lda, b, c.ldb, beta, d, c.ldc);
    case kBatched:
      return function(&cublasSgemmStridedBatched, "cublasSgemmStridedBatched")(
          handle, c.op_a, c.op_b, c.m, c.n, c.k, alpha, a, c.lda, c.stride_a, b, c.ldb, c.stride_b,
          beta, d, c.ldc, c.stride_c, c.batch);
    case kGemmEx:
      return function(&cublasGemmEx, "cublasGemmEx")(
          handle, c.op_a, c.op_b, c.m, c.n, c.k, alpha, A, c.type_a, c.lda, B, c.type_b, c.ldb,
          beta, d, c.type_c, c.ldc, c.compute_type, c.algorithm);
    default:
      break;
  }
  const LtDescriptors opaque(cublas.lt_library, c, c.null_bias ? nullptr : A);
  const void* const C = c.c == kNull ? nullptr : c.c == kApart ? x.c.data() : d;
  return function(&cublasLtMatmul, "cublasLtMatmul")(
      handle, opaque.product, alpha, A, opaque.layouts[0], B, opaque.layouts[1], beta, C,
      c.null_layout_c ? nullptr : opaque.layouts[2], d, opaque.layouts[3], nullptr, nullptr, 0,
      nullptr);
}

// D's bytes; zeros of either type without their signs, which are nobody's promise.
std::vector<std::uint16_t> result_of(const Matrices& x) {
  std::vector<float> values(kElements);
  x.d.copy_to_host(values);
  std::vector<std::uint16_t> words(2 * kElements);
  std::memcpy(words.data(), values.data(), kElements * sizeof(float));
  for (std::uint16_t& word : words) word = word == 0x8000 ? 0 : word;
  return words;
}

nlohmann::json compared(const Cublas& cublas, const Row& row, Matrices& x) {
  Call call;
  call.function = row.function;
  row.change(call);
  cublas.set_math_mode(call.math_mode);
  cublas.set_pointer_mode(call.scalars_on_device ? 1 : 0);
  x.scalars.copy_from_host(std::vector<float>{call.alpha, call.beta});
  std::vector<float> before = x.before;
  if (call.nan_in_c) before.assign(kElements, std::numeric_limits<float>::quiet_NaN());
  std::vector<std::uint16_t> results[2];
  int status[2];
  for (const bool by_drop_in : {false, true}) {
    x.c.copy_from_host(before);
    x.d.copy_from_host(before);
    GT_CUDA(cudaDeviceSynchronize());
    status[by_drop_in] = do_call(cublas, by_drop_in, call, x);
    GT_CUDA(cudaDeviceSynchronize());
    results[by_drop_in] = result_of(x);
  }
  return {{"call", row.text},
          {"cublas", status[0]},
          {"drop_in", status[1]},
          {"same", results[0] == results[1]}};
}

void run() {
  const Cublas cublas;
  Matrices x;
  for (const Row& row : kRows) {
    std::printf("%s\n", compared(cublas, row, x).dump().c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace gemm_tune

int main() {
  try {
    gemm_tune::run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

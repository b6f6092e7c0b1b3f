// SPDX-License-Identifier: Apache-2.0
// random_client CALLS: random column-major calls of the drop-in's functions and of cuBLAS's own, on
// the same operands; compares the results byte for byte, but for the signs of zeros.
//
// Every element is a small integer, so that sums are exact in any order and rounded once. The
// program is linked with the drop-in, and opens cuBLAS as programs do that have it as a plugin.
// Exits with 1 where a status differs, or where the drop-in's result is neither cuBLAS's nor exact:
// cuBLAS itself rounds some 16-bit results twice. Of the first differing calls it says the status
// of both sides, and of each how far it is from the exact result: how many elements are wrong, and
// the first of them.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include "core/types/float16.h"
#include "gpu/cuda_libraries/cublas_types.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/dispatch/preload/clients/opened_cublas.h"
#include "tests/dispatch/preload/fakes/cublas_functions.h"

namespace gemm_tune {
namespace {

constexpr int kLtMatmul = 5;    // the last of do_call()
constexpr int kExplained = 12;  // differing calls; of the others only the number is told
constexpr int kAnyAlgorithm = -1, kFullReduction = 16;

std::size_t bytes_of(int type) { return type == cublas_abi::data_type(ElementType::f32) ? 4 : 2; }

struct Call {
  int function = 0;  // of do_call()
  int op_a = 0, op_b = 0, m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0, batch = 1;
  long long stride_a = 0, stride_b = 0, stride_c = 0;
  int type = 0, type_c = 0;
  float alpha = 1, beta = 0;
  int epilogue = 1;        // of cublasLt: 2 takes ReLU, 4 adds a bias, 6 takes ReLU of that
  std::size_t offset = 0;  // of every address, in elements

  std::string text() const {
    return "function " + std::to_string(function) + ", " + std::to_string(m) + "x" +
           std::to_string(n) + "x" + std::to_string(k) + ", batch " + std::to_string(batch) +
           ", ops " + std::to_string(op_a) + std::to_string(op_b) + ", ld " + std::to_string(lda) +
           "/" + std::to_string(ldb) + "/" + std::to_string(ldc) + ", types " +
           std::to_string(type) + "/" + std::to_string(type_c) + ", offset " +
           std::to_string(offset) + ", epilogue " + std::to_string(epilogue) + ", alpha " +
           std::to_string(alpha) + ", beta " + std::to_string(beta);
  }
};

Call random_call(std::mt19937& random) {
  const auto below = [&](int bound) { return static_cast<int>(random() % unsigned(bound)); };
  Call c;
  c.function = below(kLtMatmul + 1);
  const int ops = c.function == kLtMatmul ? 2 : 3;  // cublasLt has no conjugate of real numbers
  c.op_a = below(ops);
  c.op_b = below(ops);
  const bool even = below(2) == 0;  // sizes that need no predicates
  const auto size = [&](int most) { return even ? 64 * (1 + below(most / 64)) : 1 + below(most); };
  c.m = size(320);
  c.n = size(320);
  c.k = size(192);
  const int gap = even ? 0 : below(5);
  c.lda = (c.op_a == 0 ? c.m : c.k) + gap;
  c.ldb = (c.op_b == 0 ? c.k : c.n) + gap;
  c.ldc = c.m + gap;
  const bool batched = c.function == 1 || c.function >= 4;
  c.batch = batched ? 1 + below(4) : 1;
  c.stride_a = static_cast<long long>(c.lda) * (c.op_a == 0 ? c.k : c.m);
  c.stride_b = static_cast<long long>(c.ldb) * (c.op_b == 0 ? c.n : c.k);
  c.stride_c = static_cast<long long>(c.ldc) * c.n;
  const int epilogues[] = {1, 2, 4, 6};
  if (c.function == kLtMatmul) {
    c.epilogue = epilogues[below(4)];
  } else if (c.function >= 2) {
    const int types[] = {cublas_abi::data_type(ElementType::f32),
                         cublas_abi::data_type(ElementType::f16),
                         cublas_abi::data_type(ElementType::bf16)};
    c.type = types[below(3)];
    c.type_c = below(2) == 0 ? c.type : cublas_abi::data_type(ElementType::f32);
  }
  c.alpha = static_cast<float>(below(4) - 1);
  c.beta = static_cast<float>(below(3) - 1);
  // cuBLAS wants 16-bit matrices at multiples of 4 bytes at least; an odd address may be refused.
  // cublasLt takes addresses for aligned unless it is told otherwise.
  c.offset = even || c.function == kLtMatmul ? 0 : 2 * static_cast<std::size_t>(below(4));
  return c;
}

void put(std::vector<char>& bytes, std::size_t at, int type, std::int64_t value) {
  const auto exact = static_cast<float>(value);
  if (type == cublas_abi::data_type(ElementType::f32)) {
    std::memcpy(bytes.data() + 4 * at, &exact, 4);
  } else {
    const std::uint16_t bits =
        from_float(type == cublas_abi::data_type(ElementType::f16) ? kF16 : kBf16, exact);
    std::memcpy(bytes.data() + 2 * at, &bits, 2);
  }
}

std::vector<char> random_elements(std::size_t count, int type, std::mt19937& random) {
  std::vector<char> bytes(count * bytes_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    put(bytes, i, type, static_cast<int>(random() % 9) - 4);
  }
  return bytes;
}

// The descriptors of a call of cublasLtMatmul, fp32.
class LtDescriptors {
 public:
  LtDescriptors(void* library, const Call& c, const void* bias) : library_(library) {
    Cublas::check(find_function<int(void**, int, int)>(library, "cublasLtMatmulDescCreate")(
                      &product, cublas_abi::kComputeF32, cublas_abi::data_type(ElementType::f32)),
                  "cublasLtMatmulDescCreate");
    set("cublasLtMatmulDescSetAttribute", product, kTransposeA, c.op_a);
    set("cublasLtMatmulDescSetAttribute", product, kTransposeB, c.op_b);
    set("cublasLtMatmulDescSetAttribute", product, kEpilogue, c.epilogue);
    if ((c.epilogue & 4) != 0) set("cublasLtMatmulDescSetAttribute", product, kBiasPointer, bias);
    a = layout(c.op_a == 0 ? c.m : c.k, c.op_a == 0 ? c.k : c.m, c.lda, c.stride_a, c.batch);
    b = layout(c.op_b == 0 ? c.k : c.n, c.op_b == 0 ? c.n : c.k, c.ldb, c.stride_b, c.batch);
    d = layout(c.m, c.n, c.ldc, c.stride_c, c.batch);
  }
  ~LtDescriptors() {
    find_function<int(void*)>(library_, "cublasLtMatmulDescDestroy")(product);
    for (void* const made : {a, b, d}) {
      find_function<int(void*)>(library_, "cublasLtMatrixLayoutDestroy")(made);
    }
  }
  LtDescriptors(const LtDescriptors&) = delete;
  LtDescriptors& operator=(const LtDescriptors&) = delete;

  void *product = nullptr, *a = nullptr, *b = nullptr, *d = nullptr;

 private:
  static constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8;
  static constexpr int kBatchCount = 5, kBatchStride = 6;

  template <class T>
  void set(const char* function, void* object, int attribute, T value) {
    Cublas::check(find_function<int(void*, int, const void*, std::size_t)>(library_, function)(
                      object, attribute, &value, sizeof value),
                  function);
  }
  void* layout(int rows, int columns, int ld, long long stride, int batch) {
    void* made = nullptr;
    Cublas::check(find_function<int(void**, int, std::uint64_t, std::uint64_t, std::int64_t)>(
                      library_, "cublasLtMatrixLayoutCreate")(
                      &made, cublas_abi::data_type(ElementType::f32),
                      static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), ld),
                  "cublasLtMatrixLayoutCreate");
    set("cublasLtMatrixLayoutSetAttribute", made, kBatchCount, std::int32_t{batch});
    set("cublasLtMatrixLayoutSetAttribute", made, kBatchStride, std::int64_t{stride});
    return made;
  }

  void* library_;
};

int matmul(const Cublas& cublas, bool by_drop_in, const Call& c, const float* A, const float* B,
           float* C, cudaStream_t stream) {
  // The bias: the first of A's elements, of which there are M at least.
  const LtDescriptors opaque(cublas.lt_library, c, A);
  auto* const function =
      by_drop_in ? &cublasLtMatmul
                 : find_function<decltype(cublasLtMatmul)>(cublas.lt_library, "cublasLtMatmul");
  return function(cublas.lt, opaque.product, &c.alpha, A, opaque.a, B, opaque.b, &c.beta, C,
                  opaque.d, C, opaque.d, nullptr, nullptr, 0, stream);
}

// by_drop_in: by the functions that the program is linked with, else by cuBLAS's own.
int do_call(const Cublas& cublas, bool by_drop_in, const Call& c, const void* A, const void* B,
            void* C, cudaStream_t stream) {
  const auto function = [&]<class F>(F* drop_in, const char* name) {
    return by_drop_in ? drop_in : find_function<F>(cublas.library, name);
  };
  const auto *a = static_cast<const float*>(A), *b = static_cast<const float*>(B);
  auto* const d = static_cast<float*>(C);
  switch (c.function) {
    case 0:
      return function(&cublasSgemm_v2, "cublasSgemm_v2")(cublas.handle, c.op_a, c.op_b, c.m, c.n,
                                                         c.k, &c.alpha, a, c.lda, b, c.ldb, &c.beta,
                                                         d, c.ldc);
    case 1:
      return function(&cublasSgemmStridedBatched_64, "cublasSgemmStridedBatched_64")(
          cublas.handle, c.op_a, c.op_b, c.m, c.n, c.k, &c.alpha, a, c.lda, c.stride_a, b, c.ldb,
          c.stride_b, &c.beta, d, c.ldc, c.stride_c, c.batch);
    case 2:
      return function(&cublasSgemmEx, "cublasSgemmEx")(cublas.handle, c.op_a, c.op_b, c.m, c.n, c.k,
                                                       &c.alpha, A, c.type, c.lda, B, c.type, c.ldb,
                                                       &c.beta, C, c.type_c, c.ldc);
    case 3:
      return function(&cublasGemmEx_64, "cublasGemmEx_64")(
          cublas.handle, c.op_a, c.op_b, c.m, c.n, c.k, &c.alpha, A, c.type, c.lda, B, c.type,
          c.ldb, &c.beta, C, c.type_c, c.ldc, cublas_abi::kComputeF32, kAnyAlgorithm);
    case kLtMatmul:
      return matmul(cublas, by_drop_in, c, a, b, d, stream);
    default:
      return function(&cublasGemmStridedBatchedEx, "cublasGemmStridedBatchedEx")(
          cublas.handle, c.op_a, c.op_b, c.m, c.n, c.k, &c.alpha, A, c.type, c.lda, c.stride_a, B,
          c.type, c.ldb, c.stride_b, &c.beta, C, c.type_c, c.ldc, c.stride_c, c.batch,
          cublas_abi::kComputeF32, kAnyAlgorithm);
  }
}

// The sign of a zero is nobody's promise.
void drop_signs_of_zeros(std::vector<char>& bytes, int type) {
  const std::size_t size = bytes_of(type);
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    char* const highest = &bytes[i + size - 1];
    const bool is_zero = std::all_of(&bytes[i], highest, [](char byte) { return byte == 0; });
    if (is_zero && *highest == static_cast<char>(0x80)) *highest = 0;
  }
}

// Small integers, whatever the type.
std::int64_t integer_at(const std::vector<char>& bytes, std::size_t at, int type) {
  if (type == cublas_abi::data_type(ElementType::f32)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 4 * at, 4);
    return static_cast<std::int64_t>(value);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data() + 2 * at, 2);
  return static_cast<std::int64_t>(
      to_float(type == cublas_abi::data_type(ElementType::f16) ? kF16 : kBf16, bits));
}

// The operands of a call, and C before it.
struct Operands {
  std::vector<char> a, b, c;
};

// C behind the call, computed in integers and rounded once.
std::vector<char> exact_result(const Call& c, const Operands& x) {
  std::vector<char> result = x.c;
  const auto place = [&](std::int64_t row, std::int64_t column, std::int64_t ld, long long stride,
                         int entry) {
    return c.offset + static_cast<std::size_t>(row + column * ld + stride * entry);
  };
  for (int entry = 0; entry < c.batch; ++entry) {
    for (int j = 0; j < c.n; ++j) {
      for (int i = 0; i < c.m; ++i) {
        std::int64_t sum = 0;
        for (int p = 0; p < c.k; ++p) {
          const std::size_t in_a = c.op_a == 0 ? place(i, p, c.lda, c.stride_a, entry)
                                               : place(p, i, c.lda, c.stride_a, entry);
          const std::size_t in_b = c.op_b == 0 ? place(p, j, c.ldb, c.stride_b, entry)
                                               : place(j, p, c.ldb, c.stride_b, entry);
          sum += integer_at(x.a, in_a, c.type) * integer_at(x.b, in_b, c.type);
        }
        const std::size_t in_c = place(i, j, c.ldc, c.stride_c, entry);
        std::int64_t value = static_cast<std::int64_t>(c.alpha) * sum +
                             static_cast<std::int64_t>(c.beta) * integer_at(x.c, in_c, c.type_c);
        if ((c.epilogue & 4) != 0) {  // the bias lies in A's first elements
          value += integer_at(x.a, c.offset + static_cast<std::size_t>(i), c.type);
        }
        if ((c.epilogue & 2) != 0) value = std::max<std::int64_t>(0, value);
        put(result, in_c, c.type_c, value);
      }
    }
  }
  return result;
}

// How far one side's result is from the exact one.
std::string description(const Call& c, int status, const std::vector<char>& result,
                        const std::vector<char>& exact) {
  const std::size_t size = bytes_of(c.type_c), elements = exact.size() / size;
  std::size_t wrong = 0, first = 0;
  for (std::size_t at = elements; at-- > 0;) {
    if (std::memcmp(&result[at * size], &exact[at * size], size) == 0) continue;
    ++wrong;
    first = at;
  }
  std::string text = "status " + std::to_string(status) + ", " + std::to_string(wrong) + " of " +
                     std::to_string(elements) + " elements wrong";
  if (wrong == 0) return text;
  const auto value = [&](const std::vector<char>& of) {
    float element = 0;
    if (c.type_c == cublas_abi::data_type(ElementType::f32)) {
      std::memcpy(&element, &of[first * size], 4);
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, &of[first * size], 2);
      element = to_float(c.type_c == cublas_abi::data_type(ElementType::f16) ? kF16 : kBf16, bits);
    }
    return std::to_string(element);
  };
  const auto in_matrix = static_cast<long long>(first - std::min(first, c.offset));
  const long long entry = std::min<long long>(in_matrix / c.stride_c, c.batch - 1);
  const long long in_entry = in_matrix - entry * c.stride_c;
  return text + ", first row " + std::to_string(in_entry % c.ldc) + ", column " +
         std::to_string(in_entry / c.ldc) + " of product " + std::to_string(entry) + ": " +
         value(result) + ", exact " + value(exact);
}

enum class Verdict { same, exact, wrong };  // exact: the drop-in's result is, cuBLAS's is not

// says_why: on standard output where the two sides differ.
Verdict compare(const Cublas& cublas, const Call& c, cudaStream_t stream, std::mt19937& random,
                bool says_why) {
  const auto elements = [&](long long stride) {
    return static_cast<std::size_t>(stride) * static_cast<std::size_t>(c.batch) + c.offset;
  };
  Operands x;
  x.a = random_elements(elements(c.stride_a), c.type, random);
  x.b = random_elements(elements(c.stride_b), c.type, random);
  x.c = random_elements(elements(c.stride_c), c.type_c, random);
  DeviceBuffer<char> A(x.a.size()), B(x.b.size()), C(x.c.size());
  A.copy_from_host(x.a);
  B.copy_from_host(x.b);
  std::vector<char> results[2];
  int status[2];
  for (const bool by_drop_in : {false, true}) {
    C.copy_from_host(x.c);
    GT_CUDA(cudaDeviceSynchronize());
    status[by_drop_in] = do_call(cublas, by_drop_in, c, A.data() + c.offset * bytes_of(c.type),
                                 B.data() + c.offset * bytes_of(c.type),
                                 C.data() + c.offset * bytes_of(c.type_c), stream);
    GT_CUDA(cudaStreamSynchronize(stream));
    results[by_drop_in].resize(x.c.size());
    C.copy_to_host(results[by_drop_in]);
    drop_signs_of_zeros(results[by_drop_in], c.type_c);
  }
  if (status[0] == status[1] && results[0] == results[1]) return Verdict::same;
  std::vector<char> exact = exact_result(c, x);
  drop_signs_of_zeros(exact, c.type_c);
  if (says_why) {
    std::printf("differs: %s\n  cuBLAS: %s\n  the drop-in: %s\n", c.text().c_str(),
                description(c, status[0], results[0], exact).c_str(),
                description(c, status[1], results[1], exact).c_str());
  }
  return status[0] == status[1] && results[1] == exact ? Verdict::exact : Verdict::wrong;
}

int run(int calls) {
  const Cublas cublas;
  cublas.set_math_mode(kFullReduction);
  const Stream stream;
  std::mt19937 random(1);
  int exact = 0, wrong = 0;
  for (int i = 0; i < calls; ++i) {
    const cudaStream_t in = i % 2 == 0 ? stream.get() : nullptr;
    cublas.set_stream(in);
    const bool says_why = exact + wrong < kExplained;
    const Verdict verdict = compare(cublas, random_call(random), in, random, says_why);
    exact += verdict == Verdict::exact ? 1 : 0;
    wrong += verdict == Verdict::wrong ? 1 : 0;
  }
  std::printf("%d calls: %d wrong; in %d more cuBLAS's own result is not the exact one\n", calls,
              wrong, exact);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    return gemm_tune::run(std::atoi(argv[1]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

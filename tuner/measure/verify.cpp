// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/verify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "gpu/nvrtc.h"
#include "tuner/measure/device_checks_text.h"

namespace gemm_tune {
namespace {

constexpr std::int64_t kGuardFloats = 1024;  // before and after C
constexpr int kFillThreads = 256;
constexpr int kFillCtas = 4096;
constexpr int kReferenceTile = 32;
constexpr std::int64_t kMaxReferenceGridY = 65535;            // CUDA's limit
constexpr std::size_t kMaxSmallBytes = std::size_t{1} << 29;  // of all small operands together
constexpr std::size_t kLargeBytes = std::size_t{1} << 25;     // from here operands are large
constexpr double kUnitRoundoff = 0x1p-24;                     // fp32, round to nearest
constexpr double kExactLimit = 0x1p24;  // whole numbers up to here are exact in fp32
constexpr int kElementBytes = bytes_of(ElementType::f32);  // of what the families multiply

// The smallest leading dimension for rows of this width whose alignment is exactly so many bytes.
std::int64_t padded(std::int64_t width, int alignment_bytes, int element_bytes) {
  const std::int64_t alignment = alignment_bytes / element_bytes;
  std::int64_t ld = (width + alignment - 1) / alignment * alignment;
  if (alignment_bytes < kWidestAccessBytes && ld % (2 * alignment) == 0) ld += alignment;
  return std::max<std::int64_t>(ld, alignment);
}

// The shape with the matrices of a batch one after another.
GemmCall without_gaps(GemmCall shape) {
  shape.stride_a = rows_a(shape.problem) * shape.lda;
  shape.stride_b = rows_b(shape.problem) * shape.ldb;
  shape.stride_c = shape.problem.M * shape.ldc;
  return shape;
}

// Of operands and reference together.
std::size_t operand_bytes(const GemmCall& shape) {
  const Problem& p = shape.problem;
  const auto bytes = [](const Matrices& matrices, ElementType type) {
    return matrices.size() * static_cast<std::size_t>(bytes_of(type));
  };
  return bytes(matrices_a(shape), p.signature.a) + bytes(matrices_b(shape), p.signature.b) +
         static_cast<std::size_t>(2 * bytes_of(ElementType::f64) * p.batch * p.M * p.N);
}

std::string text_of(const GemmCall& shape) {
  std::string text = to_string(problem_of(shape)) + " with ld " + std::to_string(shape.lda) + ", " +
                     std::to_string(shape.ldb) + ", " + std::to_string(shape.ldc);
  if (shape.problem.batch > 1) {
    text += " and strides " + std::to_string(shape.stride_a) + ", " +
            std::to_string(shape.stride_b) + ", " + std::to_string(shape.stride_c);
  }
  return text;
}

// A stride counts for a batch only, but is divided by in any case.
Matrices matrices(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t stride,
                  std::int64_t batch) {
  const std::int64_t apart = batch > 1 ? stride : rows * ld;
  return {rows, cols, ld, std::max<std::int64_t>(apart, 1), batch, 0};
}

// Where the element of this packed position lies.
std::string place_of(const Problem& p, std::int64_t position) {
  const std::int64_t entry = position / (p.M * p.N), rest = position % (p.M * p.N);
  const std::string of_batch =
      p.batch > 1 ? "entry " + std::to_string(entry) + " of the batch, " : "";
  return of_batch + "row " + std::to_string(rest / p.N) + ", column " + std::to_string(rest % p.N);
}

// Mirrors the struct in device_checks.cuh.
struct CheckResult {
  unsigned long long wrong = 0, touched = 0, first_wrong_inverted = 0;
};

}  // namespace

GemmCall shape_of(const Problem& problem) {
  GemmCall shape = packed_call(problem);
  if (alignment_of(shape) == problem.alignment && problem.K > 0) return shape;
  const auto aligned = [](std::int64_t width, int bytes, ElementType type) {
    return padded(width, bytes, bytes_of(type));
  };
  const Signature& types = problem.signature;
  shape.lda = aligned(shape.lda, problem.alignment.a, types.a);
  shape.ldb = aligned(shape.ldb, problem.alignment.b, types.b);
  shape.ldc = aligned(shape.ldc, problem.alignment.d, types.d);
  return without_gaps(shape);
}

Matrices matrices_a(const GemmCall& shape) {
  const Problem& p = shape.problem;
  return matrices(rows_a(p), row_length_a(p), shape.lda, shape.stride_a, p.batch);
}

Matrices matrices_b(const GemmCall& shape) {
  const Problem& p = shape.problem;
  return matrices(rows_b(p), row_length_b(p), shape.ldb, shape.stride_b, p.batch);
}

Matrices matrices_c(const GemmCall& shape) {
  const Problem& p = shape.problem;
  Matrices c = matrices(p.M, p.N, shape.ldc, shape.stride_c, p.batch);
  c.guard = kGuardFloats;
  return c;
}

int exact_range(std::int64_t K) {
  const double per_term = kExactLimit / static_cast<double>(std::max<std::int64_t>(K, 1));
  return static_cast<int>(std::clamp(std::floor(std::sqrt(per_term)), 1.0, 4.0));
}

double error_bound(std::int64_t K) {
  return std::expm1(static_cast<double>(K + 3) * std::log1p(kUnitRoundoff));
}

std::vector<GemmCall> small_verification_shapes(const KnownConfig& config, int sm_count) {
  const Traits& t = config.traits;
  const int vec = t.vec;
  const auto rounded_up = [](std::int64_t size, std::int64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
  };
  const auto with_gaps = [&](std::int64_t M, std::int64_t N, std::int64_t K,
                             std::int64_t batch = 1) {
    M = rounded_up(M, config.recipe.multiple_m);
    N = rounded_up(N, config.recipe.multiple_n);
    K = rounded_up(K, config.recipe.multiple_k);
    GemmCall shape;
    shape.problem = packed_problem(M, N, K, config.recipe.layout, batch);
    shape.lda = padded(row_length_a(shape.problem) + vec, vec * kElementBytes, kElementBytes);
    shape.ldb = padded(row_length_b(shape.problem) + 2 * vec, vec * kElementBytes, kElementBytes);
    shape.ldc = padded(N + vec, vec * kElementBytes, kElementBytes);
    shape = without_gaps(shape);
    shape.stride_a += vec;
    shape.stride_b += 3 * vec;
    shape.stride_c += 5 * vec;
    shape.problem = problem_of(shape);
    return shape;
  };
  // Shares of K that are not all equally long; of 2 x 2 tiles, each CTA that shares them gets two
  // slices and a half.
  const std::int64_t sharing = std::int64_t{t.tail_ctas_per_sm} * sm_count;
  const std::int64_t slices = std::max<std::int64_t>(
      {3, (32 + t.tile_k - 1) / t.tile_k, t.split_k > 1 ? 2 * t.split_k + 1 : 0, sharing * 5 / 8});
  std::vector<GemmCall> shapes = {with_gaps(2 * t.tile_m, 2 * t.tile_n, slices * t.tile_k)};
  if (t.predicated) {
    shapes.push_back(with_gaps(7, 5, 3));
    shapes.push_back(with_gaps(t.tile_m + 3, 2 * t.tile_n - 1, slices * t.tile_k + 1));
  }
  const int ragged = t.predicated ? 1 : 0;
  // TAIL takes no batches.
  shapes.push_back(with_gaps(std::max(t.tile_m - ragged, 1), 2 * t.tile_n - ragged,
                             slices * t.tile_k - ragged, t.tail_ctas_per_sm > 0 ? 1 : 3));
  return shapes;
}

// Uniform data with both scalings.
Verifier::Case Verifier::random_case(const GemmCall& shape) {
  return {0, 0.75, -0.5, error_bound(shape.problem.K)};
}

Verifier::Kernels Verifier::load_kernels(const std::string& arch) {
  const CompileResult result = nvrtc_compile(
      {"tuner/measure/device_checks.cuh", kDeviceChecksText, {}}, {}, arch, "check_matrices");
  if (!result.ok) throw Error("the verification kernels do not compile: " + result.log);
  return {LoadedKernel(result.cubin, "fill_matrices"), LoadedKernel(result.cubin, "reference_gemm"),
          LoadedKernel(result.cubin, "check_matrices")};
}

Verifier::Verifier(const std::string& arch, cudaStream_t stream, std::uint64_t seed)
    : stream_(stream), seed_(seed), kernels_(load_kernels(arch)) {}

void Verifier::fill(DeviceBuffer<float>& buffer, Matrices matrices, std::uint64_t seed,
                    int integer_range, bool poisoned) {
  float* data = buffer.data();
  int poison = poisoned ? 1 : 0;
  unsigned long long seed_arg = seed;
  void* args[] = {&data, &matrices, &seed_arg, &integer_range, &poison};
  kernels_.fill.launch({kFillCtas}, kFillThreads, 0, stream_, args);
}

void Verifier::make_room(const GemmCall& shape) {
  const bool large = operand_bytes(shape) >= kLargeBytes;
  std::size_t small_bytes = large ? 0 : operand_bytes(shape);
  for (const auto& [key, cached] : operands_) {
    const std::size_t bytes = operand_bytes(key.first);
    if (bytes < kLargeBytes) small_bytes += bytes;
  }
  std::erase_if(operands_, [&](const auto& entry) {
    const GemmCall& other = entry.first.first;
    const bool other_large = operand_bytes(other) >= kLargeBytes;
    return other_large ? large && other != shape : small_bytes > kMaxSmallBytes;
  });
}

const Verifier::Operands& Verifier::operands(const GemmCall& shape, int integer_range) {
  const auto key = std::pair(shape, integer_range);
  if (const auto found = operands_.find(key); found != operands_.end()) return found->second;
  make_room(shape);
  Matrices a = matrices_a(shape), b = matrices_b(shape);
  const Problem& p = shape.problem;
  const auto products = static_cast<std::size_t>(p.batch * p.M * p.N);
  Operands fresh{DeviceBuffer<float>(std::max<std::size_t>(a.size(), 1)),
                 DeviceBuffer<float>(std::max<std::size_t>(b.size(), 1)),
                 DeviceBuffer<double>(products), DeviceBuffer<double>(products)};
  fill(fresh.A, a, seed_ * 3 + 1, integer_range, false);
  fill(fresh.B, b, seed_ * 3 + 2, integer_range, false);

  const float *A = fresh.A.data(), *B = fresh.B.data();
  double *sum = fresh.sum.data(), *magnitude = fresh.magnitude.data();
  int transposed_a = transposes_a(p.layout), transposed_b = transposes_b(p.layout);
  int M = static_cast<int>(p.M), N = static_cast<int>(p.N), K = static_cast<int>(p.K);
  void* args[] = {&A, &a, &transposed_a, &B, &b, &transposed_b, &M, &N, &K, &sum, &magnitude};
  const std::int64_t tiles =
      ((p.M + kReferenceTile - 1) / kReferenceTile) * ((p.N + kReferenceTile - 1) / kReferenceTile);
  kernels_.reference.launch({tiles, std::min(p.batch, kMaxReferenceGridY)},
                            kReferenceTile * kReferenceTile, 0, stream_, args);
  return operands_.emplace(key, std::move(fresh)).first->second;
}

void Verifier::fill_c(const GemmCall& shape, const Case& kind) {
  const Matrices c = matrices_c(shape);
  if (c_.size() < c.size()) {
    c_ = DeviceBuffer<float>();
    c_ = DeviceBuffer<float>(c.size());
  }
  fill(c_, c, seed_ * 3, kind.integer_range, kind.beta == 0);
}

GemmCall Verifier::call_at(const GemmCall& shape, const Case& kind) {
  const Operands& in = operands(shape, kind.integer_range);
  fill_c(shape, kind);
  GemmCall call = shape;
  call.alpha = kind.alpha;
  call.beta = kind.beta;
  call = in_place(call, in.A.data(), in.B.data(), c_.data() + kGuardFloats);
  call.problem = problem_of(call);
  return call;
}

std::optional<std::string> Verifier::check_case(const Gemm& gemm, const GemmCall& shape,
                                                const Case& kind) {
  gemm(call_at(shape, kind));

  const Operands& in = operands(shape, kind.integer_range);
  DeviceBuffer<CheckResult> result(1);
  result.fill_bytes(0, stream_);
  const float* allocation = c_.data();
  const double *sum = in.sum.data(), *magnitude = in.magnitude.data();
  Matrices c = matrices_c(shape);
  double alpha = kind.alpha, beta = kind.beta, tolerance = kind.tolerance;
  unsigned long long c_seed = seed_ * 3;
  int range = kind.integer_range;
  CheckResult* out = result.data();
  void* check_args[] = {&allocation, &c,      &sum,   &magnitude, &alpha,
                        &beta,       &c_seed, &range, &tolerance, &out};
  kernels_.check.launch({kFillCtas}, kFillThreads, 0, stream_, check_args);
  GT_CUDA(cudaStreamSynchronize(stream_));

  CheckResult found;
  result.copy_to_host(std::span(&found, 1));
  const std::string where =
      " at " + text_of(shape) + (kind.tolerance == 0 ? " on whole numbers" : " on random data");
  if (found.touched > 0) {
    return std::to_string(found.touched) + " cells outside C were written" + where;
  }
  if (found.wrong == 0) return std::nullopt;
  const Problem& p = shape.problem;
  return std::to_string(found.wrong) + " of " + std::to_string(p.batch * p.M * p.N) +
         " elements are wrong" + where + ", the first at " +
         place_of(p, static_cast<std::int64_t>(~found.first_wrong_inverted));
}

std::optional<std::string> Verifier::check(const Gemm& gemm, const GemmCall& shape) {
  if (auto wrong = check_case(gemm, shape, {exact_range(shape.problem.K), 1, 0, 0})) return wrong;
  return check_case(gemm, shape, random_case(shape));
}

std::optional<std::string> Verifier::check_repeats(const Gemm& gemm, const GemmCall& shape) {
  const std::size_t size = matrices_c(shape).size();
  std::vector<float> first(size), again(size);
  for (std::vector<float>* result : {&first, &again}) {
    gemm(call_at(shape, random_case(shape)));
    GT_CUDA(cudaStreamSynchronize(stream_));
    c_.copy_to_host(*result);
  }
  if (std::memcmp(first.data(), again.data(), size * sizeof(float)) == 0) return std::nullopt;
  return "two runs on the same operands differ at " + text_of(shape);
}

GemmCall Verifier::timing_call(const GemmCall& shape) { return call_at(shape, {0, 1, 0, 0}); }

}  // namespace gemm_tune

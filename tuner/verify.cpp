#include "tuner/verify.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.h"
#include "gpu/nvrtc.h"
#include "tuner/device_checks_text.h"

namespace gemm_tune {
namespace {

constexpr std::int64_t kGuardFloats = 1024;  // before and after C
constexpr int kFillThreads = 256;
constexpr int kFillCtas = 4096;
constexpr int kReferenceTile = 32;
constexpr std::size_t kMaxSmallBytes = std::size_t{1} << 29;  // of all small operands together
constexpr std::size_t kLargeBytes = std::size_t{1} << 25;     // from here operands are large
constexpr double kUnitRoundoff = 0x1p-24;                     // fp32, round to nearest
constexpr double kExactLimit = 0x1p24;  // whole numbers up to here are exact in fp32

// The largest magnitude of whole numbers such that no partial sum can leave fp32's exact range; 0
// where K is too long even for ones.
int exact_range(std::int64_t K) {
  const double per_term = kExactLimit / static_cast<double>(std::max<std::int64_t>(K, 1));
  return static_cast<int>(std::min(4.0, std::floor(std::sqrt(per_term))));
}

double higham_gamma(std::int64_t K) {
  const double nu = static_cast<double>(K + 3) * kUnitRoundoff;
  return nu / (1 - nu);
}

std::int64_t padded(std::int64_t width, int alignment) {
  // The smallest multiple of the class that is a multiple of nothing wider.
  std::int64_t ld = (width + alignment - 1) / alignment * alignment;
  if (alignment < 4 && ld % (2 * alignment) == 0) ld += alignment;
  return std::max<std::int64_t>(ld, alignment);
}

// Of operands and reference together.
std::size_t operand_bytes(const Shape& shape) {
  return static_cast<std::size_t>(4 * (shape.M * shape.lda + shape.K * shape.ldb) +
                                  16 * shape.M * shape.N);
}

std::string text_of(const Shape& shape) {
  return std::to_string(shape.M) + "x" + std::to_string(shape.N) + "x" + std::to_string(shape.K) +
         " with ld " + std::to_string(shape.lda) + ", " + std::to_string(shape.ldb) + ", " +
         std::to_string(shape.ldc);
}

// Mirrors the struct in device_checks.cuh.
struct CheckResult {
  unsigned long long wrong = 0, touched = 0, first_wrong_inverted = 0;
};

}  // namespace

Shape shape_of(const Problem& problem) {
  Shape shape{problem.M, problem.N, problem.K, problem.K, problem.N, problem.N};
  if (alignment_class(shape.lda, shape.ldb, shape.ldc) == problem.alignment && problem.K > 0) {
    return shape;
  }
  shape.lda = padded(problem.K, problem.alignment);
  shape.ldb = shape.ldc = padded(problem.N, problem.alignment);
  return shape;
}

std::vector<Shape> small_verification_shapes(const KnownConfig& config) {
  const Traits& t = config.traits;
  const int vec = t.vec;
  const auto with_gaps = [vec](std::int64_t M, std::int64_t N, std::int64_t K) {
    return Shape{M, N, K, padded(K + vec, vec), padded(N + 2 * vec, vec), padded(N + vec, vec)};
  };
  const std::int64_t slices = std::max(3, (32 + t.tile_k - 1) / t.tile_k);
  std::vector<Shape> shapes = {with_gaps(2 * t.tile_m, 2 * t.tile_n, slices * t.tile_k)};
  if (t.predicated) {
    shapes.push_back(with_gaps(7, 5, 3));
    shapes.push_back(with_gaps(t.tile_m + 3, 2 * t.tile_n - 1, slices * t.tile_k + 1));
  }
  return shapes;
}

Verifier::Kernels Verifier::load_kernels(const std::string& arch) {
  const CompileResult result =
      nvrtc_compile({"tuner/device_checks.cuh", kDeviceChecksText, {}}, {}, arch, "check_matrix");
  if (!result.ok) throw Error("the verification kernels do not compile: " + result.log);
  return {LoadedKernel(result.cubin, "fill_matrix"), LoadedKernel(result.cubin, "reference_gemm"),
          LoadedKernel(result.cubin, "check_matrix")};
}

Verifier::Verifier(const std::string& arch, cudaStream_t stream, std::uint64_t seed)
    : stream_(stream), seed_(seed), kernels_(load_kernels(arch)) {}

void Verifier::fill(DeviceBuffer<float>& buffer, std::int64_t guard, std::int64_t rows,
                    std::int64_t cols, std::int64_t ld, std::uint64_t seed, int integer_range,
                    bool poisoned) {
  float* data = buffer.data();
  int poison = poisoned ? 1 : 0;
  long long guard_arg = guard, rows_arg = rows, cols_arg = cols, ld_arg = ld;
  unsigned long long seed_arg = seed;
  void* args[] = {&data,   &guard_arg, &rows_arg,      &cols_arg,
                  &ld_arg, &seed_arg,  &integer_range, &poison};
  kernels_.fill.launch(kFillCtas, kFillThreads, 0, stream_, args);
}

void Verifier::make_room(const Shape& shape) {
  const bool large = operand_bytes(shape) >= kLargeBytes;
  std::size_t small_bytes = large ? 0 : operand_bytes(shape);
  for (const auto& [key, cached] : operands_) {
    const std::size_t bytes = operand_bytes(key.first);
    if (bytes < kLargeBytes) small_bytes += bytes;
  }
  std::erase_if(operands_, [&](const auto& entry) {
    const Shape& other = entry.first.first;
    const bool other_large = operand_bytes(other) >= kLargeBytes;
    return other_large ? large && other != shape : small_bytes > kMaxSmallBytes;
  });
}

const Verifier::Operands& Verifier::operands(const Shape& shape, int integer_range) {
  const auto key = std::pair(shape, integer_range);
  if (const auto found = operands_.find(key); found != operands_.end()) return found->second;
  make_room(shape);
  const auto count = [](std::int64_t rows, std::int64_t ld) {
    return static_cast<std::size_t>(std::max<std::int64_t>(rows * ld, 1));
  };
  Operands fresh{DeviceBuffer<float>(count(shape.M, shape.lda)),
                 DeviceBuffer<float>(count(shape.K, shape.ldb)),
                 DeviceBuffer<double>(count(shape.M, shape.N)),
                 DeviceBuffer<double>(count(shape.M, shape.N))};
  fill(fresh.A, 0, shape.M, shape.K, shape.lda, seed_ * 3 + 1, integer_range, false);
  fill(fresh.B, 0, shape.K, shape.N, shape.ldb, seed_ * 3 + 2, integer_range, false);

  const float *A = fresh.A.data(), *B = fresh.B.data();
  double *sum = fresh.sum.data(), *magnitude = fresh.magnitude.data();
  long long lda = shape.lda, ldb = shape.ldb;
  int M = static_cast<int>(shape.M), N = static_cast<int>(shape.N), K = static_cast<int>(shape.K);
  void* args[] = {&A, &lda, &B, &ldb, &M, &N, &K, &sum, &magnitude};
  const std::int64_t tiles = ((shape.M + kReferenceTile - 1) / kReferenceTile) *
                             ((shape.N + kReferenceTile - 1) / kReferenceTile);
  kernels_.reference.launch(tiles, kReferenceTile * kReferenceTile, 0, stream_, args);
  return operands_.emplace(key, std::move(fresh)).first->second;
}

float* Verifier::fresh_c(const Shape& shape, const Case& kind) {
  const auto needed = static_cast<std::size_t>(2 * kGuardFloats + shape.M * shape.ldc);
  if (c_.size() < needed) {
    c_ = DeviceBuffer<float>();
    c_ = DeviceBuffer<float>(needed);
  }
  fill(c_, kGuardFloats, shape.M, shape.N, shape.ldc, seed_ * 3, kind.integer_range,
       kind.beta == 0.0f);
  return c_.data() + kGuardFloats;
}

std::optional<std::string> Verifier::check_case(const Gemm& gemm, const Shape& shape,
                                                const Case& kind) {
  const Operands& in = operands(shape, kind.integer_range);
  GemmArgs args{};
  args.M = static_cast<int>(shape.M);
  args.N = static_cast<int>(shape.N);
  args.K = static_cast<int>(shape.K);
  args.alpha = kind.alpha;
  args.beta = kind.beta;
  args.A = in.A.data();
  args.B = in.B.data();
  args.C = fresh_c(shape, kind);
  args.lda = shape.lda;
  args.ldb = shape.ldb;
  args.ldc = shape.ldc;
  gemm(args);

  DeviceBuffer<CheckResult> result(1);
  result.fill_bytes(0, stream_);
  const float* allocation = c_.data();
  const double *sum = in.sum.data(), *magnitude = in.magnitude.data();
  long long guard = kGuardFloats, rows = shape.M, cols = shape.N, ld = shape.ldc;
  double alpha = kind.alpha, beta = kind.beta, gamma = kind.gamma;
  unsigned long long c_seed = seed_ * 3;
  int range = kind.integer_range;
  CheckResult* out = result.data();
  void* check_args[] = {&allocation, &guard, &rows,   &cols,  &ld,    &sum, &magnitude,
                        &alpha,      &beta,  &c_seed, &range, &gamma, &out};
  kernels_.check.launch(kFillCtas, kFillThreads, 0, stream_, check_args);
  GT_CUDA(cudaStreamSynchronize(stream_));

  CheckResult found;
  result.copy_to_host(std::span(&found, 1));
  const std::string where =
      " at " + text_of(shape) + (kind.gamma == 0 ? " on whole numbers" : " on random data");
  if (found.touched > 0) {
    return std::to_string(found.touched) + " cells outside C were written" + where;
  }
  if (found.wrong == 0) return std::nullopt;
  const auto N = static_cast<unsigned long long>(shape.N);
  const unsigned long long first = ~found.first_wrong_inverted;
  return std::to_string(found.wrong) + " of " + std::to_string(shape.M * shape.N) +
         " elements are wrong" + where + ", the first at row " + std::to_string(first / N) +
         ", column " + std::to_string(first % N);
}

std::optional<std::string> Verifier::check(const Gemm& gemm, const Shape& shape) {
  if (const int range = exact_range(shape.K); range > 0) {
    if (auto wrong = check_case(gemm, shape, {range, 1.0f, 0.0f, 0.0})) return wrong;
  }
  return check_case(gemm, shape, {0, 0.75f, -0.5f, higham_gamma(shape.K)});
}

GemmArgs Verifier::timing_args(const Shape& shape) {
  const Operands& in = operands(shape, 0);
  GemmArgs args{};
  args.M = static_cast<int>(shape.M);
  args.N = static_cast<int>(shape.N);
  args.K = static_cast<int>(shape.K);
  args.alpha = 1.0f;
  args.beta = 0.0f;
  args.A = in.A.data();
  args.B = in.B.data();
  args.C = fresh_c(shape, {0, 1.0f, 0.0f, 0.0});
  args.lda = shape.lda;
  args.ldb = shape.ldb;
  args.ldc = shape.ldc;
  return args;
}

}  // namespace gemm_tune

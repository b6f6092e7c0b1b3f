// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/verify.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "core/error.h"
#include "core/types/error_bound.h"
#include "gpu/compile/nvrtc.h"
#include "kernel_templates/source/embedded_texts.h"
#include "kernel_templates/source/source.h"
#include "tuner/measure/device_checks_text.h"
#include "tuner/measure/kept_operands.h"
#include "tuner/measure/matrix_addresses.h"

namespace gemm_tune {
namespace {

constexpr int kFillThreads = 256;
constexpr int kFillCtas = 4096;
constexpr int kSquaresCtas = 128;  // few, since the host adds up what each thread finds
constexpr int kReferenceTile = 32;
constexpr std::int64_t kMaxReferenceGridY = 65535;  // CUDA's limit

// Of operands and reference together.
std::size_t operand_bytes(const GemmCall& shape) {
  const Problem& p = shape.problem;
  return matrices_a(shape).bytes() + matrices_b(shape).bytes() +
         static_cast<std::size_t>(2 * bytes_of(kReferenceType) * p.batch * p.M * p.N);
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

std::uint64_t seed_of_operands(std::uint64_t run_seed, int integer_range) {
  constexpr std::uint64_t kOfRandomOperands = 1;
  return integer_range > 0 ? run_seed : kOfRandomOperands;
}

NvrtcSource device_checks_source() {
  NvrtcSource source{"tuner/measure/device_checks.cuh", kDeviceChecksText, {}};
  source.headers.emplace_back("core/types/error_bound.cuh", kErrorBoundText);
  source.headers.emplace_back("tuner/measure/element_bits.cuh", kElementBitsText);
  source.headers.emplace_back("tuner/measure/epilogue_check.cuh", kEpilogueCheckText);
  for (const auto& [path, text] : embedded_texts()) {
    if (path.starts_with("kernel_templates/device/")) source.headers.emplace_back(path, text);
  }
  return source;
}

Verifier::Kernels Verifier::load_kernels(const Epilogue& epilogue) const {
  const CompileResult result = nvrtc_compile(device_checks_source(), epilogue_definitions(epilogue),
                                             arch_, "check_matrices");
  if (!result.ok) throw Error("the verification kernels do not compile: " + result.log);
  return {LoadedKernel(result.cubin, "fill_matrices"), LoadedKernel(result.cubin, "reference_gemm"),
          LoadedKernel(result.cubin, "check_matrices"), LoadedKernel(result.cubin, "sum_squares")};
}

Verifier::Verifier(const DeviceSpec& device, cudaStream_t stream, std::uint64_t seed)
    : arch_(device.arch),
      sm_(device.sm()),
      memory_bytes_(static_cast<std::size_t>(device.memory_bytes)),
      stream_(stream),
      seed_(seed) {
  kernels();
}

const Verifier::Kernels& Verifier::kernels(const Epilogue& epilogue) {
  const auto known = kernels_.find(epilogue);
  if (known != kernels_.end()) return known->second;
  return kernels_.emplace(epilogue, load_kernels(epilogue)).first->second;
}

void Verifier::fill(DeviceBuffer<char>& buffer, Matrices matrices, std::uint64_t seed,
                    int integer_range, bool poisoned) {
  void* data = buffer.data();
  int poison = poisoned ? 1 : 0;
  unsigned long long seed_arg = seed;
  void* args[] = {&data, &matrices, &seed_arg, &integer_range, &poison};
  kernels().fill.launch({kFillCtas}, kFillThreads, 0, stream_, args);
}

void Verifier::make_room_for(const GemmCall& shape) {
  std::vector<KeptOperands> kept;
  for (const auto& [key, operands] : operands_) {
    kept.push_back({operand_bytes(key.first), operands.last_use, key.first == shape});
  }
  const std::vector<bool> goes = make_room(kept, operand_bytes(shape), memory_bytes_);
  std::size_t i = 0;
  std::erase_if(operands_, [&](const auto&) { return goes[i++]; });
}

const Verifier::Operands& Verifier::operands(const GemmCall& shape, int integer_range) {
  const auto key = std::pair(shape, integer_range);
  if (const auto found = operands_.find(key); found != operands_.end()) {
    found->second.last_use = ++uses_;
    return found->second;
  }
  make_room_for(shape);
  Matrices a = matrices_a(shape), b = matrices_b(shape);
  const Problem& p = shape.problem;
  const auto products = static_cast<std::size_t>(p.batch * p.M * p.N);
  Operands fresh{DeviceBuffer<char>(std::max<std::size_t>(a.bytes(), 1)),
                 DeviceBuffer<char>(std::max<std::size_t>(b.bytes(), 1)),
                 DeviceBuffer<double>(products), DeviceBuffer<double>(products), ++uses_};
  const std::uint64_t seed = seed_of_operands(seed_, integer_range);
  fill(fresh.A, a, seed * 3 + 1, integer_range, false);
  fill(fresh.B, b, seed * 3 + 2, integer_range, false);

  const void *A = fresh.A.data(), *B = fresh.B.data();
  double *sum = fresh.sum.data(), *magnitude = fresh.magnitude.data();
  int transposed_a = transposes_a(p.layout), transposed_b = transposes_b(p.layout);
  int M = static_cast<int>(p.M), N = static_cast<int>(p.N), K = static_cast<int>(p.K);
  void* args[] = {&A, &a, &transposed_a, &B, &b, &transposed_b, &M, &N, &K, &sum, &magnitude};
  const std::int64_t tiles =
      ((p.M + kReferenceTile - 1) / kReferenceTile) * ((p.N + kReferenceTile - 1) / kReferenceTile);
  kernels().reference.launch({tiles, std::min(p.batch, kMaxReferenceGridY)},
                             kReferenceTile * kReferenceTile, 0, stream_, args);
  return operands_.emplace(key, std::move(fresh)).first->second;
}

void Verifier::fill_c(const GemmCall& shape, const Case& kind) {
  const Matrices c = matrices_c(shape);
  if (c_.size() < c.bytes()) {
    c_ = DeviceBuffer<char>();
    c_ = DeviceBuffer<char>(c.bytes());
  }
  fill(c_, c, seed_ * 3, kind.integer_range, kind.beta == 0);
}

void Verifier::fill_epilogue(GemmCall& call, const Case& kind) {
  const Problem& p = call.problem;
  const auto line = [](std::int64_t length, ElementType type) {
    return matrices(1, length, length, length, 1, type);
  };
  p.epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
    if (slot < 0) return;
    const auto i = static_cast<std::size_t>(slot);
    const ElementType type = is_f32(functor) ? kSumType : p.signature.d;
    const bool of_rows =
        functor.operand == OperandShape::row_f32 || functor.operand == OperandShape::row_d;
    const std::int64_t length = functor.operand == OperandShape::scalar_f32 ? 1
                                : of_rows                                   ? p.M
                                                                            : p.N;
    const Matrices stored = lies_as_d(functor) ? matrices_c(call) : line(length, type);
    DeviceBuffer<char>& buffer = epilogue_buffers_[i];
    if (buffer.size() < stored.bytes()) {
      buffer = DeviceBuffer<char>();
      buffer = DeviceBuffer<char>(stored.bytes());
    }
    // Factors of 1 at most, so that whole numbers stay within fp32's exact ones.
    const int range = is_f32(functor) ? std::min(kind.integer_range, 1) : kind.integer_range;
    fill(buffer, stored, seed_ * 3 + 4 + i, range, functor.operand == OperandShape::output_d);
    call.operands[i] = buffer.data() + stored.guard * bytes_of(type);
  });
}

CheckedOperands Verifier::checked_operands() const {
  CheckedOperands operands{};
  for (std::size_t i = 0; i < std::size(operands.at); ++i) {
    operands.at[i] = epilogue_buffers_[i].data();
  }
  return operands;
}

GemmCall Verifier::call_at(const GemmCall& shape, const Case& kind) {
  const Operands& in = operands(shape, kind.integer_range);
  fill_c(shape, kind);
  GemmCall call = shape;
  call.alpha = kind.alpha;
  call.beta = kind.beta;
  const std::int64_t guard_bytes = matrices_c(shape).guard * bytes_of(shape.problem.signature.d);
  call = in_place(call, in.A.data(), in.B.data(), c_.data() + guard_bytes);
  fill_epilogue(call, kind);
  call.problem = problem_of(call);
  return with_addresses(call);
}

GemmCall Verifier::with_addresses(const GemmCall& call) {
  const std::size_t bytes = address_bytes(call.problem);
  if (bytes == 0) return call;
  GT_CUDA(cudaStreamSynchronize(stream_));  // which may read those of an earlier call
  if (addresses_.size() < bytes) {
    addresses_ = DeviceBuffer<char>();
    addresses_ = DeviceBuffer<char>(bytes);
  }
  return pointing(call, addresses_.data());
}

std::optional<std::string> Verifier::check_case(const Gemm& gemm, const GemmCall& shape,
                                                const Case& kind) {
  gemm(call_at(shape, kind));

  const Operands& in = operands(shape, kind.integer_range);
  DeviceBuffer<CheckResult> result(1);
  result.fill_bytes(0, stream_);
  const void* allocation = c_.data();
  const double *sum = in.sum.data(), *magnitude = in.magnitude.data();
  Matrices c = matrices_c(shape);
  const Problem& p = shape.problem;
  ErrorBound bound = error_bound(p.signature, p.K, sm_);
  double alpha = kind.alpha, beta = kind.beta;
  unsigned long long c_seed = seed_ * 3;
  int range = kind.integer_range;
  int keeps_whole_numbers = p.epilogue.keeps_whole_numbers() ? 1 : 0;
  CheckedOperands checked = checked_operands();
  CheckResult* out = result.data();
  void* check_args[] = {&allocation, &c,      &sum,   &magnitude,           &alpha,
                        &beta,       &c_seed, &range, &keeps_whole_numbers, &bound,
                        &checked,    &out};
  kernels(p.epilogue).check.launch({kFillCtas}, kFillThreads, 0, stream_, check_args);
  GT_CUDA(cudaStreamSynchronize(stream_));

  CheckResult found;
  result.copy_to_host(std::span(&found, 1));
  const std::string where =
      " at " + text_of(shape) + (range > 0 ? " on whole numbers" : " on random data");
  if (found.touched > 0) {
    return std::to_string(found.touched) + " cells outside C were written" + where;
  }
  if (found.wrong == 0) return std::nullopt;
  return std::to_string(found.wrong) + " of " + std::to_string(p.batch * p.M * p.N) +
         " elements are wrong" + where + ", the first at " +
         place_of(p, static_cast<std::int64_t>(~found.first_wrong_inverted));
}

std::optional<std::string> Verifier::check(const Gemm& gemm, const GemmCall& shape) {
  const Problem& p = shape.problem;
  if (auto wrong = check_case(gemm, shape, {exact_range(p.K, p.signature.d), 1, 0})) return wrong;
  return check_case(gemm, shape, kRandom);
}

std::optional<double> Verifier::relative_error(const Gemm& gemm, const GemmCall& shape) {
  gemm(timing_call(shape));
  constexpr std::size_t kThreads = std::size_t{kSquaresCtas} * kFillThreads;
  DeviceBuffer<double> squares(2 * kThreads);
  const void* allocation = c_.data();
  const double* sum = operands(shape, 0).sum.data();
  Matrices c = matrices_c(shape);
  double* out = squares.data();
  CheckedOperands checked = checked_operands();
  void* args[] = {&allocation, &c, &sum, &checked, &out};
  kernels(shape.problem.epilogue).squares.launch({kSquaresCtas}, kFillThreads, 0, stream_, args);
  GT_CUDA(cudaStreamSynchronize(stream_));
  std::vector<double> parts(squares.size());
  squares.copy_to_host(parts);
  const auto half = parts.begin() + static_cast<std::ptrdiff_t>(kThreads);
  const double off = std::accumulate(parts.begin(), half, 0.0),
               all = std::accumulate(half, parts.end(), 0.0);
  const double error = off == 0 ? 0 : std::sqrt(off / all);
  return std::isfinite(error) ? std::optional(error) : std::nullopt;
}

std::optional<std::string> Verifier::check_repeats(const Gemm& gemm, const GemmCall& shape) {
  const std::size_t bytes = matrices_c(shape).bytes();
  std::vector<char> first(bytes), again(bytes);
  for (std::vector<char>* result : {&first, &again}) {
    gemm(call_at(shape, kRandom));
    GT_CUDA(cudaStreamSynchronize(stream_));
    c_.copy_to_host(*result);
  }
  if (first == again) return std::nullopt;
  return "two runs on the same operands differ at " + text_of(shape);
}

GemmCall Verifier::timing_call(const GemmCall& shape) { return call_at(shape, {0, 1, 0}); }

}  // namespace gemm_tune

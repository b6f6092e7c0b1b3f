// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/emulated_kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/error_bound.h"
#include "core/float16.h"
#include "kernel_templates/launch_args.h"
#include "tests/emulator/matrix.h"

namespace gemm_tune::emulator {
namespace {

constexpr unsigned kQuietNanBits = 0x7fc00000;
constexpr unsigned kSentinelBits = 0xdeadbeef;
constexpr int kResidentCtas = 3;  // where they share tiles
constexpr int kResidentClusters = 2;
constexpr int kLargestExactLd = 1 << 20;  // beyond, matrices are sparse

int cluster_ctas(const KnownConfig& config) {
  return config.recipe.cluster ? config.recipe.split_k : 1;
}

int resident_ctas(const KnownConfig& config) {
  if (config.recipe.cluster) return kResidentClusters * cluster_ctas(config);
  return shares_tiles(config) ? kResidentCtas : 1;
}

// Calls visit(matrix, row, col) for each element of each matrix, in order.
template <class Visit>
void for_each_element(const MatrixView& m, Visit visit) {
  for (int b = 0; b < m.batch; ++b) {
    const MatrixView entry = m.entry(b);
    for (int row = 0; row < m.rows; ++row) {
      for (int col = 0; col < m.cols; ++col) visit(entry, row, col);
    }
  }
}

void fill(const MatrixView& m, bool with_nan, Values values, std::mt19937& random) {
  for_each_element(m, [&](const MatrixView& entry, int row, int col) {
    const auto bits = static_cast<std::int32_t>(random());
    float value = static_cast<float>(bits) * 0x1p-31f;
    if (values == Values::integers) value = static_cast<float>(bits % 9);
    entry.set(row, col, with_nan ? std::numeric_limits<float>::quiet_NaN() : value);
  });
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

std::vector<float> elements(const MatrixView& m) {
  std::vector<float> all;
  for_each_element(
      m, [&](const MatrixView& entry, int row, int col) { all.push_back(entry.get(row, col)); });
  return all;
}

// A matrix as a call stores it.
MatrixView stored(std::int64_t rows, std::int64_t row_length, std::int64_t ld, std::int64_t batch,
                  std::int64_t stride, ElementType type) {
  return {nullptr, static_cast<int>(rows),  static_cast<int>(row_length),
          ld,      static_cast<int>(batch), stride,
          type};
}

MatrixView shape_a(const GemmCall& call) {
  const Problem& p = call.problem;
  return stored(rows_a(p), row_length_a(p), call.lda, p.batch, call.stride_a, p.signature.a);
}

MatrixView shape_b(const GemmCall& call) {
  const Problem& p = call.problem;
  return stored(rows_b(p), row_length_b(p), call.ldb, p.batch, call.stride_b, p.signature.b);
}

MatrixView shape_c(const GemmCall& call) {
  const Problem& p = call.problem;
  return stored(p.M, p.N, call.ldc, p.batch, call.stride_c, p.signature.d);
}

MatrixView shape_of(const RepackedOperand& copy, const GemmCall& call) {
  return stored(copy.rows, copy.ld, copy.ld, 1, 0, call.problem.signature.a);
}

MatrixView shape_bias(const GemmCall& call) {
  const Problem& p = call.problem;
  return stored(1, p.N, p.N, 1, 0, p.signature.d);
}

}  // namespace

struct EmulatedKernel::Operands {
  MatrixView A, B, C, D, bias;
};

// Exactly what the recipe asks for, counters and partial sums apart, so that neither can be taken
// for the other.
struct EmulatedKernel::Workspace {
  explicit Workspace(std::int64_t partial_bytes)
      : counters({nullptr, 1, static_cast<int>(kWorkspaceCounters), kWorkspaceCounters}, 4, 0),
        partials({nullptr, 1, static_cast<int>(partial_bytes / 4), partial_bytes / 4}, 4,
                 kQuietNanBits) {}

  ExactMatrix counters, partials;
};

namespace {

struct Reference {
  double value, bound;
};

// The value as D holds it, where fp32 holds it.
double rounded_to(ElementType type, double value) {
  if (type == ElementType::f32) return value;
  const Float16Format format = type == ElementType::f16 ? kF16 : kBf16;
  return to_float(format, from_float(format, static_cast<float>(value)));
}

// One of op(A)'s rows, or op(B)'s columns, after the other, so that the K values of each lie
// together: a test spends most of its time in the sums over them.
std::vector<double> along_k(const MatrixView& m, bool rows_are_k, int lines, int K) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(lines) * static_cast<std::size_t>(K));
  for (int line = 0; line < lines; ++line) {
    for (int k = 0; k < K; ++k) values.push_back(rows_are_k ? m.get(k, line) : m.get(line, k));
  }
  return values;
}

// a, b: the K values of op(A)'s row and op(B)'s column; empty where alpha is 0.
Reference reference(const Case& c, const ErrorBound& bound, std::span<const double> a,
                    std::span<const double> b, float old, float bias) {
  const double alpha = c.call.alpha, beta = c.call.beta;
  const bool is_exact = c.values == Values::integers;
  double sum = 0, magnitude = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum += a[k] * b[k];
    if (!is_exact) magnitude += std::abs(a[k] * b[k]);
  }
  const double kept = beta == 0 ? 0 : beta * double{old};
  const Epilogue epilogue = c.call.epilogue;
  const double added = epilogue == Epilogue::none ? 0 : bias;
  double value = alpha * sum + kept + added;
  if (epilogue == Epilogue::bias_relu) value = std::max(value, 0.0);
  const ElementType type = c.call.problem.signature.d;
  if (is_exact) return {rounded_to(type, value), 0};
  return {value, bound.at(std::abs(value),
                          std::abs(alpha) * magnitude + std::abs(kept) + std::abs(added))};
}

// before: all elements of C; after: of D.
std::optional<std::string> find_wrong_element(const Case& c, const ErrorBound& bound,
                                              const MatrixView& A, const MatrixView& B,
                                              const MatrixView& bias,
                                              const std::vector<float>& before,
                                              const std::vector<float>& after) {
  const Problem& p = c.call.problem;
  const int M = static_cast<int>(p.M), N = static_cast<int>(p.N);
  const int K = c.call.alpha == 0 ? 0 : static_cast<int>(p.K);
  std::size_t i = 0;
  for (int entry = 0; entry < p.batch; ++entry) {
    const std::vector<double> a = along_k(A.entry(entry), transposes_a(p.layout), M, K);
    const std::vector<double> b = along_k(B.entry(entry), !transposes_b(p.layout), N, K);
    const auto line = [K](const std::vector<double>& all, int number) {
      const auto length = static_cast<std::size_t>(K);
      return std::span(all).subspan(static_cast<std::size_t>(number) * length, length);
    };
    for (int row = 0; row < M; ++row) {
      for (int col = 0; col < N; ++col, ++i) {
        const Reference want =
            reference(c, bound, line(a, row), line(b, col), before[i], bias.get(0, col));
        if (std::abs(after[i] - want.value) <= want.bound) continue;
        return "D[" + std::to_string(row) + "][" + std::to_string(col) + "] of matrix " +
               std::to_string(entry) + " is " + std::to_string(after[i]) + " where " +
               std::to_string(want.value) + " is right (within " + std::to_string(want.bound) + ")";
      }
    }
  }
  return std::nullopt;
}

bool all_zero(const MatrixView& counters) {
  bool zero = true;
  for_each_element(counters, [&](const MatrixView& entry, int row, int col) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, entry.address(row, col), sizeof(bits));
    zero = zero && bits == 0;
  });
  return zero;
}

}  // namespace

void EmulatedKernel::CloseObject::operator()(void* object) const { dlclose(object); }

EmulatedKernel::EmulatedKernel(const std::filesystem::path& object, const std::string& config)
    : config_(check_config(parse_config(config))),
      object_(dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL)),
      emulator_(config_.recipe.block_threads, config_.recipe.smem_bytes, resident_ctas(config_)),
      repack_emulator_(kRepackThreads, 0),
      reduce_emulator_(kReduceThreads, 0) {
  if (object_ != nullptr) {
    thread_ = reinterpret_cast<ThreadFunction*>(dlsym(object_.get(), kThreadFunctionName));
    repack_thread_ =
        reinterpret_cast<RepackThreadFunction*>(dlsym(object_.get(), kRepackThreadFunctionName));
    reduce_thread_ =
        reinterpret_cast<ThreadFunction*>(dlsym(object_.get(), kReduceThreadFunctionName));
  }
  if (thread_ == nullptr || (config_.recipe.repack && repack_thread_ == nullptr) ||
      (config_.recipe.reduce && reduce_thread_ == nullptr))
    throw Error(std::string("cannot load the kernel object: ") + dlerror());
  in_place_only_ = dlsym(object_.get(), kInPlaceOnlyName) != nullptr;
  const auto* const epilogue = static_cast<const int*>(dlsym(object_.get(), kEpilogueName));
  if (epilogue != nullptr) epilogue_ = *epilogue == 1 ? Epilogue::bias : Epilogue::bias_relu;
}

std::optional<EmulatedKernel::Workspace> EmulatedKernel::workspace_of(
    const Problem& problem) const {
  const std::int64_t bytes = sums_bytes(config_.recipe, launch_problem(problem), kSmCount);
  if (bytes == 0) return std::nullopt;
  return std::optional<Workspace>(std::in_place, bytes - kWorkspaceCounterBytes);
}

void EmulatedKernel::launch(const GemmCall& call, const TensorCore& core, Order order,
                            unsigned order_seed, std::optional<Workspace>& workspace) {
  const Launch launch{grid_of(config_.recipe, call.problem, kSmCount), order, order_seed,
                      cluster_ctas(config_), core};
  int* counters = nullptr;
  float* partials = nullptr;
  if (workspace) {
    counters = reinterpret_cast<int*>(workspace->counters.view().data);
    partials = reinterpret_cast<float*>(workspace->partials.view().data);
  }
  const RepackedOperands copies =
      repacked_operands(config_.recipe, launch_problem(problem_of(call)), kSmCount);
  const ExactMatrix a(shape_of(copies.a, call), kWidestAccessBytes, kQuietNanBits);
  const ExactMatrix b(shape_of(copies.b, call), kWidestAccessBytes, kQuietNanBits);
  const bool is_copied = call.alpha != 0 && (copies.a.exists() || copies.b.exists());
  if (is_copied) {
    const RepackArgs args = repack_args(call, copies, a.view().data, b.view().data);
    repack_emulator_.run({repack_grid(args), order, order_seed},
                         [&](Cta& cta, const GemmArgs&) { repack_thread_(cta, args); }, {});
  }
  const GemmCall aligned = is_copied ? on_copies(call, copies, a.view().data, b.view().data) : call;
  const GemmArgs args = launch_args(aligned, launch.grid, counters, partials);
  emulator_.run(launch, thread_, args);
  const Grid after = reduce_grid(config_.recipe, launch_problem(problem_of(call)), kSmCount);
  if (after.ctas() > 0) reduce_emulator_.run({after, order, order_seed}, reduce_thread_, args);
}

void EmulatedKernel::run(const GemmCall& call, const TensorCore& core) {
  std::optional<Workspace> workspace = workspace_of(call.problem);
  launch(call, core, Order::forward, 1, workspace);
}

std::optional<std::string> EmulatedKernel::check_once(const Case& c, const Operands& operands,
                                                      Order order, const std::vector<float>& known,
                                                      std::vector<float>& result) {
  const bool reads_ab = c.call.alpha != 0, reads_c = c.call.beta != 0;
  std::mt19937 random(c.seed);
  fill(operands.A, !reads_ab, c.values, random);
  fill(operands.B, !reads_ab, c.values, random);
  if (!c.in_place) fill(operands.D, true, c.values, random);
  fill(operands.C, !reads_c, c.values, random);
  const std::vector<float> before = elements(operands.C);
  fill(operands.bias, false, c.values, random);
  std::optional<Workspace> workspace = workspace_of(c.call.problem);
  GemmCall call = in_place(c.call, operands.A.data, operands.B.data, operands.D.data);
  call.C = operands.C.data;
  call.bias = operands.bias.data;
  launch(call, tensor_core_of(c.sm), order, c.seed, workspace);
  result = elements(operands.D);
  const ErrorBound bound = error_bound(c.call.problem.signature, c.call.problem.K, c.sm);
  if (!same_bits(result, known)) {
    if (auto wrong =
            find_wrong_element(c, bound, operands.A, operands.B, operands.bias, before, result)) {
      return wrong;
    }
  }
  if (!c.in_place && !same_bits(elements(operands.C), before)) return "the kernel overwrote C";
  if (!workspace) return std::nullopt;
  if (!all_zero(workspace->counters.view())) return "the kernel left a counter that is not zero";
  for (ExactMatrix* part : {&workspace->counters, &workspace->partials}) {
    if (const auto where = part->find_overwritten_padding()) {
      return "the kernel overwrote the workspace's " + *where;
    }
  }
  return std::nullopt;
}

std::optional<std::string> EmulatedKernel::check_on(const Case& c, const Operands& operands) {
  if (const auto reason = why_illegal(config_.recipe, problem_of(c.call))) return reason;
  std::vector<float> result, first;
  if (!shares_tiles(config_)) return check_once(c, operands, c.order, first, result);
  for (const Order order : {Order::forward, Order::reversed, Order::shuffled}) {
    if (auto wrong = check_once(c, operands, order, first, result)) {
      return *wrong + ", CTAs " + to_string(order);
    }
    if (first.empty()) first = result;
    if (!first.empty() && !same_bits(first, result)) {
      return std::string("D is not bitwise the same with CTAs ") + to_string(order) +
             " as with CTAs forward";
    }
  }
  return std::nullopt;
}

std::optional<std::string> EmulatedKernel::check(const Case& any_case) {
  Case c = any_case;
  c.in_place = c.in_place || in_place_only_;
  c.call.epilogue = epilogue_;
  const GemmCall& call = c.call;
  const ExactMatrix bias(shape_bias(call), 1, kQuietNanBits);
  if (std::max({call.lda, call.ldb, call.ldc, call.stride_a, call.stride_b, call.stride_c}) >
      kLargestExactLd) {
    const SparseMatrix A(shape_a(call)), B(shape_b(call)), C(shape_c(call)), D(shape_c(call));
    return check_on(c,
                    {A.view(), B.view(), C.view(), c.in_place ? C.view() : D.view(), bias.view()});
  }
  const OperandAlignments aligned = operand_alignments(config_);
  ExactMatrix A(shape_a(call), aligned.a, kQuietNanBits);
  ExactMatrix B(shape_b(call), aligned.b, kQuietNanBits);
  ExactMatrix C(shape_c(call), aligned.c, kSentinelBits);
  ExactMatrix D(shape_c(call), aligned.c, kSentinelBits);
  const MatrixView& result = c.in_place ? C.view() : D.view();
  if (const auto wrong = check_on(c, {A.view(), B.view(), C.view(), result, bias.view()}))
    return wrong;
  if (const auto where = C.find_overwritten_padding()) return "the kernel overwrote C: " + *where;
  if (const auto where = D.find_overwritten_padding()) return "the kernel overwrote D: " + *where;
  return std::nullopt;
}

}  // namespace gemm_tune::emulator

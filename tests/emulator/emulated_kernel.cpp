// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/emulated_kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/error.h"
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

// Calls visit(element) for each element of each matrix, in order.
template <class Visit>
void for_each_element(const MatrixView& m, Visit visit) {
  for (int b = 0; b < m.batch; ++b) {
    for (int row = 0; row < m.rows; ++row) {
      for (int col = 0; col < m.cols; ++col) visit(m.entry(b).at(row, col));
    }
  }
}

void fill(const MatrixView& m, bool with_nan, Values values, std::mt19937& random) {
  for_each_element(m, [&](float& element) {
    const auto bits = static_cast<std::int32_t>(random());
    float value = static_cast<float>(bits) * 0x1p-31f;
    if (values == Values::integers) value = static_cast<float>(bits % 9);
    element = with_nan ? std::numeric_limits<float>::quiet_NaN() : value;
  });
}

std::vector<float> elements(const MatrixView& m) {
  std::vector<float> all;
  for_each_element(m, [&](const float& element) { all.push_back(element); });
  return all;
}

// The operands as the case stores them.
MatrixView shape_a(const Case& c) {
  const bool transposed = transposes_a(c.layout);
  return {nullptr, transposed ? c.K : c.M, transposed ? c.M : c.K, c.lda, c.batch, c.stride_a};
}

MatrixView shape_b(const Case& c) {
  const bool transposed = transposes_b(c.layout);
  return {nullptr, transposed ? c.N : c.K, transposed ? c.K : c.N, c.ldb, c.batch, c.stride_b};
}

MatrixView shape_c(const Case& c) { return {nullptr, c.M, c.N, c.ldc, c.batch, c.stride_c}; }

}  // namespace

struct EmulatedKernel::Operands {
  MatrixView A, B, C;
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

Reference reference(const Case& c, const MatrixView& A, const MatrixView& B, float old, int row,
                    int col) {
  double sum = 0, magnitude = 0;
  if (c.alpha != 0) {
    for (int k = 0; k < c.K; ++k) {
      const double a = transposes_a(c.layout) ? A.at(k, row) : A.at(row, k);
      const double b = transposes_b(c.layout) ? B.at(col, k) : B.at(k, col);
      sum += a * b;
      magnitude += std::abs(a * b);
    }
  }
  const double kept = c.beta == 0 ? 0 : double{c.beta} * double{old};
  const double tolerance =
      c.values == Values::integers ? 0 : std::expm1((c.K + 3) * std::log1p(0x1p-24));
  return {c.alpha * sum + kept, tolerance * (std::abs(c.alpha) * magnitude + std::abs(kept))};
}

// before, after: all elements of C.
std::optional<std::string> find_wrong_element(const Case& c, const MatrixView& A,
                                              const MatrixView& B, const std::vector<float>& before,
                                              const std::vector<float>& after) {
  std::size_t i = 0;
  for (int entry = 0; entry < c.batch; ++entry) {
    for (int row = 0; row < c.M; ++row) {
      for (int col = 0; col < c.N; ++col, ++i) {
        const Reference want = reference(c, A.entry(entry), B.entry(entry), before[i], row, col);
        if (std::abs(after[i] - want.value) <= want.bound) continue;
        return "C[" + std::to_string(row) + "][" + std::to_string(col) + "] of matrix " +
               std::to_string(entry) + " is " + std::to_string(after[i]) + " where " +
               std::to_string(want.value) + " is right (within " + std::to_string(want.bound) + ")";
      }
    }
  }
  return std::nullopt;
}

bool all_zero(const MatrixView& counters) {
  bool zero = true;
  for_each_element(counters, [&](const float& counter) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &counter, sizeof(bits));
    zero = zero && bits == 0;
  });
  return zero;
}

}  // namespace

void EmulatedKernel::CloseObject::operator()(void* object) const { dlclose(object); }

EmulatedKernel::EmulatedKernel(const std::filesystem::path& object, const std::string& config)
    : config_(check_config(parse_config(config))),
      object_(dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL)),
      emulator_(config_.recipe.block_threads, config_.recipe.smem_bytes, resident_ctas(config_)) {
  if (object_ != nullptr) {
    thread_ = reinterpret_cast<ThreadFunction*>(dlsym(object_.get(), kThreadFunctionName));
  }
  if (thread_ == nullptr) throw Error(std::string("cannot load the kernel object: ") + dlerror());
}

void EmulatedKernel::launch(const Case& c, const Operands& operands, Order order,
                            Workspace* workspace) {
  GemmArgs args{};
  args.M = c.M;
  args.N = c.N;
  args.K = c.K;
  args.alpha = c.alpha;
  args.beta = c.beta;
  args.A = operands.A.data;
  args.B = operands.B.data;
  args.C = operands.C.data;
  args.lda = c.lda;
  args.ldb = c.ldb;
  args.ldc = c.ldc;
  args.stride_a = c.stride_a;
  args.stride_b = c.stride_b;
  args.stride_c = c.stride_c;
  const Launch launch{grid_of(config_.recipe, problem_of(c, config_), kSmCount), order, c.seed,
                      cluster_ctas(config_)};
  int* counters = nullptr;
  float* partials = nullptr;
  if (workspace != nullptr) {
    counters = reinterpret_cast<int*>(workspace->counters.view().data);
    partials = workspace->partials.view().data;
  }
  emulator_.run(launch, thread_, launch_args(args, launch.grid, counters, partials));
}

std::optional<std::string> EmulatedKernel::check_once(const Case& c, const Operands& operands,
                                                      Order order, std::vector<float>& result) {
  std::mt19937 random(c.seed);
  fill(operands.A, c.alpha == 0, c.values, random);
  fill(operands.B, c.alpha == 0, c.values, random);
  fill(operands.C, c.beta == 0, c.values, random);
  const std::vector<float> before = elements(operands.C);
  const std::int64_t bytes = workspace_bytes(config_.recipe, problem_of(c, config_), kSmCount);
  std::optional<Workspace> workspace;
  if (bytes > 0) workspace.emplace(bytes - kWorkspaceCounterBytes);
  launch(c, operands, order, workspace ? &*workspace : nullptr);
  result = elements(operands.C);
  if (auto wrong = find_wrong_element(c, operands.A, operands.B, before, result)) return wrong;
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
  if (const auto reason = why_illegal(config_.recipe, problem_of(c, config_))) return reason;
  std::vector<float> result;
  if (!shares_tiles(config_)) return check_once(c, operands, c.order, result);
  std::vector<float> first;
  for (const Order order : {Order::forward, Order::reversed, Order::shuffled}) {
    if (auto wrong = check_once(c, operands, order, result)) {
      return *wrong + ", CTAs " + to_string(order);
    }
    if (first.empty()) first = result;
    if (!first.empty() &&
        std::memcmp(first.data(), result.data(), first.size() * sizeof(float)) != 0) {
      return std::string("C is not bitwise the same with CTAs ") + to_string(order) +
             " as with CTAs forward";
    }
  }
  return std::nullopt;
}

std::optional<std::string> EmulatedKernel::check(const Case& c) {
  if (std::max({c.lda, c.ldb, c.ldc, c.stride_a, c.stride_b, c.stride_c}) > kLargestExactLd) {
    const SparseMatrix A(shape_a(c)), B(shape_b(c)), C(shape_c(c));
    return check_on(c, {A.view(), B.view(), C.view()});
  }
  const int alignment = config_.recipe.alignment;
  ExactMatrix A(shape_a(c), alignment, kQuietNanBits);
  ExactMatrix B(shape_b(c), alignment, kQuietNanBits);
  ExactMatrix C(shape_c(c), alignment, kSentinelBits);
  if (const auto wrong = check_on(c, {A.view(), B.view(), C.view()})) return wrong;
  if (const auto where = C.find_overwritten_padding()) return "the kernel overwrote " + *where;
  return std::nullopt;
}

}  // namespace gemm_tune::emulator

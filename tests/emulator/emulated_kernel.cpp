#include "tests/emulator/emulated_kernel.h"

#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "core/error.h"
#include "tests/emulator/matrix.h"

namespace gemm_tune::emulator {
namespace {

constexpr unsigned kQuietNanBits = 0x7fc00000;
constexpr unsigned kSentinelBits = 0xdeadbeef;
constexpr int kLargestExactLd = 1 << 20;  // beyond, matrices are sparse

struct Operands {
  MatrixView A, B, C;
};

void fill(const MatrixView& m, bool with_nan, Values values, std::mt19937& random) {
  for (int row = 0; row < m.rows; ++row) {
    for (int col = 0; col < m.cols; ++col) {
      const auto bits = static_cast<std::int32_t>(random());
      float value = static_cast<float>(bits) * 0x1p-31f;
      if (values == Values::integers) value = static_cast<float>(bits % 9);
      m.at(row, col) = with_nan ? std::numeric_limits<float>::quiet_NaN() : value;
    }
  }
}

struct Reference {
  double value, bound;
};

Reference reference(const Case& c, const Operands& in, float old, int row, int col) {
  double sum = 0, magnitude = 0;
  if (c.alpha != 0) {
    for (int k = 0; k < c.K; ++k) {
      const double product = double{in.A.at(row, k)} * double{in.B.at(k, col)};
      sum += product;
      magnitude += std::abs(product);
    }
  }
  const double kept = c.beta == 0 ? 0 : double{c.beta} * double{old};
  const double roundoffs = (c.K + 3) * 0x1p-24;
  const double gamma = c.values == Values::integers ? 0 : roundoffs / (1 - roundoffs);
  return {c.alpha * sum + kept, gamma * (std::abs(c.alpha) * magnitude + std::abs(kept))};
}

std::optional<std::string> find_wrong_element(const Case& c, const Operands& operands,
                                              const std::vector<float>& before) {
  std::size_t i = 0;
  for (int row = 0; row < c.M; ++row) {
    for (int col = 0; col < c.N; ++col) {
      const Reference want = reference(c, operands, before[i++], row, col);
      const float got = operands.C.at(row, col);
      if (!(std::abs(got - want.value) <= want.bound)) {
        return "C[" + std::to_string(row) + "][" + std::to_string(col) + "] is " +
               std::to_string(got) + " where " + std::to_string(want.value) + " is right (within " +
               std::to_string(want.bound) + ")";
      }
    }
  }
  return std::nullopt;
}

// Launches the case on the operands given and compares.
std::optional<std::string> run(const Case& c, const Operands& operands, const KnownConfig& config,
                               Emulator& emulator, ThreadFunction* thread) {
  std::mt19937 random(c.seed);
  fill(operands.A, c.alpha == 0, c.values, random);
  fill(operands.B, c.alpha == 0, c.values, random);
  fill(operands.C, c.beta == 0, c.values, random);
  std::vector<float> before;
  for (int row = 0; row < c.M; ++row) {
    before.insert(before.end(), &operands.C.at(row, 0), &operands.C.at(row, 0) + c.N);
  }

  Problem problem = packed_problem(c.M, c.N, c.K);
  problem.alignment = config.recipe.alignment;
  if (const auto reason = why_illegal(config.recipe, problem)) return *reason;
  Launch launch;
  launch.grid_ctas = static_cast<int>(grid_ctas(config.recipe, problem));
  launch.order = c.order;
  launch.seed = c.seed;
  GemmArgs args;
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
  emulator.run(launch, thread, args);
  return find_wrong_element(c, operands, before);
}

}  // namespace

void EmulatedKernel::CloseObject::operator()(void* object) const { dlclose(object); }

EmulatedKernel::EmulatedKernel(const std::filesystem::path& object, const std::string& config)
    : config_(check_config(parse_config(config))),
      object_(dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL)),
      emulator_(config_.recipe.block_threads, config_.recipe.smem_bytes) {
  if (object_ != nullptr) {
    thread_ = reinterpret_cast<ThreadFunction*>(dlsym(object_.get(), kThreadFunctionName));
  }
  if (thread_ == nullptr) throw Error(std::string("cannot load the kernel object: ") + dlerror());
}

std::optional<std::string> EmulatedKernel::check(const Case& c) {
  if (std::max({c.lda, c.ldb, c.ldc}) > kLargestExactLd) {
    const SparseMatrix A(c.M, c.K, c.lda), B(c.K, c.N, c.ldb), C(c.M, c.N, c.ldc);
    return run(c, {A.view(), B.view(), C.view()}, config_, emulator_, thread_);
  }
  const int alignment = config_.recipe.alignment;
  ExactMatrix A(c.M, c.K, c.lda, alignment, kQuietNanBits);
  ExactMatrix B(c.K, c.N, c.ldb, alignment, kQuietNanBits);
  ExactMatrix C(c.M, c.N, c.ldc, alignment, kSentinelBits);
  if (const auto wrong = run(c, {A.view(), B.view(), C.view()}, config_, emulator_, thread_)) {
    return wrong;
  }
  if (const auto where = C.find_overwritten_padding()) return "the kernel overwrote " + *where;
  return std::nullopt;
}

}  // namespace gemm_tune::emulator

// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/kernels/split_operands.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "core/types/error_bound.h"
#include "core/types/float16.h"
#include "tests/emulator/device/parts_product.h"

namespace gemm_tune::emulator {
namespace {

// Whose tensor cores round: of those that the kernel runs on, the coarsest.
int sm_of(const EmulatedKernel& kernel) { return std::max(kernel.config().traits.least_sm, 80); }

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A or B: lines of K numbers, rows of A or columns of B.
class Operand {
 public:
  Operand(ElementType type, int lines, int K, bool along_k)
      : type_(type),
        lines_(lines),
        K_(K),
        along_k_(along_k),
        x_(static_cast<std::size_t>(lines) * static_cast<std::size_t>(K)) {}

  bool is_split() const { return type_ == kSumType; }
  int lines() const { return lines_; }
  // The smallest and the largest exponent by which numbers of the type may be scaled.
  int most_scale() const { return type_ == ElementType::f16 ? 6 : 60; }

  float& at(int line, int k) { return x_[place(line, k)]; }
  float at(int line, int k) const { return x_[place(line, k)]; }
  std::vector<float>& all() { return x_; }

  template <class Change>
  void for_each(Change change) {
    for (int line = 0; line < lines_; ++line) {
      for (int k = 0; k < K_; ++k) change(at(line, k), line, k);
    }
  }

  // Rounds to the type.
  void store() {
    if (is_split()) return;
    const Float16Format format = type_ == ElementType::f16 ? kF16 : kBf16;
    stored_.clear();
    for (float& x : x_) x = to_float(format, stored_.emplace_back(from_float(format, x)));
  }
  const void* data() const {
    return is_split() ? static_cast<const void*>(x_.data()) : stored_.data();
  }

 private:
  std::size_t place(int line, int k) const {
    return static_cast<std::size_t>(along_k_ ? line * K_ + k : k * lines_ + line);
  }

  const ElementType type_;
  const int lines_, K_;
  const bool along_k_;
  std::vector<float> x_;
  std::vector<std::uint16_t> stored_;  // of 16 bits
};

// A product by the kernel, by fp64 and in fp32, with a layout of the kernel's.
class SplitProduct {
 public:
  // kept: the operands whose copies are made by a call before; they hold NaN in this call unless
  // the copies' flag makes it read them.
  SplitProduct(EmulatedKernel& kernel, Data data, int M, int N, int K, Copies kept = Copies::none)
      : sm_(sm_of(kernel)),
        M_(M),
        N_(N),
        K_(K),
        problem_(packed_problem(M, N, K, kernel.config().recipe.layout, 1,
                                kernel.config().traits.signature)),
        a_(problem_.signature.a, M, K, !transposes_a(problem_.layout)),
        b_(problem_.signature.b, N, K, transposes_b(problem_.layout)),
        d_(static_cast<std::size_t>(M) * static_cast<std::size_t>(N)) {
    fill(data);
    GemmCall call = this->call();
    std::vector<char> a, b;
    if (kept == Copies::of_a || kept == Copies::of_both) {
      call.kept_a = (a = copy_of(kernel, CallValue::A)).data();
    }
    if (kept == Copies::of_b || kept == Copies::of_both) {
      call.kept_b = (b = copy_of(kernel, CallValue::B)).data();
    }
    if (fits(data, problem_.signature)) {
      constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
      if (!a.empty()) std::fill(a_.all().begin(), a_.all().end(), kNaN);
      if (!b.empty()) std::fill(b_.all().begin(), b_.all().end(), kNaN);
    }
    kernel.run(call, tensor_core_of(sm_));
  }

  // Parts of bf16 hold numbers far below the largest one of their line, but no denormal ones.
  static bool fits(Data data, const Signature& signature) {
    const bool is_scaled = signature.accuracy == Accuracy::fp32_f16x3;
    const bool has_two_types = signature.a != signature.b;
    if (data == Data::denormal) return is_scaled;
    if (data == Data::small_beside_large) return !is_scaled;
    if (data == Data::infinite_in_b || data == Data::not_a_number) return has_two_types;
    if (data == Data::infinite_by_tiny) return has_two_types && !is_scaled;
    return data < Data::denormal;
  }

  GemmCall call() { return in_place(packed_call(problem_), a_.data(), b_.data(), d_.data()); }

  // Those of the other product, in this one's layout.
  void take_operands(const SplitProduct& other) {
    a_.for_each([&](float& x, int line, int k) { x = other.a_.at(line, k); });
    b_.for_each([&](float& x, int line, int k) { x = other.b_.at(line, k); });
  }

  std::vector<char> copy_of(EmulatedKernel& kernel, CallValue operand) {
    return kernel.copy_of(operand, call(), tensor_core_of(sm_));
  }

  float d(int row, int col) const { return d_[static_cast<std::size_t>(row * N_ + col)]; }

  double exact(int row, int col, double* magnitude = nullptr) const {
    double sum = 0, magnitudes = 0;
    for (int k = 0; k < K_; ++k) {
      const double product = double{a_.at(row, k)} * double{b_.at(col, k)};
      sum += product;
      magnitudes += std::abs(product);
    }
    if (magnitude != nullptr) *magnitude = magnitudes;
    return sum;
  }

  float in_fp32(int row, int col) const {
    float sum = 0;
    for (int k = 0; k < K_; ++k) sum += a_.at(row, k) * b_.at(col, k);
    return sum;
  }

  float by_parts(int row, int col) const {
    std::vector<float> of_a, of_b;
    for (int k = 0; k < K_; ++k) {
      of_a.push_back(a_.at(row, k));
      of_b.push_back(b_.at(col, k));
    }
    return product_of_parts(tensor_core_of(sm_), of_a, of_b, 0x1p-23f);
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (int row = 0; row < M_; ++row) {
      for (int col = 0; col < N_; ++col) visit(row, col);
    }
  }

  double bound() const { return error_bound(problem_.signature, K_, sm_).sums; }

 private:
  void fill(Data data) {
    // As A and B where both are split.
    Operand &split = a_.is_split() ? a_ : b_, &other = a_.is_split() ? b_ : a_;
    std::mt19937 random(7);
    const auto next = [&] {
      const float value = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31f;
      return data == Data::positive ? std::abs(value) : value;
    };
    for (float& x : split.all()) x = next();
    for (float& x : other.all()) x = next();
    const auto scale = [](Operand& operand, auto exponent_of) {
      operand.for_each([&](float& x, int line, int k) {
        const int most = operand.most_scale();
        x = std::ldexp(x, std::clamp(exponent_of(line, k), -most, most));
      });
    };
    const auto scale_all = [](std::vector<float>& all, int exponent) {
      for (float& x : all) x = std::ldexp(x, exponent);
    };
    switch (data) {
      case Data::uniform:
      case Data::positive:
        break;
      case Data::scaled_lines:
        scale(split, [](int line, int) { return line % 7 * 20 - 60; });
        scale(other, [](int line, int) { return line % 5 * 20 - 40; });
        break;
      case Data::growing:
        scale(split, [](int, int k) { return k / 256; });
        scale(other, [](int, int k) { return k / 256; });
        break;
      case Data::peaks:
        scale(split, [this](int line, int k) { return k == (37 * line + 11) % K_ ? 6 : 0; });
        scale(other, [this](int line, int k) { return k == (29 * line + 17) % K_ ? 6 : 0; });
        break;
      case Data::denormal:
        scale_all(split.all(), -130);
        scale_all(other.all(), other.is_split() ? 100 : other.most_scale());
        break;
      case Data::small_beside_large:
        for (int i = 0; i < split.lines(); ++i) split.at(i, 0) = std::ldexp(1.5f, 40);
        for (int i = 0; i < other.lines(); ++i) other.at(i, 0) = 0;
        break;
      case Data::infinite:
        split.at(split.lines() / 2, K_ / 2) = kInfinity;
        other.at(other.lines() / 2, K_ / 3) = -kInfinity;
        break;
      case Data::infinite_by_tiny:
        split.at(2, K_ / 3) = 0x1p-41f;
        [[fallthrough]];
      case Data::infinite_in_b:
        split.at(0, K_ / 3) = 0;
        split.at(1, K_ / 3) = 0.5f;
        other.at(other.lines() / 2, K_ / 3) = -kInfinity;
        break;
      case Data::not_a_number:
        other.at(other.lines() / 2, K_ - 1) = std::numeric_limits<float>::quiet_NaN();
        break;
    }
    a_.store();
    b_.store();
  }

  const int sm_, M_, N_, K_;
  const Problem problem_;
  Operand a_, b_;
  std::vector<float> d_;
};

bool is_same(float x, float y) {
  return (std::isnan(x) && std::isnan(y)) || std::memcmp(&x, &y, sizeof x) == 0;
}

}  // namespace

const char* to_string(Data data) {
  constexpr const char* kNames[] = {
      "uniform",       "positive",         "scaled_lines",       "growing",
      "peaks",         "denormal",         "small_beside_large", "infinite",
      "infinite_in_b", "infinite_by_tiny", "not_a_number"};
  return kNames[static_cast<std::size_t>(data)];
}

namespace {

// beyond: rows and columns beyond a tile.
std::optional<std::string> wrong_of(EmulatedKernel& kernel, Data data, int beyond, int K) {
  const Traits& traits = kernel.config().traits;
  const SplitProduct product(kernel, data, traits.tile_m + beyond, traits.tile_n + beyond, K);
  const bool fits = SplitProduct::fits(data, traits.signature);
  std::optional<std::string> wrong;
  bool is_all_fp32 = true;
  product.for_each([&](int row, int col) {
    const float got = product.d(row, col), in_fp32 = product.in_fp32(row, col);
    is_all_fp32 = is_all_fp32 && is_same(got, in_fp32);
    double magnitude = 0;
    const double exact = product.exact(row, col, &magnitude);
    const double most = product.bound() * magnitude;
    const bool is_right =
        fits && std::isfinite(in_fp32) ? std::abs(got - exact) <= most : is_same(got, in_fp32);
    if (is_right || wrong) return;
    wrong = std::string(to_string(data)) + ": D[" + std::to_string(row) + "][" +
            std::to_string(col) + "] is " + std::to_string(got) + " where " +
            std::to_string(exact) + " is right" +
            (fits ? " (within " + std::to_string(most) + ")" : "");
  });
  if (!wrong && fits && is_all_fp32) return std::string(to_string(data)) + ": computed in fp32";
  return wrong;
}

std::optional<std::string> wrong_with_kept_copies(EmulatedKernel& kernel, Data data, int beyond,
                                                  int K) {
  const Traits& traits = kernel.config().traits;
  const auto product = [&](Copies kept) {
    return SplitProduct(kernel, data, traits.tile_m + beyond, traits.tile_n + beyond, K, kept);
  };
  const SplitProduct without = product(Copies::none);
  const std::pair<Copies, const char*> all[] = {
      {Copies::of_a, "A"}, {Copies::of_b, "B"}, {Copies::of_both, "A and B"}};
  const Signature& types = traits.signature;
  for (const auto& [kept, name] : all) {
    const bool is_split = (kept == Copies::of_b || types.a == kSumType) &&
                          (kept == Copies::of_a || types.b == kSumType);
    if (!is_split) continue;
    const SplitProduct with = product(kept);
    int differing = 0;
    with.for_each([&](int row, int col) {
      if (!is_same(with.d(row, col), without.d(row, col))) ++differing;
    });
    if (differing > 0) {
      return std::string(to_string(data)) + ", " + name + " kept: " + std::to_string(differing) +
             " elements of D differ";
    }
  }
  return std::nullopt;
}

// check(beyond, K): of an operand of 16 bits whose rows are copied, and of one read in place.
template <class Check>
std::optional<std::string> of_both_alignments(const EmulatedKernel& kernel, Check check) {
  if (auto wrong = check(1, 131)) return wrong;
  const Signature& types = kernel.config().traits.signature;
  return types.a == types.b ? std::nullopt : check(8, 136);
}

}  // namespace

std::optional<std::string> wrong_of(EmulatedKernel& kernel, Data data) {
  return of_both_alignments(kernel,
                            [&](int beyond, int K) { return wrong_of(kernel, data, beyond, K); });
}

std::optional<std::string> wrong_with_kept_copies(EmulatedKernel& kernel, Data data) {
  return of_both_alignments(
      kernel, [&](int beyond, int K) { return wrong_with_kept_copies(kernel, data, beyond, K); });
}

bool makes_the_same_copies(EmulatedKernel& kernel, EmulatedKernel& other, Data data, int K) {
  SplitProduct first(kernel, data, 36, 35, K);
  SplitProduct second(other, data, 36, 35, K);
  second.take_operands(first);
  return first.copy_of(kernel, CallValue::A) == second.copy_of(other, CallValue::A) &&
         first.copy_of(kernel, CallValue::B) == second.copy_of(other, CallValue::B);
}

double error_beside_fp32(EmulatedKernel& kernel, Data data, int K) {
  const SplitProduct product(kernel, data, 64, 32, K);
  double own = 0, of_fp32 = 0;
  product.for_each([&](int row, int col) {
    const double exact = product.exact(row, col);
    own += std::pow(product.d(row, col) - exact, 2);
    of_fp32 += std::pow(product.in_fp32(row, col) - exact, 2);
  });
  return std::sqrt(own / of_fp32);
}

int others_than_by_parts(EmulatedKernel& kernel, Data data, int K) {
  const SplitProduct product(kernel, data, 33, 41, K);
  int others = 0;
  product.for_each([&](int row, int col) {
    if (!is_same(product.d(row, col), product.by_parts(row, col))) ++others;
  });
  return others;
}

std::optional<std::string> wrong_of_split_operands(EmulatedKernel& kernel) {
  for (const Data data : kAllData) {
    if (auto wrong = wrong_of(kernel, data)) return wrong;
    if (auto wrong = wrong_with_kept_copies(kernel, data)) return wrong;
  }
  for (const Data data : {Data::uniform, Data::growing, Data::peaks, Data::positive}) {
    const double error = error_beside_fp32(kernel, data, kLongK);
    if (error > 0.5) {
      return std::string(to_string(data)) + ": error " + std::to_string(error) + " of fp32's";
    }
  }
  return std::nullopt;
}

}  // namespace gemm_tune::emulator

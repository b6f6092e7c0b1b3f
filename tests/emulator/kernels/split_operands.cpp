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

// Of so many lines of an operand, and a few, may numbers be lost that two f16 parts do not hold,
// where only their elements of D are computed in fp32
// (kernel_templates/device/parts/split_shape.cuh).
constexpr int kLinesOfLosing = 64, kFewLosing = 8;

// A or B: lines of K numbers, rows of A or columns of B, of all matrices one after the other.
class Operand {
 public:
  Operand(ElementType type, int batch, int lines, int K, bool along_k)
      : type_(type),
        in_matrix_(lines),
        lines_(batch * lines),
        K_(K),
        along_k_(along_k),
        x_(static_cast<std::size_t>(lines_) * static_cast<std::size_t>(K)) {}

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

  // Whether the line has an infinity, a NaN, or a number below 2^-19, when the line's largest one
  // is scaled to 2^14 at least, that is no number of f16 then.
  bool loses_numbers(int line) const {
    float largest = 0;
    for (int k = 0; k < K_; ++k) largest = std::max(largest, std::abs(at(line, k)));
    if (!std::isfinite(largest)) return true;
    int exponent = 0;
    std::frexp(largest, &exponent);
    const float scale = std::ldexp(1.0f, largest == 0 ? 0 : std::min(15 - exponent, 126));
    for (int k = 0; k < K_; ++k) {
      const float scaled = at(line, k) * scale;
      const bool is_f16 = to_float(kF16, from_float(kF16, scaled)) == scaled;
      if (std::isnan(scaled) || (scaled == 0 && at(line, k) != 0)) return true;
      if (std::abs(scaled) < 0x1p-19f && !is_f16) return true;
    }
    return false;
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
    if (along_k_) return static_cast<std::size_t>(line * K_ + k);
    return static_cast<std::size_t>((line / in_matrix_ * K_ + k) * in_matrix_ + line % in_matrix_);
  }

  const ElementType type_;
  const int in_matrix_, lines_, K_;
  const bool along_k_;
  std::vector<float> x_;
  std::vector<std::uint16_t> stored_;  // of 16 bits
};

// A call that makes a copy of B: by another kernel, or as its A.
struct Maker {
  EmulatedKernel* kernel = nullptr;
  CallValue as = CallValue::B;
};

// kept: the operands whose copies are made by a call before, that of B by `maker` if there is one.
// runs: the product, too, not the copies of its operands alone.
struct HowCalled {
  Copies kept = Copies::none;
  Maker maker = {};
  Order order = Order::forward;
  int batch = 1;
  float alpha = 1, beta = 0;
  bool runs = true;
};

// A product by the kernel, by fp64 and in fp32, with a layout of the kernel's. Rows are those of
// all matrices of the batch.
class SplitProduct {
 public:
  // Operands that are kept hold NaN in this call unless the copies' flag makes it read them.
  SplitProduct(EmulatedKernel& kernel, Data data, int M, int N, int K, const HowCalled& how = {})
      : sm_(sm_of(kernel)),
        M_(M),
        N_(N),
        K_(K),
        how_(how),
        problem_(packed_problem(M, N, K, kernel.config().recipe.layout, how.batch,
                                kernel.config().traits.signature)),
        a_(problem_.signature.a, how.batch, M, K, !transposes_a(problem_.layout)),
        b_(problem_.signature.b, how.batch, N, K, transposes_b(problem_.layout)),
        d_(static_cast<std::size_t>(how.batch) * static_cast<std::size_t>(M) *
           static_cast<std::size_t>(N)) {
    fill(data);
    if (!how.runs) return;
    if (!fits(data, problem_.signature) && are_told()) find_losing();
    for (std::size_t i = 0; i < d_.size(); ++i) d_[i] = static_cast<float>(i % 7) - 3;
    before_ = d_;
    GemmCall call = this->call();
    std::vector<char> a, b;
    if (how.kept == Copies::of_a || how.kept == Copies::of_both) {
      call.kept_a = (a = copy_of(kernel, CallValue::A)).data();
    }
    if (how.kept == Copies::of_b || how.kept == Copies::of_both) {
      b = how.maker.kernel == nullptr ? copy_of(kernel, CallValue::B) : copy_of_b(how.maker);
      call.kept_b = b.data();
    }
    if (fits(data, problem_.signature)) {
      constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
      if (!a.empty()) std::fill(a_.all().begin(), a_.all().end(), kNaN);
      if (!b.empty()) std::fill(b_.all().begin(), b_.all().end(), kNaN);
    }
    kernel.run(call, tensor_core_of(sm_), how.order);
  }

  // Parts of bf16 hold numbers far below the largest one of their line, but no denormal ones.
  static bool fits(Data data, const Signature& signature) {
    const bool is_scaled = signature.accuracy == Accuracy::fp32_f16x3;
    const bool has_two_types = signature.a != signature.b;
    if (data == Data::denormal) return is_scaled;
    if (data >= Data::few_lines && data <= Data::small_beside_large) return !is_scaled;
    if (data == Data::infinite_in_b || data == Data::not_a_number) return has_two_types;
    if (data == Data::infinite_by_tiny) return has_two_types && !is_scaled;
    return data < Data::denormal;
  }

  // What the element must be where it is computed in fp32, else nothing: fp32's own, of a sum along
  // K in order, or that of a line that loses numbers.
  std::optional<float> if_in_fp32(Data data, int row, int col) const {
    if (fits(data, problem_.signature)) return std::nullopt;
    if (!are_told() || are_too_many()) return in_fp32(row, col);
    const bool row_loses = loses_[0][static_cast<std::size_t>(row)];
    if (!row_loses && !loses_[1][static_cast<std::size_t>(col_line(row, col))]) return std::nullopt;
    const auto [a, b] = lines_of(row, col);
    const bool others_along_k =
        row_loses ? transposes_b(problem_.layout) : !transposes_a(problem_.layout);
    return finished(product_on_losing_line(a, b, others_along_k, /*fused=*/false), row, col);
  }

  GemmCall call() {
    GemmCall call = in_place(packed_call(problem_), a_.data(), b_.data(), d_.data());
    call.alpha = how_.alpha;
    call.beta = how_.beta;
    return call;
  }

  // Those of the other product, in this one's layout.
  void take_operands(const SplitProduct& other) {
    a_.for_each([&](float& x, int line, int k) { x = other.a_.at(line, k); });
    b_.for_each([&](float& x, int line, int k) { x = other.b_.at(line, k); });
  }

  std::vector<char> copy_of(EmulatedKernel& kernel, CallValue operand) {
    return kernel.copy_of(operand, call(), tensor_core_of(sm_));
  }

  std::vector<char> copy_of_b(const Maker& maker) {
    const KnownConfig& config = maker.kernel->config();
    const bool as_a = maker.as == CallValue::A;
    const Problem problem = packed_problem(as_a ? N_ : M_, as_a ? M_ : N_, K_, config.recipe.layout,
                                           how_.batch, config.traits.signature);
    const GemmCall call = in_place(packed_call(problem), b_.data(), b_.data(), d_.data());
    return maker.kernel->copy_of(maker.as, call, tensor_core_of(sm_));
  }

  float d(int row, int col) const { return d_[static_cast<std::size_t>(row * N_ + col)]; }

  double exact(int row, int col, double* magnitude = nullptr) const {
    double sum = 0, magnitudes = 0;
    for (int k = 0; k < K_; ++k) {
      const double product = double{a_.at(row, k)} * double{b_.at(col_line(row, col), k)};
      sum += product;
      magnitudes += std::abs(product);
    }
    const double old = how_.beta == 0 ? 0 : double{how_.beta} * before(row, col);
    const double alpha = how_.alpha;
    if (magnitude != nullptr) *magnitude = std::abs(alpha) * magnitudes + std::abs(old);
    return alpha * sum + old;
  }

  float in_fp32(int row, int col) const {
    float sum = 0;
    for (int k = 0; k < K_; ++k) sum += a_.at(row, k) * b_.at(col_line(row, col), k);
    return finished(sum, row, col);
  }

  float by_parts(int row, int col) const {
    const auto [a, b] = lines_of(row, col);
    return product_of_parts(tensor_core_of(sm_), a, b, 0x1p-23f);
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (int row = 0; row < a_.lines(); ++row) {
      for (int col = 0; col < N_; ++col) visit(row, col);
    }
  }

  // In relation to the magnitude.
  double bound() const {
    constexpr double kOfScales = 4 * 0x1p-24;  // alpha, beta and their sum
    return error_bound(problem_.signature, K_, sm_).sums + (how_.beta == 0 ? 0 : kOfScales);
  }

 private:
  int col_line(int row, int col) const { return row / M_ * N_ + col; }
  float finished(float sum, int row, int col) const {
    sum *= how_.alpha;
    return how_.beta == 0 ? sum : sum + how_.beta * before(row, col);
  }
  std::pair<std::vector<float>, std::vector<float>> lines_of(int row, int col) const {
    std::pair<std::vector<float>, std::vector<float>> lines;
    for (int k = 0; k < K_; ++k) {
      lines.first.push_back(a_.at(row, k));
      lines.second.push_back(b_.at(col_line(row, col), k));
    }
    return lines;
  }
  float before(int row, int col) const { return before_[static_cast<std::size_t>(row * N_ + col)]; }

  // Whether the kernel knows which lines lose numbers.
  bool are_told() const {
    const Signature& types = problem_.signature;
    return types.accuracy == Accuracy::fp32_f16x3 && types.a == types.b;
  }

  void find_losing() {
    const Operand* const both[] = {&a_, &b_};
    for (std::size_t i = 0; i < 2; ++i) {
      for (int line = 0; line < both[i]->lines(); ++line) {
        loses_[i].push_back(both[i]->loses_numbers(line));
      }
    }
  }

  static int most_losing(const Operand& operand) {
    return operand.lines() / kLinesOfLosing + kFewLosing;
  }

  bool are_too_many() const {
    const auto too_many = [](const Operand& operand, const std::vector<bool>& loses) {
      return std::count(loses.begin(), loses.end(), true) > most_losing(operand);
    };
    return too_many(a_, loses_[0]) || too_many(b_, loses_[1]);
  }

  // Leaves of a line only a few numbers beside a large one, of which all others' are zeros. Low
  // parts alone hold those of even lines, whose products by low parts are left out; parts of odd
  // ones hold 16 bits. Those of every fourth line end with its seventh eighth: a late warp of
  // the cluster's last CTA but one has them.
  void lose_numbers(Operand& operand, int line, int large_k) const {
    const bool is_even = line % 2 == 0;
    std::vector<float> few(static_cast<std::size_t>(K_));
    const bool is_late = line % 4 == 3;
    const int end = is_late ? K_ / 8 * 7 : K_;
    const int first = is_late ? end - 9 : 8, third = is_late ? end - 4 : K_ / 2;
    for (const int k : {first, first + 1, third, end - 1 - line % 2}) {
      const float x = operand.at(line, k);
      few[static_cast<std::size_t>(k)] = std::copysign(is_even ? 0.75f : 0.5f + std::abs(x) / 2, x);
    }
    few[static_cast<std::size_t>(large_k)] = std::ldexp(1.5f, is_even ? 40 : 33);
    for (int k = 0; k < K_; ++k) operand.at(line, k) = few[static_cast<std::size_t>(k)];
  }

  // Of operands that are split: of A as many lines as may be, of B one more, or of each matrix of
  // both the tenth or twelfth one and the last.
  void lose_numbers(Data data) {
    constexpr int kLargeOfA = 5, kLargeOfB = 7;
    for (int line = 0; line < a_.lines(); ++line) a_.at(line, kLargeOfB) = 0;
    for (int line = 0; line < b_.lines(); ++line) b_.at(line, kLargeOfA) = 0;
    const auto lose = [&](bool of_a, int line) {
      Operand& operand = of_a ? a_ : b_;
      if (operand.is_split()) lose_numbers(operand, line, of_a ? kLargeOfA : kLargeOfB);
    };
    for (int line = 0; data == Data::most_lines && line < most_losing(a_); ++line) lose(true, line);
    for (int line = 0; data == Data::a_line_more && line <= most_losing(b_); ++line) {
      lose(false, line);
    }
    for (int matrix = 0; matrix < how_.batch; ++matrix) {
      // Of other data one line more of the operand that has none so far, where it is split.
      const bool are_few = data == Data::few_lines;
      for (const int line : {9, M_ - 1}) {
        if (are_few || (data == Data::a_line_more && line == 9)) lose(true, matrix * M_ + line);
      }
      for (const int line : {11, N_ - 1}) {
        if (are_few || (data == Data::most_lines && line != 11)) lose(false, matrix * N_ + line);
      }
    }
  }

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
        scale(split, [](int, int k) { return k / 512; });
        scale(other, [](int, int k) { return k / 512; });
        break;
      case Data::peaks:
        scale(split, [this](int line, int k) { return k == (37 * line + 11) % K_ ? 6 : 0; });
        scale(other, [this](int line, int k) { return k == (29 * line + 17) % K_ ? 6 : 0; });
        break;
      case Data::denormal:
        scale_all(split.all(), -130);
        scale_all(other.all(), other.is_split() ? 100 : other.most_scale());
        break;
      case Data::few_lines:
      case Data::most_lines:
      case Data::a_line_more:
        lose_numbers(data);
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
  const HowCalled how_;
  const Problem problem_;
  Operand a_, b_;
  std::vector<float> d_, before_;
  std::vector<bool> loses_[2];  // lines of A, and of B
};

bool is_same(float x, float y) {
  return (std::isnan(x) && std::isnan(y)) || std::memcmp(&x, &y, sizeof x) == 0;
}

}  // namespace

const char* to_string(Data data) {
  constexpr const char* kNames[] = {
      "uniform",  "positive",      "scaled_lines",     "growing",     "peaks",
      "denormal", "few_lines",     "most_lines",       "a_line_more", "small_beside_large",
      "infinite", "infinite_in_b", "infinite_by_tiny", "not_a_number"};
  return kNames[static_cast<std::size_t>(data)];
}

namespace {

// beyond: rows and columns beyond a tile.
std::optional<std::string> wrong_of(EmulatedKernel& kernel, Data data, int beyond, int K,
                                    const HowCalled& how = {}) {
  const Traits& traits = kernel.config().traits;
  const SplitProduct product(kernel, data, traits.tile_m + beyond, traits.tile_n + beyond, K, how);
  std::optional<std::string> wrong;
  bool is_all_fp32 = true, must_be_fp32 = true;
  product.for_each([&](int row, int col) {
    const float got = product.d(row, col), in_fp32 = product.in_fp32(row, col);
    const std::optional<float> told = product.if_in_fp32(data, row, col);
    must_be_fp32 = must_be_fp32 && told;
    is_all_fp32 = is_all_fp32 && is_same(got, in_fp32);
    double magnitude = 0;
    const double exact = product.exact(row, col, &magnitude);
    const double most = product.bound() * magnitude;
    bool is_right = std::isfinite(in_fp32) ? std::abs(got - exact) <= most : is_same(got, in_fp32);
    if (told) is_right = is_same(got, *told);
    if (is_right || wrong) return;
    wrong = std::string(to_string(data)) + ": D[" + std::to_string(row) + "][" +
            std::to_string(col) + "] is " + std::to_string(got) + " where " +
            std::to_string(exact) + " is right" +
            (told ? "" : " (within " + std::to_string(most) + ")");
  });
  if (!wrong && !must_be_fp32 && is_all_fp32) {
    return std::string(to_string(data)) + ": computed in fp32";
  }
  return wrong;
}

std::optional<std::string> wrong_with_kept_copies(EmulatedKernel& kernel, Data data, int beyond,
                                                  int K) {
  const Traits& traits = kernel.config().traits;
  const auto product = [&](Copies kept) {
    return SplitProduct(kernel, data, traits.tile_m + beyond, traits.tile_n + beyond, K, {kept});
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

std::optional<std::string> wrong_of(EmulatedKernel& kernel, Data data, int K) {
  return wrong_of(kernel, data, 1, K);
}

std::optional<std::string> wrong_in_place(EmulatedKernel& kernel, Data data) {
  return wrong_of(kernel, data, 1, 131, {.batch = 2, .alpha = 2, .beta = 0.5f});
}

int others_in_any_order(EmulatedKernel& kernel, Data data, int K) {
  const auto product = [&](Order order) {
    const Traits& traits = kernel.config().traits;
    return SplitProduct(kernel, data, traits.tile_m + 1, traits.tile_n + 1, K, {.order = order});
  };
  const SplitProduct forward = product(Order::forward);
  int others = 0;
  for (const Order order : {Order::reversed, Order::shuffled}) {
    const SplitProduct other = product(order);
    forward.for_each([&](int row, int col) {
      if (!is_same(forward.d(row, col), other.d(row, col))) ++others;
    });
  }
  return others;
}

std::optional<std::string> wrong_with_kept_copies(EmulatedKernel& kernel, Data data) {
  return of_both_alignments(
      kernel, [&](int beyond, int K) { return wrong_with_kept_copies(kernel, data, beyond, K); });
}

std::optional<std::string> wrong_with_copy_of(EmulatedKernel& maker, CallValue as,
                                              EmulatedKernel& kernel, Data data) {
  const Traits& traits = kernel.config().traits;
  const auto product = [&](const HowCalled& how) {
    return SplitProduct(kernel, data, traits.tile_m + 1, traits.tile_n + 1, 131, how);
  };
  const SplitProduct without = product({}), with = product({Copies::of_b, {&maker, as}});
  const bool are_told = maker.config().traits.signature == traits.signature;
  int differing = 0;
  with.for_each([&](int row, int col) {
    const float expected = are_told ? without.d(row, col) : with.in_fp32(row, col);
    if (!is_same(with.d(row, col), expected)) ++differing;
  });
  if (differing == 0) return std::nullopt;
  return std::string(to_string(data)) + ": " + std::to_string(differing) + " elements of D differ";
}

bool makes_the_same_copies(EmulatedKernel& kernel, EmulatedKernel& other, Data data, int K) {
  SplitProduct first(kernel, data, 36, 35, K, {.runs = false});
  SplitProduct second(other, data, 36, 35, K, {.runs = false});
  second.take_operands(first);
  return first.copy_of(kernel, CallValue::A) == second.copy_of(other, CallValue::A) &&
         first.copy_of(kernel, CallValue::B) == second.copy_of(other, CallValue::B);
}

SumErrors errors_of_sums(EmulatedKernel& kernel, Data data, int K) {
  const SplitProduct product(kernel, data, 64, 32, K);
  double own = 0, of_fp32 = 0, shortfall = 0;
  int sums = 0;
  product.for_each([&](int row, int col) {
    const double exact = product.exact(row, col), error = product.d(row, col) - exact;
    own += std::pow(error, 2);
    of_fp32 += std::pow(product.in_fp32(row, col) - exact, 2);
    shortfall -= error / exact;
    ++sums;
  });
  return {std::sqrt(own / of_fp32), shortfall / sums};
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
  for (const Data data : {Data::few_lines, Data::not_a_number}) {
    if (auto wrong = wrong_in_place(kernel, data)) return wrong;
    if (auto wrong = wrong_of(kernel, data, kLongK)) return wrong;
    for (const int K : {131, kClustersK}) {
      if (others_in_any_order(kernel, data, K) > 0) return "the order of threads tells";
    }
  }
  for (const Data data : {Data::uniform, Data::growing, Data::peaks, Data::positive}) {
    const auto [error, shortfall] = errors_of_sums(kernel, data, kLongK);
    if (!(error <= 0.5)) {  // also of a NaN
      return std::string(to_string(data)) + ": error " + std::to_string(error) + " of fp32's";
    }
    // Tensor cores cut sums off. What a kernel does not make up for in the mean adds up along K.
    if (data == Data::positive && !(std::abs(shortfall) <= 0x1p-23)) {
      return "sums of positive products fall short by " + std::to_string(shortfall * 0x1p24) +
             " x 2^-24 in the mean";
    }
  }
  return std::nullopt;
}

}  // namespace gemm_tune::emulator

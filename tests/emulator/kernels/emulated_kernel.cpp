// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/kernels/emulated_kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <random>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/types/error_bound.h"
#include "core/types/float16.h"
#include "kernel_templates/device/call/gemm_args.cuh"
#include "tests/emulator/device/matrix.h"
#include "tests/emulator/kernels/epilogue_reference.h"

namespace gemm_tune::emulator {
namespace {

constexpr unsigned kQuietNanBits = 0x7fc07fc0;  // of 32-bit and of 16-bit elements
constexpr unsigned kSentinelBits = 0xdeadbeef;
constexpr int kResident = kSmCount;       // CTAs, where they share tiles, or clusters
constexpr int kMostResident = 4096;       // threads of clusters: of each the system maps a stack
constexpr int kLargestExactLd = 1 << 20;  // beyond, matrices are sparse

int resident_ctas(const KnownConfig& config, const Step& step) {
  if (const int threads = step.cluster.ctas() * step.threads; threads * kResident > kMostResident) {
    return step.cluster.ctas() * std::max(1, kMostResident / threads);
  }
  return step.cluster.ctas() > 1 || shares_tiles(config) ? kResident * step.cluster.ctas() : 1;
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
    if (values == Values::signs) value = static_cast<float>(bits % 2);
    if (values == Values::positives) value = std::abs(value);
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

bool all_zero(const MatrixView& counters) {
  bool zero = true;
  for_each_element(counters, [&](const MatrixView& entry, int row, int col) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, entry.address(row, col), sizeof(bits));
    zero = zero && bits == 0;
  });
  return zero;
}

// An operand of the epilogue.
MatrixView shape_of(const EpilogueFunctor& functor, const GemmCall& call) {
  const Problem& p = call.problem;
  const auto line = [](std::int64_t length, ElementType type) {
    return stored(1, length, length, 1, 0, type);
  };
  switch (functor.operand) {
    case OperandShape::none:
      break;
    case OperandShape::scalar_f32:
      return line(1, ElementType::f32);
    case OperandShape::row_f32:
      return line(p.M, ElementType::f32);
    case OperandShape::column_f32:
      return line(p.N, ElementType::f32);
    case OperandShape::row_d:
      return line(p.M, p.signature.d);
    case OperandShape::column_d:
      return line(p.N, p.signature.d);
    case OperandShape::matrix_d:
    case OperandShape::output_d:
      return shape_c(call);
  }
  return {};
}

// The element of an operand that an element of D is computed with.
float operand_at(const EpilogueFunctor& functor, const MatrixView& operand, int row, int col) {
  switch (functor.operand) {
    case OperandShape::none:
    case OperandShape::output_d:
      return 0;
    case OperandShape::scalar_f32:
      return operand.get(0, 0);
    case OperandShape::row_f32:
    case OperandShape::row_d:
      return operand.get(0, row);
    case OperandShape::column_f32:
    case OperandShape::column_d:
      return operand.get(0, col);
    case OperandShape::matrix_d:
      return operand.get(row, col);
  }
  return 0;
}

// The addresses of a batch's matrices, as a batch of pointers has them on the device.
std::vector<void*> addresses_of(const MatrixView& m) {
  std::vector<void*> addresses;
  for (int b = 0; b < m.batch; ++b) addresses.push_back(m.entry(b).data);
  return addresses;
}

// make(functor) for each operand, in the functors' order.
template <class Make>
std::vector<MatrixView> views_of_epilogue(const GemmCall& call, Make make) {
  std::vector<MatrixView> views;
  call.problem.epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
    if (slot >= 0) views.push_back(make(functor));
  });
  return views;
}

}  // namespace

struct EmulatedKernel::Operands {
  MatrixView A, B, C, D;
  std::vector<MatrixView> of_epilogue;  // in its functors' order
};

// Exactly what the plan asks for, each region apart, so that none can be taken for another.
class EmulatedKernel::Workspace {
 public:
  explicit Workspace(const LaunchPlan& plan) {
    for (const WorkspaceRegion& region : plan.regions) {
      const std::int64_t words = region.bytes / 4;
      const bool is_zeroed = region.offset < plan.zeroed_bytes;
      regions_.emplace_back(MatrixView{nullptr, 1, static_cast<int>(words), words}, 4,
                            is_zeroed ? 0 : kQuietNanBits);
      if (is_zeroed) ++zeroed_;
    }
  }

  void* at(std::size_t region) const {
    return std::next(regions_.begin(), static_cast<std::ptrdiff_t>(region))->view().data;
  }

  // Takes away what launches left behind the counters, until show().
  void hide() {
    hidden_.clear();
    for (const std::span<char> bytes : behind_counters()) {
      hidden_.emplace_back(bytes.begin(), bytes.end());
      std::fill(bytes.begin(), bytes.end(), '\xff');
    }
  }
  void show() {
    auto from = hidden_.begin();
    for (const std::span<char> bytes : behind_counters()) {
      std::copy(from->begin(), from->end(), bytes.begin());
      ++from;
    }
  }

  // What a launch did there that it may not do.
  std::optional<std::string> find_wrong() {
    auto region = regions_.begin();
    for (std::size_t i = 0; i < zeroed_; ++i, ++region) {
      if (!all_zero(region->view())) return "the kernel left a counter that is not zero";
    }
    for (ExactMatrix& one : regions_) {
      if (const auto where = one.find_overwritten_padding()) {
        return "the kernel overwrote the workspace's " + *where;
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<std::span<char>> behind_counters() const {
    std::vector<std::span<char>> all;
    for (auto region = std::next(regions_.begin(), static_cast<std::ptrdiff_t>(zeroed_));
         region != regions_.end(); ++region) {
      const MatrixView& view = region->view();
      all.emplace_back(static_cast<char*>(view.data), static_cast<std::size_t>(view.cols) * 4);
    }
    return all;
  }

  std::list<ExactMatrix> regions_;
  std::size_t zeroed_ = 0;
  std::vector<std::vector<char>> hidden_;
};

namespace {

// A value before it is rounded to D's type, and how far off that of a kernel may be.
struct Reference {
  double value, error;
};

// Of fp32 arithmetic, in relation to what a functor takes and makes.
constexpr double kFunctorError = 0x1p-20;

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
                    std::span<const double> b, float old) {
  const double alpha = c.call.alpha, beta = c.call.beta;
  const bool is_exact = c.values == Values::integers;
  double sum = 0, magnitude = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum += a[k] * b[k];
    if (!is_exact) magnitude += std::abs(a[k] * b[k]);
  }
  const double kept = beta == 0 ? 0 : beta * double{old};
  return {
      alpha * sum + kept,
      is_exact ? 0 : bound.of_sums(std::abs(alpha) * magnitude + std::abs(kept), std::abs(alpha))};
}

// Whether D must hold the reference rounded once.
bool must_be_exact(const Case& c) {
  return c.values == Values::integers && c.call.problem.epilogue.keeps_whole_numbers();
}

// What an element that is stored must be, and how far off it may be.
Reference stored_as(const Case& c, const ErrorBound& bound, const Reference& before) {
  const ElementType type = c.call.problem.signature.d;
  if (must_be_exact(c)) return {rounded_to(type, before.value), 0};
  const auto& [value, error] = before;
  return {value, error + bound.stored * (std::abs(value) + error) + bound.least};
}

void apply(const EpilogueFunctor& functor, double operand, bool is_exact, Reference& to) {
  const auto& function = reference_of(functor);
  const double before = to.value, value = function(before, operand);
  const auto off = [&](double error) {
    return std::abs(function(before + error, operand) - value);
  };
  to.error = std::max(off(to.error), off(-to.error));
  if (!is_exact)
    to.error += kFunctorError * (std::abs(before) + std::abs(operand) + std::abs(value));
  to.value = value;
}

// What is wrong with an element of D or of what the epilogue writes beside it, in one entry of the
// batch. of_epilogue: of that entry.
std::optional<std::string> wrong_at(const Case& c, const ErrorBound& bound, Reference want,
                                    const std::vector<MatrixView>& of_epilogue, int row, int col,
                                    float result) {
  std::optional<std::string> wrong;
  const auto judge = [&](const char* name, float got) {
    const Reference right = stored_as(c, bound, want);
    if (wrong || std::abs(got - right.value) <= right.error) return;
    wrong = std::string(name) + "[" + std::to_string(row) + "][" + std::to_string(col) + "] is " +
            std::to_string(got) + " where " + std::to_string(right.value) + " is right (within " +
            std::to_string(right.error) + ")";
  };
  c.call.problem.epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
    const MatrixView operand =
        slot < 0 ? MatrixView() : of_epilogue[static_cast<std::size_t>(slot)];
    if (functor.operand == OperandShape::output_d) {
      judge(functor.name, operand.get(row, col));
    } else {
      apply(functor, operand_at(functor, operand, row, col), must_be_exact(c), want);
    }
  });
  judge("D", result);
  return wrong;
}

// The operands of one entry of the batch: those that lie as D does have one for each.
std::vector<MatrixView> entry_of(const Case& c, std::vector<MatrixView> operands, int entry) {
  c.call.problem.epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
    if (!lies_as_d(functor)) return;
    MatrixView& operand = operands[static_cast<std::size_t>(slot)];
    operand = operand.entry(entry);
  });
  return operands;
}

// before: all elements of C; after: of D.
std::optional<std::string> find_wrong_element(const Case& c, const ErrorBound& bound,
                                              const MatrixView& A, const MatrixView& B,
                                              const std::vector<MatrixView>& of_epilogue,
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
    const std::vector<MatrixView> operands = entry_of(c, of_epilogue, entry);
    for (int row = 0; row < M; ++row) {
      for (int col = 0; col < N; ++col, ++i) {
        const Reference sum = reference(c, bound, line(a, row), line(b, col), before[i]);
        if (auto wrong = wrong_at(c, bound, sum, operands, row, col, after[i])) {
          return "of matrix " + std::to_string(entry) + " " + *wrong;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void EmulatedKernel::CloseObject::operator()(void* object) const { dlclose(object); }

EmulatedKernel::EmulatedKernel(const std::filesystem::path& object, const std::string& config)
    : config_(check_config(parse_config(config))),
      object_(dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (object_ == nullptr) throw Error(std::string("cannot load the kernel object: ") + dlerror());
  in_place_only_ = *static_cast<const bool*>(symbol(kInPlaceOnlyName));
  epilogue_ = parse_epilogue(static_cast<const char*>(symbol(kEpilogueName)));
}

void* EmulatedKernel::symbol(const std::string& name) const {
  void* const found = dlsym(object_.get(), name.c_str());
  if (found == nullptr) throw Error("the kernel object lacks " + name);
  return found;
}

EmulatedKernel::Entry& EmulatedKernel::entry_of(const Step& step) {
  const std::tuple key(step.entry, step.threads, step.smem_bytes);
  const auto known = entries_.find(key);
  if (known != entries_.end()) return known->second;
  const auto thread = reinterpret_cast<ThreadFunction*>(symbol(kThreadFunctionPrefix + step.entry));
  return entries_
      .try_emplace(
          key, thread,
          std::make_unique<Emulator>(step.threads, step.smem_bytes, resident_ctas(config_, step)))
      .first->second;
}

// Where a step may begin early, what comes from before it is there only when it has waited.
void EmulatedKernel::launch(const GemmCall& call, const LaunchPlan& plan, const TensorCore& core,
                            Order order, unsigned order_seed, Workspace& workspace,
                            const Before& before) {
  const auto encode = [](const BoundTensorMap& map, std::size_t, std::size_t, void* to) {
    std::memcpy(to, &map, sizeof map);
  };
  bool is_first = true;
  run_plan(
      plan, call, [&](std::size_t i) { return workspace.at(i); }, encode,
      [&](std::size_t, const Step& step, void* const* parameters) {
        const Entry& entry = entry_of(step);
        std::function<void()> end_before;
        if (step.overlaps && is_first && before.end) {
          before.begin();
          end_before = before.end;
        } else if (step.overlaps && !is_first) {
          workspace.hide();
          end_before = [&] { workspace.show(); };
        }
        is_first = false;
        entry.emulator->run({step.grid, order, order_seed, step.cluster.y, core, end_before},
                            [&](Cta& cta) { entry.thread(cta, parameters); });
      });
}

void EmulatedKernel::run(const GemmCall& call, const TensorCore& core, Order order) {
  const LaunchPlan plan = config_.plan(problem_of(call), sm_count(config_));
  Workspace workspace(plan);
  launch(call, plan, core, order, 1, workspace, {});
  if (const auto wrong = workspace.find_wrong()) throw Error(*wrong);
}

std::vector<char> EmulatedKernel::copy_of(CallValue operand, const GemmCall& call,
                                          const TensorCore& core) {
  const LaunchPlan plan =
      config_.plan(problem_of(call), sm_count(config_)).that_makes(operand).value();
  std::vector<char> copy(static_cast<std::size_t>(plan.workspace_bytes), '\xff');
  std::fill(copy.end() - static_cast<std::ptrdiff_t>(plan.zeroed_bytes), copy.end(), '\0');
  run_plan(
      plan, call, [&](std::size_t i) { return copy.data() + plan.regions[i].offset; },
      [](auto&&...) {},
      [&](std::size_t, const Step& step, void* const* parameters) {
        const Entry& entry = entry_of(step);
        entry.emulator->run({step.grid, Order::forward, 1, step.cluster.y, core, {}},
                            [&](Cta& cta) { entry.thread(cta, parameters); });
      });
  return copy;
}

std::optional<std::string> EmulatedKernel::check_once(const Case& c, const Operands& operands,
                                                      Order order, const std::vector<float>& known,
                                                      std::vector<float>& result) {
  const bool reads_ab = c.call.alpha != 0, reads_c = c.call.beta != 0;
  // all_nan: as they are before the launch before the first step has ended.
  const auto fill_all = [&](bool all_nan) {
    std::mt19937 random(c.seed);
    fill(operands.A, all_nan || !reads_ab, c.values, random);
    fill(operands.B, all_nan || !reads_ab, c.values, random);
    if (!c.in_place) fill(operands.D, true, c.values, random);
    fill(operands.C, all_nan || !reads_c, c.values, random);
    c.call.problem.epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
      if (slot < 0) return;
      const MatrixView& operand = operands.of_epilogue[static_cast<std::size_t>(slot)];
      // Factors of whole numbers are whole, and 1 at most: no product leaves fp32's exact range.
      const bool is_factor = is_f32(functor) && c.values == Values::integers;
      fill(operand, all_nan || functor.operand == OperandShape::output_d,
           is_factor ? Values::signs : c.values, random);
    });
  };
  fill_all(false);
  const std::vector<float> before = elements(operands.C);
  GemmCall call = in_place(c.call, operands.A.data, operands.B.data, operands.D.data);
  call.C = operands.C.data;
  std::vector<std::vector<void*>> arrays;
  if (call.problem.batch_kind == BatchKind::pointers) {
    for (const MatrixView* const m : {&operands.A, &operands.B, &operands.C, &operands.D}) {
      arrays.push_back(addresses_of(*m));
    }
    call = in_place(call, arrays[0].data(), arrays[1].data(), arrays[3].data());
    if (!c.in_place) call.C = arrays[2].data();
  }
  for (std::size_t i = 0; i < operands.of_epilogue.size(); ++i) {
    call.operands[i] = operands.of_epilogue[i].data;
  }
  const LaunchPlan plan = config_.plan(problem_of(call), sm_count(config_));
  Workspace workspace(plan);
  launch(call, plan, tensor_core_of(c.sm), order, c.seed, workspace,
         {[&] { fill_all(true); }, [&] { fill_all(false); }});
  result = elements(operands.D);
  const ErrorBound bound = error_bound(c.call.problem.signature, c.call.problem.K, c.sm);
  if (!same_bits(result, known)) {
    if (auto wrong = find_wrong_element(c, bound, operands.A, operands.B, operands.of_epilogue,
                                        before, result)) {
      return wrong;
    }
  }
  if (!c.in_place && !same_bits(elements(operands.C), before)) return "the kernel overwrote C";
  return workspace.find_wrong();
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
  c.call.problem.epilogue = epilogue_;
  const GemmCall& call = c.call;
  const OperandAlignments aligned = operand_alignments(config_, c.is_read_in_place);
  if (std::max({call.lda, call.ldb, call.ldc, call.stride_a, call.stride_b, call.stride_c}) >
      kLargestExactLd) {
    const SparseMatrix A(shape_a(call)), B(shape_b(call)), C(shape_c(call)), D(shape_c(call));
    std::deque<SparseMatrix> more;
    const auto views = views_of_epilogue(call, [&](const EpilogueFunctor& functor) {
      return more.emplace_back(shape_of(functor, call)).view();
    });
    return check_on(c, {A.view(), B.view(), C.view(), c.in_place ? C.view() : D.view(), views});
  }
  std::deque<ExactMatrix> more;
  const auto views = views_of_epilogue(call, [&](const EpilogueFunctor& functor) {
    const int alignment = lies_as_d(functor) ? aligned.c : 1;
    return more.emplace_back(shape_of(functor, call), alignment, kSentinelBits).view();
  });
  ExactMatrix A(shape_a(call), aligned.a, kQuietNanBits);
  ExactMatrix B(shape_b(call), aligned.b, kQuietNanBits);
  ExactMatrix C(shape_c(call), aligned.c, kSentinelBits);
  ExactMatrix D(shape_c(call), aligned.c, kSentinelBits);
  const MatrixView& result = c.in_place ? C.view() : D.view();
  if (const auto wrong = check_on(c, {A.view(), B.view(), C.view(), result, views})) return wrong;
  if (const auto where = C.find_overwritten_padding()) return "the kernel overwrote C: " + *where;
  if (const auto where = D.find_overwritten_padding()) return "the kernel overwrote D: " + *where;
  for (ExactMatrix& operand : more) {
    if (const auto where = operand.find_overwritten_padding()) {
      return "the kernel overwrote an operand of the epilogue: " + *where;
    }
  }
  return std::nullopt;
}

}  // namespace gemm_tune::emulator

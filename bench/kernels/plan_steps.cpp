// SPDX-License-Identifier: Apache-2.0
// Times the launches of configs, each apart and all of a call, on random normal elements in L2
// where they fit: what a launch before the product costs. Of configs whose copies of operands may
// be kept also all of a call that keeps B's, A's or both.
//
//   plan_steps PROBLEM CONFIG... [--overlap yes|no]
//
// PROBLEM: as in 4096x4096x4096:type=f32+fp32_f16x3, packed. --overlap: whether the product may
// begin before the launch before it has ended, in place of what the plan says; yes is for kernels
// that wait for it themselves. Needs a GPU. Exit codes: 0; 2 usage; 3
// no GPU, or a config that does not compile or serve.
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bench/program.h"
#include "core/error.h"
#include "core/launch/launch_plan.h"
#include "core/problem/gemm_call.h"
#include "core/text/words.h"
#include "gpu/device.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "gpu/nvml.h"
#include "kernel_templates/registry/registry.h"
#include "runtime/compile.h"
#include "runtime/prepared_call.h"
#include "tuner/measure/timing.h"

namespace gemm_tune {
namespace {

DeviceBuffer<float> operand(std::int64_t elements, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> block(static_cast<std::size_t>(std::min<std::int64_t>(elements, 1 << 20)));
  for (float& x : block) x = normal(random);
  DeviceBuffer<float> matrix(static_cast<std::size_t>(elements));
  for (std::size_t at = 0; at < matrix.size(); at += block.size()) {
    matrix.copy_from_host(
        std::span<const float>(block).first(std::min(block.size(), matrix.size() - at)), at);
  }
  return matrix;
}

class Bench {
 public:
  Bench(const Problem& problem, std::optional<bool> overlap)
      : problem_(problem),
        overlap_(overlap),
        a_(operand(problem.batch * problem.M * problem.K, 1)),
        b_(operand(problem.batch * problem.K * problem.N, 2)),
        d_(static_cast<std::size_t>(problem.batch * problem.M * problem.N)),
        call_(in_place(packed_call(problem), a_.data(), b_.data(), d_.data())) {}

  void print(const std::string& text) {
    const KnownConfig config = check_config(parse_config(text));
    if (const auto reason = why_illegal(config.recipe, problem_)) throw UsageError(*reason);
    const CompileResult compiled =
        compile_kernel(kernel_source(*config.family), config, form_of(call_), device_.arch);
    if (!compiled.ok) throw DeviceError(compiled.log);
    const LoadedKernels loaded(compiled.cubin);
    LaunchPlan plan = config.plan(problem_, device_.sm_count);
    for (Step& step : plan.steps) {
      if (step.entry == kProductEntry) step.overlaps = overlap_.value_or(step.overlaps);
    }
    DeviceBuffer<char> workspace(static_cast<std::size_t>(plan.workspace_bytes + 1));
    workspace.fill_bytes(0, stream_.get());
    const auto print_all = [&](const GemmCall& call, const char* kept) {
      const double all = time(loaded, plan, call, workspace);
      fmt::print("| {}{} | {:.2f} | {:.1f} |", text, kept, all, flops(problem_) / all * 1e-6);
    };
    print_all(call_, "");
    for (const Step& step : plan.steps) {
      LaunchPlan one = plan;
      one.steps = {step};
      one.steps.front().makes = Copies::none;
      fmt::print(" {}{} {:.2f} |", step.entry, word_of(kCopies, step.makes),
                 time(loaded, one, call_, workspace));
    }
    fmt::print("\n");
    const DeviceBuffer<char> a = copy_of(CallValue::A, loaded, plan),
                             b = copy_of(CallValue::B, loaded, plan);
    GemmCall keeping = call_;
    const auto print_keeping = [&](const void* kept_a, const void* kept_b, const char* kept) {
      keeping.kept_a = kept_a;
      keeping.kept_b = kept_b;
      print_all(keeping, kept);
      fmt::print("\n");
    };
    if (b.size() > 0) print_keeping(nullptr, b.data(), ", B kept");
    if (a.size() > 0) print_keeping(a.data(), nullptr, ", A kept");
    if (a.size() > 0 && b.size() > 0) print_keeping(a.data(), b.data(), ", A and B kept");
    std::fflush(stdout);  // for who interrupts
  }

 private:
  static constexpr auto kCopies = words<Copies>(
      {{Copies::none, ""}, {Copies::of_a, " A"}, {Copies::of_b, " B"}, {Copies::of_both, " A, B"}});

  // Empty where none may be kept.
  DeviceBuffer<char> copy_of(CallValue operand, const LoadedKernels& loaded,
                             const LaunchPlan& plan) {
    const std::optional<LaunchPlan> alone = plan.that_makes(operand);
    if (!alone) return {};
    DeviceBuffer<char> copy(static_cast<std::size_t>(alone->workspace_bytes));
    copy.fill_bytes(0, stream_.get());
    PreparedCall(loaded, *alone).launch(call_, copy.data(), stream_.get());
    return copy;
  }

  double time(const LoadedKernels& loaded, const LaunchPlan& plan, const GemmCall& call,
              const DeviceBuffer<char>& workspace) {
    const PreparedCall prepared(loaded, plan);
    const auto launch = [&](int) { prepared.launch(call, workspace.data(), stream_.get()); };
    launch(0);  // outside of a capture: it may load code
    stream_.synchronize();
    return timer_.time_interleaved({launch}, FinalsRule()).front().median_us;
  }

  const DeviceSpec device_ = query_device(current_device());
  const Problem problem_;
  const std::optional<bool> overlap_;
  const DeviceBuffer<float> a_, b_;
  DeviceBuffer<float> d_;
  const GemmCall call_;
  const Stream stream_;
  const Nvml nvml_{current_device()};
  LaunchTimer timer_{stream_, nvml_};
};

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  std::string problem;
  std::vector<std::string> configs;
  std::string overlap;
  CLI::App app("Times the launches of configs, each apart.", "plan_steps");
  app.add_option("PROBLEM", problem, "As in 4096x4096x4096:type=f32+fp32_f16x3")->required();
  app.add_option("CONFIG", configs, "Of that type and layout")->required();
  app.add_option("--overlap", overlap, "Whether the product begins before the launch before ends")
      ->check(CLI::IsMember({"yes", "no"}));
  parse_or_exit(app, argc, argv);
  return exit_code_of("plan_steps", [&] {
    const Problem parsed = parse_problem(problem);
    check_driver();
    Bench bench(parsed, overlap.empty() ? std::nullopt : std::optional(overlap == "yes"));
    fmt::print("| {} | us | TFLOP/s | launches, us |\n|---|---|---|---|\n", to_string(parsed));
    for (const std::string& config : configs) bench.print(config);
    return 0;
  });
}

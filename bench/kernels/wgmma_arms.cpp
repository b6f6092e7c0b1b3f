// SPDX-License-Identifier: Apache-2.0
// Kernels of the family wgmma beside cublasGemmEx and cublasLt's best of 100, random normal data,
// hot, in graphs. Needs a GPU of sm_90. Operands of f32 (type=f32+tf32) and of e4m3 have cublasLt's
// best of 100 alone, of e4m3 without and with fast accumulation, where its layout allows (nt).
//
//   wgmma_arms --sizes FILE > rows.jsonl
//
// For each problem the model's first configs are timed, without and with REDUCE, all arms in
// another order in each round. The best of each kind go on to finals beside the libraries, there
// also with what needs no other kernel: launches that overlap, the raster's group, L2 policies, the
// tensor maps' promotion, fewer parts. One line of JSON a problem; ratios are medians of those of a
// round, over the better library that does not accumulate fast. An arm that is wrong beside the
// first library is named and not timed.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "bench/kernels/lt_products.h"
#include "bench/program.h"
#include "core/in_parallel.h"
#include "core/launch/launch_plan.h"
#include "core/problem/gemm_call.h"
#include "core/types/float16.h"
#include "core/types/float8.h"
#include "core/usable_cpus.h"
#include "gpu/compile/ptxas_log.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/cuda_libraries/cublas_lt.h"
#include "gpu/device.h"
#include "gpu/launch/head_start.h"
#include "gpu/launch/launch_graph.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "gpu/launch/tensor_map.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"
#include "kernel_templates/wgmma/args.cuh"
#include "runtime/compile.h"
#include "runtime/loaded_kernels.h"
#include "search/model/static_model.h"

namespace gemm_tune {
namespace {

constexpr const char* kFamily = "wgmma";
constexpr double kSampleUs = 300;  // of a graph, at least
constexpr int kRepeats = 50;
constexpr int kMostSpills = 64;  // bytes a thread
constexpr int kLtAlgorithms = 100;
constexpr const char* kFastName = "cublasLt fast ";

struct Options {
  std::string sizes;
  int plain = 10, reducing = 5, rounds = 7, finals = 21;
  bool clusters = false, dry_run = false, compile = false;
};

// What a launch may change without another kernel.
struct Tweak {
  std::string name;
  bool overlaps = false;
  double raster = 1;  // times the plan's group
  unsigned long long left_hint = 0, right_hint = 0;
  std::optional<L2Promotion> promotion = {};
  int fewer_parts = 1;  // the plan's divided by this
};

struct Candidate {
  KnownConfig config;
  double predicted_us;
};

std::string text_of(const KnownConfig& config) { return to_string(config.config()); }

// The configs of the problem's types and layout in the model's order.
std::vector<Candidate> candidates_of(const Problem& problem, const DeviceSpec& device) {
  const KernelFamily& family = *find_family(kFamily);
  const bool d_is_aligned = problem.N * bytes_of(problem.signature.d) % 16 == 0;
  std::vector<std::vector<int>> points = {{}};
  for (const ParamSpec& param : family.params) {
    std::vector<int> values = param.values;
    if (param.role == Role::type_ab) values = {static_cast<int>(problem.signature.a)};
    if (param.role == Role::type_cd) values = {static_cast<int>(problem.signature.d)};
    if (param.role == Role::transposed_a) values = {transposes_a(problem.layout) ? 1 : 0};
    if (param.role == Role::transposed_b) values = {transposes_b(problem.layout) ? 1 : 0};
    if (param.role == Role::repack) values = {0};
    if (param.searched == SearchScope::in_one_order ||
        (param.searched == SearchScope::where_d_is_unaligned && d_is_aligned)) {
      values = {param.default_value.value()};
    }
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& point : points) {
      for (const int value : values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  std::vector<Candidate> all;
  for (std::vector<int>& point : points) {
    if (family.reject(point)) continue;
    KnownConfig config = known_config(family, std::move(point));
    if (why_illegal(config.recipe, problem)) continue;
    // Without anything to cut the kernel does what its specialisation does.
    if (config.traits.cuts_tiles &&
        config.plan(problem, device.sm_count).steps.back().entry != "reduce") {
      continue;
    }
    const double us = predict(config.traits, problem, device).time_us;
    all.push_back({std::move(config), us});
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.predicted_us < b.predicted_us;
  });
  return all;
}

std::vector<Candidate> first_of(const std::vector<Candidate>& all, bool reducing, int most) {
  std::vector<Candidate> chosen;
  for (const Candidate& one : all) {
    if (one.config.traits.cuts_tiles == reducing && static_cast<int>(chosen.size()) < most) {
      chosen.push_back(one);
    }
  }
  return chosen;
}

// Those that differ from one of `some` in their clusters alone, without `some`.
std::vector<Candidate> with_other_clusters(const std::vector<Candidate>& all,
                                           const std::vector<Candidate>& some) {
  const KernelFamily& family = *find_family(kFamily);
  const auto tile_of = [&](const Candidate& one) {
    std::vector<int> values = one.config.values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (family.params[i].name == "CLUSTER_M" || family.params[i].name == "CLUSTER_N") {
        values[i] = 1;
      }
    }
    return values;
  };
  std::set<std::vector<int>> tiles, known;
  for (const Candidate& one : some) {
    tiles.insert(tile_of(one));
    known.insert(one.config.values);
  }
  std::vector<Candidate> others;
  for (const Candidate& one : all) {
    if (tiles.contains(tile_of(one)) && !known.contains(one.config.values)) others.push_back(one);
  }
  return others;
}

// Compiles what is missing, on all cores.
class Compiled {
 public:
  void add(const std::vector<Candidate>& candidates) {
    for (const Candidate& one : candidates) wanted_.try_emplace(text_of(one.config), one.config);
  }

  void compile() {
    std::vector<std::pair<const std::string, KnownConfig>*> todo;
    for (auto& one : wanted_) todo.push_back(&one);
    std::vector<std::string> cubins(todo.size()), logs(todo.size());
    const KernelSource source = kernel_source(*find_family(kFamily));
    in_parallel(usable_cpus(), todo.size(), [&](std::size_t i) {
      const CompileResult done =
          compile_kernel(source, todo[i]->second, COperand::in_place, "sm_90");
      const auto serialised = serialised_wgmma(done.log);
      const int spills = done.resources.spill_bytes;
      if (done.ok && !serialised && spills <= kMostSpills) {
        cubins[i] = done.cubin;
      } else {
        logs[i] = serialised ? std::string(*serialised)
                  : done.ok  ? std::to_string(spills) + " bytes spill"
                             : done.log;
      }
    });
    for (std::size_t i = 0; i < todo.size(); ++i) {
      if (!cubins[i].empty()) cubins_.emplace(todo[i]->first, cubins[i]);
      if (!logs[i].empty()) fmt::print(stderr, "{}: {}\n", todo[i]->first, logs[i]);
    }
    fmt::print(stderr, "{} of {} kernels compiled\n", cubins_.size(), todo.size());
  }

  // Null where it did not compile.
  const LoadedKernels* loaded(const std::string& config) {
    const auto known = loaded_.find(config);
    if (known != loaded_.end()) return known->second.get();
    const auto cubin = cubins_.find(config);
    if (cubin == cubins_.end()) return nullptr;
    return loaded_.emplace(config, std::make_unique<LoadedKernels>(cubin->second))
        .first->second.get();
  }

 private:
  std::map<std::string, KnownConfig> wanted_;
  std::map<std::string, std::string> cubins_;
  std::map<std::string, std::unique_ptr<LoadedKernels>> loaded_;
};

// One launch of a plan as the tweak says.
void launch(const LaunchPlan& plan, const LoadedKernels& kernels, const GemmCall& call,
            const Tweak& tweak, char* workspace, cudaStream_t stream) {
  const auto change = [&](wgmma::Args& args) {
    const TileRaster& tiles = args.tiles;
    const long group = std::lround(tiles.group.value * tweak.raster);
    args.tiles =
        tile_raster(tiles.rows, tiles.cols, tiles.matrices, std::max(1, static_cast<int>(group)));
    if (tweak.left_hint != 0) args.left_hint = tweak.left_hint;
    if (tweak.right_hint != 0) args.right_hint = tweak.right_hint;
    args.parts = std::max(2, args.parts / tweak.fewer_parts);
  };
  run_plan(
      plan, call, [&](std::size_t i) { return workspace + plan.regions[i].offset; },
      [&](BoundTensorMap map, std::size_t, std::size_t i, void* to) {
        if (tweak.promotion && i < 2) map.promotion = *tweak.promotion;
        encode_tensor_map(map, to);
      },
      [&](std::size_t index, const Step& step, void** parameters) {
        const bool is_product = step.entry == kProductEntry;
        if (is_product || step.entry == "reduce") {
          change(*static_cast<wgmma::Args*>(parameters[is_product ? 3 : 0]));
        }
        using Begin = LoadedKernel::Begin;
        const bool early = step.overlaps && (index > 0 || tweak.overlaps);
        kernels.at(step.entry)
            .launch(step.grid, step.threads, step.smem_bytes, stream, parameters,
                    early ? Begin::early : Begin::after_earlier_work);
      });
}

// Random normal values of a type, the same few millions again and again, in device memory.
class NormalValues {
 public:
  explicit NormalValues(ElementType type)
      : bytes_(static_cast<std::size_t>(bytes_of(type))), table_(kValues * bytes_) {
    std::mt19937 random(20261126);
    std::normal_distribution<float> normal;
    std::vector<char> values(kValues * bytes_);
    for (std::size_t i = 0; i < kValues; ++i) put(values.data() + i * bytes_, type, normal(random));
    table_.copy_from_host(values);
  }

  DeviceBuffer<char> matrix(std::size_t elements) const {
    DeviceBuffer<char> all(elements * bytes_);
    for (std::size_t at = 0; at < all.size(); at += table_.size()) {
      const std::size_t count = std::min(table_.size(), all.size() - at);
      GT_CUDA(cudaMemcpy(all.data() + at, table_.data(), count, cudaMemcpyDeviceToDevice));
    }
    GT_CUDA(cudaDeviceSynchronize());
    return all;
  }

 private:
  static constexpr std::size_t kValues = 3999971;  // a prime: no row of a matrix is another's

  static void put(char* to, ElementType type, float value) {
    if (type == ElementType::f32) {
      std::memcpy(to, &value, sizeof value);
    } else if (type == ElementType::e4m3) {
      const std::uint8_t bits = e4m3_from_float(value);
      std::memcpy(to, &bits, sizeof bits);
    } else {
      const std::uint16_t bits = from_float(type == ElementType::f16 ? kF16 : kBf16, value);
      std::memcpy(to, &bits, sizeof bits);
    }
  }

  std::size_t bytes_;
  DeviceBuffer<char> table_;
};

// Element i of D's.
double value_at(const std::vector<char>& elements, std::size_t i, ElementType type) {
  if (type == ElementType::f32) {
    float value = 0;
    std::memcpy(&value, elements.data() + i * sizeof value, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, elements.data() + i * sizeof bits, sizeof bits);
  return to_float(type == ElementType::f16 ? kF16 : kBf16, bits);
}

// What is timed: a function that enqueues one product.
struct Arm {
  std::string name, config;
  std::function<void()> enqueue;
  std::unique_ptr<LaunchGraph> graph;
  int launches = 1;
  std::vector<double> us;  // of each round
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Bench {
 public:
  Bench(Options options, const DeviceSpec& device)
      : options_(std::move(options)),
        device_(device),
        lt_workspace_(std::max(CublasLt::kWorkspaceBytes, LtProducts::kWorkspaceBytes)) {
    cublas_.set_stream(stream_.get());
  }

  nlohmann::json run(const Problem& problem, Compiled& compiled) {
    const std::vector<Candidate> all = candidates_of(problem, device_);
    std::vector<Candidate> ours = first_of(all, false, options_.plain);
    if (options_.clusters) {
      for (Candidate& one : with_other_clusters(all, ours)) ours.push_back(std::move(one));
    }
    for (Candidate& one : first_of(all, true, options_.reducing)) ours.push_back(std::move(one));
    prepare(problem);
    std::vector<Arm> arms = libraries();
    for (const Candidate& one : ours) add(arms, one.config, compiled, {"plain"});
    time(arms, options_.rounds);
    nlohmann::json row = {{"problem", to_string(problem)}, {"wrong", wrong_}};
    for (const Arm& arm : arms) {
      row["first"].push_back({{"name", arm.name}, {"config", arm.config}, {"us", median(arm.us)}});
    }
    finals(row, arms, ours, compiled);
    return row;
  }

 private:
  void prepare(const Problem& problem) {
    problem_ = problem;
    wrong_ = nlohmann::json::array();
    plans_.clear();
    const Signature& types = problem.signature;
    const NormalValues& values = values_.try_emplace(types.a, types.a).first->second;
    A_ = values.matrix(static_cast<std::size_t>(problem.M * problem.K));
    B_ = values.matrix(static_cast<std::size_t>(problem.K * problem.N));
    d_bytes_ = static_cast<std::size_t>(bytes_of(types.d));
    D_ = DeviceBuffer<char>(static_cast<std::size_t>(problem.M * problem.N) * d_bytes_);
    call_ = in_place(packed_call(problem), A_.data(), B_.data(), D_.data());
    lt_plan_.reset();
    slow_.reset();
    fast_.reset();
    if (has_gemm_ex()) {
      lt_plan_.emplace(lt_.plan(call_, kLtAlgorithms));
    } else {
      slow_ = std::make_unique<LtProducts>(call_, false, kLtAlgorithms);
      if (types.a == ElementType::e4m3) {
        fast_ = std::make_unique<LtProducts>(call_, true, kLtAlgorithms);
      }
    }
    const std::vector<Arm> all = libraries();
    if (all.empty()) throw Error("no library has an arm for " + to_string(problem));
    all.front().enqueue();
    stream_.synchronize();
    right_ = some_of_d();
  }

  bool has_gemm_ex() const { return info_of(problem_.signature.a).bits == 16; }

  // The last and the first million elements of D.
  std::vector<char> some_of_d() const {
    const std::size_t count = std::min<std::size_t>(D_.size(), 1000000 * d_bytes_);
    std::vector<char> all(2 * count);
    GT_CUDA(cudaMemcpy(all.data(), D_.data(), count, cudaMemcpyDeviceToHost));
    GT_CUDA(cudaMemcpy(all.data() + count, D_.data() + D_.size() - count, count,
                       cudaMemcpyDeviceToHost));
    return all;
  }

  // Rounded operands and sums of few bits differ more from each other's.
  bool is_right() const {
    const std::vector<char> got = some_of_d();
    const ElementType d = problem_.signature.d;
    const double slack = (has_gemm_ex() ? 2e-3 : 2e-2) * std::sqrt(static_cast<double>(problem_.K));
    for (std::size_t i = 0; i < got.size() / d_bytes_; ++i) {
      const double a = value_at(got, i, d), b = value_at(right_, i, d);
      if (!(std::abs(a - b) <= 0x1p-7 * std::max(std::abs(a), std::abs(b)) + slack)) return false;
    }
    return true;
  }

  std::vector<Arm> libraries() {
    std::vector<Arm> arms;
    const auto add = [&](const std::string& name, std::function<void()> enqueue) {
      arms.push_back({name, "", std::move(enqueue), nullptr, 1, {}});
    };
    if (lt_plan_) {
      add("cublasGemmEx", [this] { cublas_.gemm(call_); });
      for (std::size_t i = 0; i < lt_plan_->size(); ++i) {
        add("cublasLt " + std::to_string(i), [this, i] {
          if (!lt_plan_->run(i, call_, stream_.get(), lt_workspace_.data())) {
            throw Error("cublasLt refuses the call");
          }
        });
      }
    }
    const auto add_products = [&](const std::string& name, const LtProducts* products) {
      if (products == nullptr) return;
      for (std::size_t i = 0; i < products->size(); ++i) {
        add(name + std::to_string(i),
            [this, products, i] { products->run(i, stream_.get(), lt_workspace_.data()); });
      }
    };
    add_products("cublasLt ", slow_.get());
    add_products(kFastName, fast_.get());
    return arms;
  }

  void add(std::vector<Arm>& arms, const KnownConfig& config, Compiled& compiled,
           const Tweak& tweak) {
    const std::string text = text_of(config);
    const LoadedKernels* const kernels = compiled.loaded(text);
    if (kernels == nullptr) return;
    const auto plan = plans_.try_emplace(text, config.plan(call_.problem, device_.sm_count)).first;
    const LaunchPlan& known = plan->second;
    if (static_cast<std::size_t>(known.workspace_bytes) > workspace_.size()) {
      workspace_ = DeviceBuffer<char>(static_cast<std::size_t>(known.workspace_bytes));
    }
    const auto enqueue = [this, &known, kernels, tweak] {
      launch(known, *kernels, call_, tweak, workspace_.data(), stream_.get());
    };
    // Poisoned before, twice in a row: a launch that does not wait shows.
    if (workspace_.size() > 0) workspace_.fill_bytes(0xff, stream_.get());
    D_.fill_bytes(0xff, stream_.get());
    stream_.synchronize();
    try {
      enqueue();
      enqueue();
      stream_.synchronize();
    } catch (const std::exception& error) {
      wrong_.push_back(tweak.name + " " + text + ": " + error.what());
      throw;
    }
    if (!is_right()) {
      wrong_.push_back(tweak.name + " " + text);
      return;
    }
    arms.push_back({tweak.name, text, enqueue, nullptr, 1, {}});
  }

  // Launches one behind the other, which may overlap, leave the same bits as one alone.
  void check_repeats(const std::vector<Arm>& arms) {
    for (const Arm& arm : arms) {
      if (is_library(arm)) continue;
      arm.enqueue();
      stream_.synchronize();
      const std::vector<char> alone = some_of_d();
      const LaunchGraph many(stream_, [&] {
        for (int i = 0; i < kRepeats; ++i) arm.enqueue();
      });
      many.launch(stream_.get());
      for (int i = 0; i < kRepeats; ++i) arm.enqueue();
      stream_.synchronize();
      if (some_of_d() != alone) wrong_.push_back("other bits: " + arm.name + " " + arm.config);
    }
  }

  // Of cubes: a product whose operand the launch before stores, with and without overlap.
  void check_chain(const KnownConfig& config, Compiled& compiled) {
    if (problem_.M != problem_.N || problem_.M != problem_.K || problem_.M > 4096) return;
    if (problem_.signature.a != problem_.signature.d) return;
    const LaunchPlan& plan = plans_.at(text_of(config));
    const LoadedKernels& kernels = *compiled.loaded(text_of(config));
    DeviceBuffer<char> E(D_.size());
    const GemmCall back = in_place(packed_call(problem_), D_.data(), B_.data(), E.data());
    const GemmCall there = in_place(packed_call(problem_), E.data(), A_.data(), D_.data());
    std::vector<char> results[2];
    for (const bool overlaps : {false, true}) {
      const Tweak tweak = {.name = "chain", .overlaps = overlaps};
      for (int i = 0; i < kRepeats; ++i) {
        for (const GemmCall& call : {call_, back, there}) {
          launch(plan, kernels, call, tweak, workspace_.data(), stream_.get());
        }
      }
      stream_.synchronize();
      results[overlaps ? 1 : 0] = some_of_d();
    }
    if (results[0] != results[1]) wrong_.push_back("chain: " + text_of(config));
  }

  // The head start hides the host's cost of the graph's launch.
  double sample_us(Arm& arm) {
    while (true) {
      head_start_.launch(stream_.get());
      begin_.record(stream_.get());
      arm.graph->launch(stream_.get());
      end_.record(stream_.get());
      const bool may_have_waited = begin_.is_done();
      end_.synchronize();
      if (may_have_waited && head_start_.lengthen()) continue;
      return elapsed_us(begin_, end_) / arm.launches;
    }
  }

  void capture(Arm& arm, int launches) {
    arm.launches = launches;
    arm.graph = std::make_unique<LaunchGraph>(stream_, [&] {
      for (int i = 0; i < launches; ++i) arm.enqueue();
    });
  }

  // Each arm once a round, in another order each time.
  void time(std::vector<Arm>& arms, int rounds) {
    for (Arm& arm : arms) {
      capture(arm, 1);
      sample_us(arm);
      const double us = std::max(sample_us(arm), 0.5);
      capture(arm, std::clamp(static_cast<int>(kSampleUs / us) + 1, 1, 200));
    }
    std::vector<std::size_t> order(arms.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random_);
      for (const std::size_t i : order) arms[i].us.push_back(sample_us(arms[i]));
    }
  }

  static const Arm* best(const std::vector<Arm>& arms, const std::function<bool(const Arm&)>& is) {
    const Arm* found = nullptr;
    for (const Arm& arm : arms) {
      if (is(arm) && (found == nullptr || median(arm.us) < median(found->us))) found = &arm;
    }
    return found;
  }

  static bool is_library(const Arm& arm) { return arm.config.empty(); }
  static bool is_fast(const Arm& arm) { return arm.name.starts_with(kFastName); }
  static bool reduces(const Arm& arm) { return arm.config.find("REDUCE=1") != std::string::npos; }

  void finals(nlohmann::json& row, const std::vector<Arm>& first,
              const std::vector<Candidate>& ours, Compiled& compiled) {
    using wgmma::kEvictFirst;
    using wgmma::kEvictLast;
    const std::vector<Tweak> tweaks = {{"plain"},
                                       {.name = "overlap", .overlaps = true},
                                       {.name = "raster/2", .raster = 0.5},
                                       {.name = "raster*2", .raster = 2},
                                       {.name = "left first", .left_hint = kEvictFirst},
                                       {.name = "right first", .right_hint = kEvictFirst},
                                       {.name = "left last", .left_hint = kEvictLast},
                                       {.name = "right last", .right_hint = kEvictLast},
                                       {.name = "promote 128", .promotion = L2Promotion::bytes_128},
                                       {.name = "promote none", .promotion = L2Promotion::none}};
    const std::vector<Tweak> of_parts = {{"plain"},
                                         {.name = "overlap", .overlaps = true},
                                         {.name = "parts/2", .fewer_parts = 2},
                                         {.name = "parts/4", .fewer_parts = 4}};
    std::vector<Arm> arms;
    for (const auto& is_wanted : std::vector<std::function<bool(const Arm&)>>{
             [](const Arm& a) { return a.name == "cublasGemmEx"; },
             [](const Arm& a) { return a.name.starts_with("cublasLt") && !is_fast(a); },
             [](const Arm& a) { return is_fast(a); }}) {
      const Arm* const found = best(first, is_wanted);
      if (found == nullptr) continue;
      for (Arm& arm : libraries()) {
        if (arm.name == found->name) arms.push_back(std::move(arm));
      }
    }
    const Arm* const plain =
        best(first, [](const Arm& a) { return !is_library(a) && !reduces(a); });
    const Arm* const reducing = best(first, [](const Arm& a) { return reduces(a); });
    const auto add_all = [&](const Arm* arm, const std::vector<Tweak>& with) {
      if (arm == nullptr) return;
      for (const Candidate& one : ours) {
        if (text_of(one.config) != arm->config) continue;
        for (const Tweak& tweak : with) add(arms, one.config, compiled, tweak);
      }
    };
    add_all(plain, tweaks);
    add_all(reducing, of_parts);
    check_repeats(arms);
    for (const Arm* arm : {plain, reducing}) {
      if (arm == nullptr) continue;
      for (const Candidate& one : ours) {
        if (text_of(one.config) == arm->config) check_chain(one.config, compiled);
      }
    }
    time(arms, options_.finals);
    report(row, arms);
  }

  void report(nlohmann::json& row, const std::vector<Arm>& arms) const {
    const double operations = 2.0 * static_cast<double>(problem_.M) *
                              static_cast<double>(problem_.N) * static_cast<double>(problem_.K);
    for (const Arm& arm : arms) {
      std::vector<double> ratios;  // of the better library of the round
      for (std::size_t i = 0; i < arm.us.size(); ++i) {
        std::optional<double> least;
        for (const Arm& other : arms) {
          if (is_library(other) && !is_fast(other)) {
            least = std::min(least.value_or(other.us[i]), other.us[i]);
          }
        }
        ratios.push_back(least.value_or(0) / arm.us[i]);
      }
      const double us = median(arm.us);
      row["finals"].push_back({{"name", arm.name},
                               {"config", arm.config},
                               {"us", us},
                               {"tflops", operations / us * 1e-6},
                               {"ratio", median(ratios)}});
    }
  }

  const Options options_;
  const DeviceSpec device_;
  const Stream stream_;
  HeadStart head_start_;
  Event begin_, end_;
  Cublas cublas_;
  CublasLt lt_;
  DeviceBuffer<char> lt_workspace_, workspace_;
  std::map<ElementType, NormalValues> values_;
  std::mt19937 random_{7};
  Problem problem_;
  GemmCall call_;
  std::size_t d_bytes_ = 0;
  DeviceBuffer<char> A_, B_, D_;
  std::vector<char> right_;
  std::optional<CublasLt::Plan> lt_plan_;
  std::unique_ptr<LtProducts> slow_, fast_;
  std::map<std::string, LaunchPlan> plans_;
  nlohmann::json wrong_;
};

std::vector<Problem> problems_in(const std::string& path) {
  std::ifstream file(path);
  std::vector<Problem> problems;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') problems.push_back(parse_problem(line));
  }
  if (problems.empty()) throw UsageError("no problem in " + path);
  return problems;
}

int run(const Options& options) {
  const std::vector<Problem> problems = problems_in(options.sizes);
  const DeviceSpec device = options.dry_run ? find_device_spec("sm_90").value() : query_device(0);
  Compiled compiled;
  for (const Problem& problem : problems) {
    const std::vector<Candidate> all = candidates_of(problem, device);
    for (const bool reducing : {false, true}) {
      const auto chosen = first_of(all, reducing, reducing ? options.reducing : options.plain);
      compiled.add(chosen);
      if (options.clusters && !reducing) compiled.add(with_other_clusters(all, chosen));
      for (std::size_t i = 0; options.dry_run && i < std::min<std::size_t>(chosen.size(), 2); ++i) {
        fmt::print("{} {:.2f} us {}\n", to_string(problem), chosen[i].predicted_us,
                   text_of(chosen[i].config));
      }
    }
  }
  if (options.dry_run && !options.compile) return 0;
  compiled.compile();
  if (options.dry_run) return 0;
  Bench bench(options, device);
  for (const Problem& problem : problems) {
    fmt::print("{}\n", bench.run(problem, compiled).dump());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  CLI::App app("Kernels of wgmma beside cuBLAS and cublasLt");
  Options options;
  app.add_option("--sizes", options.sizes, "A problem a line, as 4096x4096x64:type=bf16:layout=nt")
      ->required();
  app.add_option("--plain", options.plain, "Configs a problem without REDUCE");
  app.add_option("--reducing", options.reducing, "Configs a problem with REDUCE");
  app.add_flag("--clusters", options.clusters, "Also their tiles in all other clusters");
  app.add_option("--rounds", options.rounds, "Of the first timing");
  app.add_option("--finals", options.finals, "Rounds of finals");
  app.add_flag("--dry-run", options.dry_run, "Print the model's first configs; needs no GPU");
  app.add_flag("--compile", options.compile, "Compile them, too, with --dry-run");
  parse_or_exit(app, argc, argv);
  return exit_code_of("wgmma_arms", [&] { return run(options); });
}

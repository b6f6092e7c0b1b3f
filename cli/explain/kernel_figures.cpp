// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/kernel_figures.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/launch/launch_plan.h"
#include "core/problem/gemm_call.h"
#include "core/text/words.h"
#include "tuner/report/report.h"

namespace gemm_tune {
namespace {

using ptx::Access;
using ptx::AccessCount;
using ptx::Accesses;
using ptx::AccessKey;
using ptx::Memory;
using ptx::MemoryInstruction;

// About two seconds of execution.
constexpr std::int64_t kMostInstructions = 20'000'000;
constexpr double kSectorBytes = 32;

// The step that multiplies. Throws Error where its kernel's argument is not GemmArgs.
ptx::TracedLaunch launch_of(const KnownConfig& config, const Problem& problem, int sm_count) {
  const auto at = [](Memory memory) { return reinterpret_cast<void*>(ptx::base_of(memory)); };
  GemmCall call = in_place(packed_call(problem), at(Memory::a), at(Memory::b), at(Memory::d));
  call.alpha = 1;
  call.beta = 0;
  const LaunchPlan plan = config.plan(problem, sm_count);
  const auto region_at = [&](std::size_t i) -> void* {
    const WorkspaceRegion& region = plan.regions[i];
    if (region.copy_of) return at(*region.copy_of == CallValue::A ? Memory::a : Memory::b);
    return static_cast<char*>(at(Memory::workspace)) + region.offset;
  };
  ptx::TracedLaunch traced{};
  run_plan(
      plan, call, region_at, [](auto&&...) {},
      [&](std::size_t, const Step& step, void** parameters) {
        if (step.entry != kProductEntry) return;
        if (!config.family->takes_gemm_args) {
          throw Error("its kernel takes other arguments than explain knows");
        }
        traced.args = *static_cast<const GemmArgs*>(parameters[0]);
        traced.grid = step.grid;
        traced.threads = step.threads;
      });
  return traced;
}

// Whether a thread's share of the work lets all of K be executed.
bool is_short(const KnownConfig& config, const Problem& problem) {
  const Traits& t = config.traits;
  const double warps = static_cast<double>(t.threads) / 32;
  // Of a k step: loads, and the arithmetic of their addresses.
  const double per_k = t.feed_instructions_per_k + t.other_instructions_per_k +
                       t.fill_instructions_per_tile_k / t.tile_k + 1;
  return warps * per_k * static_cast<double>(problem.K) < 0.5 * kMostInstructions;
}

Accesses extrapolated(const ptx::Kernel& kernel, const KnownConfig& config, Problem problem,
                      int sm_count) {
  const Traits& t = config.traits;
  const auto unit = static_cast<std::int64_t>(std::max(t.tile_k, 32)) * t.split_k * 8;
  const std::int64_t k = problem.K, rest = k % unit;
  const auto at = [&](std::int64_t units) {
    problem.K = units * unit + rest;
    return ptx::trace(kernel, launch_of(config, problem, sm_count), kMostInstructions);
  };
  const Accesses one = at(1);
  Accesses two = at(2);
  const std::int64_t units = (k - rest) / unit;
  const auto more = static_cast<double>(units - 2);
  for (auto& [key, count] : two) {
    const auto before = one.find(key);
    AccessCount step = count;
    if (before != one.end()) step += before->second.scaled(-1);
    count += step.scaled(more);
  }
  return two;
}

bool is_shared(const AccessKey& key) { return key.memory == Memory::shared; }

// "4 B", "8 B 67 %, 16 B 33 %", "4, 8, 16 B".
std::string widths_text(const AccessCount& count) {
  const auto& widths = count.requests_by_bytes;
  if (widths.size() == 1) return fmt::format("{} B a lane", widths.begin()->first);
  std::string text;
  for (const auto& [bytes, requests] : widths) {
    if (!text.empty()) text += ", ";
    text += widths.size() == 2
                ? fmt::format("{} B {:.0f} %", bytes, 100 * requests / count.requests)
                : fmt::format("{}", bytes);
  }
  return widths.size() == 2 ? text : text + " B";
}

nlohmann::json widths_json(const AccessCount& count) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [bytes, requests] : count.requests_by_bytes) {
    json[std::to_string(bytes)] = requests / count.requests;
  }
  return json;
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1000;
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

class Figures {
 public:
  explicit Figures(const KernelAnalysis& kernel) : kernel_(kernel) {}

  void add(std::string key, std::string name, std::string text, nlohmann::json value, Origin from) {
    all_.push_back({std::move(key), std::move(name), std::move(text), std::move(value), from});
  }

  void add_unknown(std::string key, std::string name, Origin from, std::string why,
                   std::string settled_by) {
    all_.push_back({std::move(key), std::move(name), "inconclusive", nullptr, from, std::move(why),
                    std::move(settled_by)});
  }

  // Widths, and a figure about the addresses. instruction: which the machine code must have as the
  // PTX has it.
  template <class Wanted>
  void add_accesses(const std::string& key, const std::string& name, MemoryInstruction instruction,
                    Wanted wanted) {
    const AccessCount count = ptx::sum_of(kernel_.accesses.of_cta, wanted);
    if (count.requests == 0) return;
    const bool shared = count.wavefronts > 0;
    const std::string second_key = key + (shared ? "_conflict_degree" : "_sectors_per_request");
    const std::string second = shared ? "  bank conflicts" : "  sectors a request";
    if (const auto merged = kernel_.accesses.merged.find(instruction);
        merged != kernel_.accesses.merged.end()) {
      const std::string why =
          "ptxas merges " + std::string(to_string(instruction)) + ": " + merged->second;
      add_unknown(key + "_bytes_of_lane", name, Origin::compiler, why, "ncu on the kernel");
      return add_unknown(second_key, second, Origin::formula, why, "ncu on the kernel");
    }
    add(key + "_bytes_of_lane", name, widths_text(count), widths_json(count), Origin::compiler);
    if (shared) {
      const double degree = count.wavefronts / count.conflict_free;
      add(second_key, second, degree == 1 ? "none" : fmt::format("{:.2f}-way", degree), degree,
          Origin::formula);
      const double passes = count.wavefronts / count.requests;
      add(key + "_passes_per_request", "  passes a request", fmt::format("{:.2f}", passes), passes,
          Origin::formula);
    } else {
      const double sectors = count.sectors / count.requests;
      const double used = count.bytes / count.sectors;
      add(second_key, second, fmt::format("{:.4g}, {:.3g} of 32 B", sectors, used), sectors,
          Origin::formula);
      add_hidden(key + "_bytes_used_per_sector", used);
    }
  }

  // For JSON only.
  void add_hidden(std::string key, nlohmann::json value) {
    all_.push_back({std::move(key), "", "", std::move(value), Origin::formula});
  }

  std::vector<Figure> take() { return std::move(all_); }

 private:
  const KernelAnalysis& kernel_;
  std::vector<Figure> all_;
};

void add_occupancy(Figures& to, const KernelAnalysis& kernel, const DeviceSpec& device) {
  const Resources& r = kernel.resources;
  to.add("registers", "registers a thread", fmt::format("{}", r.registers), r.registers,
         Origin::compiler);
  to.add("spill_bytes", "spills a thread", fmt::format("{} B", r.spill_bytes), r.spill_bytes,
         Origin::compiler);
  to.add("smem_bytes", "shared memory a CTA", fmt::format("{} B", r.smem_bytes), r.smem_bytes,
         Origin::formula);
  to.add("ctas_per_sm", "CTAs per SM",
         fmt::format("{}, by {}", kernel.fit.ctas_per_sm, to_string(kernel.fit.limiter)),
         kernel.fit.ctas_per_sm, Origin::formula);
  to.add("occupancy", "occupancy", fmt::format("{:.1f} %", 100 * kernel.fit.fraction),
         kernel.fit.fraction, Origin::formula);
  if (kernel.fit.ctas_per_sm == 0) return;
  to.add("ctas", "CTAs", fmt::format("{}", kernel.grid.ctas()), kernel.grid.ctas(),
         Origin::formula);
  to.add("waves", "waves", fmt::format("{:.2f}", kernel.waves.waves), kernel.waves.waves,
         Origin::formula);
  const long long slots = static_cast<long long>(device.sm_count) * kernel.fit.ctas_per_sm;
  const bool is_full = kernel.waves.tail_ctas == 0;
  to.add("tail_ctas", "last wave",
         is_full ? "full" : fmt::format("{} of {} CTAs", kernel.waves.tail_ctas, slots),
         is_full ? slots : kernel.waves.tail_ctas, Origin::formula);
}

void add_bytes(Figures& to, const KernelAnalysis& kernel, const Problem& problem) {
  if (kernel.prediction.flops_per_dram_byte > 0) {
    const double dram = flops(problem) / kernel.prediction.flops_per_dram_byte;
    to.add("dram_bytes", "bytes of DRAM", bytes_text(dram), dram, Origin::formula);
    to.add("flops_per_dram_byte", "FLOP per DRAM byte",
           fmt::format("{:.4g}", kernel.prediction.flops_per_dram_byte),
           kernel.prediction.flops_per_dram_byte, Origin::formula);
  }
  const AccessCount global =
      ptx::sum_of(kernel.accesses.of_cta, [](const AccessKey& key) { return !is_shared(key); });
  const double bytes = global.sectors * kSectorBytes * static_cast<double>(kernel.grid.ctas());
  if (bytes == 0) return;
  to.add("l1_bytes", "bytes asked of L1", bytes_text(bytes), bytes, Origin::formula);
  to.add("flops_per_l1_byte", "FLOP per such byte", fmt::format("{:.4g}", flops(problem) / bytes),
         flops(problem) / bytes, Origin::formula);
}

void add_accesses(Figures& to, const KernelAnalysis& kernel) {
  if (!kernel.accesses.why_none.empty()) {
    return to.add_unknown("accesses", "memory accesses", Origin::formula, kernel.accesses.why_none,
                          "ncu on the kernel");
  }
  const auto of = [](Access access, Memory memory) {
    return [=](const AccessKey& key) { return key.access == access && key.memory == memory; };
  };
  const auto loads = MemoryInstruction::global_load, stores = MemoryInstruction::global_store;
  to.add_accesses("loads_of_a", "loads of A", loads, of(Access::global_load, Memory::a));
  to.add_accesses("loads_of_b", "loads of B", loads, of(Access::global_load, Memory::b));
  to.add_accesses("stores_of_d", "stores of D", stores, of(Access::global_store, Memory::d));
  to.add_accesses("loads_of_partial_sums", "loads of partial sums", loads,
                  of(Access::global_load, Memory::workspace));
  to.add_accesses("stores_of_partial_sums", "stores of such sums", stores,
                  of(Access::global_store, Memory::workspace));
  to.add_accesses("shared_loads", "shared loads", MemoryInstruction::shared_load,
                  of(Access::shared_load, Memory::shared));
  to.add_accesses(
      "shared_stores", "shared stores", MemoryInstruction::shared_store,
      [](const AccessKey& key) { return key.access == Access::shared_store && !key.is_async; });
  to.add_accesses(
      "shared_async_copies", "cp.async to shared", MemoryInstruction::copy_async,
      [](const AccessKey& key) { return key.access == Access::shared_store && key.is_async; });
}

constexpr auto kOrigins = words<Origin>({{Origin::compiler, "compiler"},
                                         {Origin::formula, "formula"},
                                         {Origin::measurement, "measurement"}});

}  // namespace

std::string_view to_string(Origin origin) { return word_of(kOrigins, origin); }

KernelAccesses kernel_accesses(const KnownConfig& config, const Problem& problem, int sm_count,
                               std::string_view ptx, std::string_view cubin) {
  KernelAccesses result;
  if (problem.K == 0 || problem.M == 0 || problem.N == 0 || problem.batch == 0) {
    result.why_none = "the problem has no work";
    return result;
  }
  try {
    const ptx::Kernel kernel = ptx::parse(ptx);
    result.merged = merged_accesses(memory_instructions(kernel), ptx::memory_instructions(cubin));
    const bool has_pieces = grid_of(config.recipe, problem, sm_count).piece_k > 0;
    result.of_cta = is_short(config, problem) || has_pieces
                        ? trace(kernel, launch_of(config, problem, sm_count), kMostInstructions)
                        : extrapolated(kernel, config, problem, sm_count);
  } catch (const Error& error) {  // a kernel of --kernel-dir may have any instruction
    result.of_cta.clear();
    result.why_none = error.what();
  }
  return result;
}

KernelAnalysis analyse(const KnownConfig& config, const Problem& problem, const DeviceSpec& device,
                       const Resources& resources, KernelAccesses accesses,
                       std::optional<double> measured_us) {
  KernelAnalysis kernel{config,
                        grid_of(config.recipe, problem, device.sm_count),
                        resources,
                        {},
                        {},
                        {},
                        std::move(accesses),
                        measured_us};
  kernel.fit =
      occupancy(device, config.recipe.block_threads, resources.registers, resources.smem_bytes);
  if (kernel.fit.ctas_per_sm > 0) {
    kernel.waves = waves(device, kernel.grid.ctas(), kernel.fit.ctas_per_sm);
  }
  kernel.prediction = predict(config.traits, problem, device, resources);
  return kernel;
}

std::vector<Figure> figures(const KernelAnalysis& kernel, const Problem& problem,
                            const DeviceSpec& device, const std::string& how_to_measure) {
  Figures all(kernel);
  if (kernel.measured_us) {
    all.add("measured_us", "time, measured", duration_text(*kernel.measured_us),
            *kernel.measured_us, Origin::measurement);
  } else {
    all.add_unknown("measured_us", "time, measured", Origin::measurement,
                    "no timing of it is stored here", how_to_measure);
  }
  const double predicted_us = kernel.prediction.time_us;
  if (std::isfinite(predicted_us)) {
    all.add("predicted_us", "time, predicted", duration_text(predicted_us), predicted_us,
            Origin::formula);
  }
  add_occupancy(all, kernel, device);
  add_bytes(all, kernel, problem);
  add_accesses(all, kernel);
  return all.take();
}

nlohmann::json launch_totals(const KernelAnalysis& kernel) {
  nlohmann::json json = nlohmann::json::object();
  const double ctas = static_cast<double>(kernel.grid.ctas());
  const auto add = [&](const char* name, auto wanted) {
    const AccessCount sum = ptx::sum_of(kernel.accesses.of_cta, wanted).scaled(ctas);
    if (sum.wavefronts > 0) {
      json[name] = {{"requests", sum.requests},
                    {"wavefronts", sum.wavefronts},
                    {"bank_conflicts", sum.wavefronts - sum.conflict_free}};
    } else {
      json[name] = {{"requests", sum.requests}, {"sectors", sum.sectors}};
    }
  };
  const auto of = [](Access access, bool is_async) {
    return [=](const AccessKey& key) { return key.access == access && key.is_async == is_async; };
  };
  add("global_loads", of(Access::global_load, false));
  add("global_stores", of(Access::global_store, false));
  add("shared_loads", of(Access::shared_load, false));
  add("shared_stores", of(Access::shared_store, false));
  add("async_copies_global", of(Access::global_load, true));
  add("async_copies_shared", of(Access::shared_store, true));
  return json;
}

}  // namespace gemm_tune

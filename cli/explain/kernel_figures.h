// SPDX-License-Identifier: Apache-2.0
// Figures about a compiled config at a problem, each with its origin, for gemm-tune explain.
//
// Needs no GPU: registers and the widths of accesses come from the compiler, times from
// stored rows, all else from formulas. Sectors and bank conflicts are counted from the addresses
// that the kernel's PTX computes (tuner/trace). Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/candidate/outcome.h"
#include "core/device/device_spec.h"
#include "core/device/occupancy.h"
#include "core/problem/problem.h"
#include "kernel_templates/registry/registry.h"
#include "search/model/static_model.h"
#include "tuner/trace/memory_instructions.h"
#include "tuner/trace/trace.h"

namespace gemm_tune {

// compiler: read from the compiled kernel. formula: computed. measurement: timed on a GPU.
enum class Origin { compiler, formula, measurement };

std::string_view to_string(Origin origin);

struct Figure {
  std::string key;   // in JSON: "waves"
  std::string name;  // "waves"
  std::string text;  // the value with its unit, 22 columns at most
  nlohmann::json value;
  Origin from = Origin::formula;
  // Why there is no value, and then how to get it: a sentence's parts. Empty for a known figure.
  std::string why_none = {};
  std::string settled_by = {};
};

// What a compiled kernel does to memory.
struct KernelAccesses {
  ptx::Accesses of_cta;  // of the mean CTA of the first tile
  // By kind, how the machine code differs from the PTX, so that these accesses are not known.
  std::map<ptx::MemoryInstruction, std::string> merged;
  std::string why_none;  // why nothing is known; of_cta is then empty
};

// ptx and cubin: of the config's kernel for in-place products. The counts of a longer K than can be
// executed are extrapolated from two shorter ones: every slice has as many accesses.
KernelAccesses kernel_accesses(const KnownConfig& config, const Problem& problem, int sm_count,
                               std::string_view ptx, std::string_view cubin);

// A config that compiled, at a problem on a device.
struct KernelAnalysis {
  KnownConfig config;
  Grid grid;
  Resources resources;  // complete
  Occupancy fit;
  Waves waves;
  Prediction prediction;
  KernelAccesses accesses;
  std::optional<double> measured_us;  // by a stored row that holds
};

KernelAnalysis analyse(const KnownConfig& config, const Problem& problem, const DeviceSpec& device,
                       const Resources& resources, KernelAccesses accesses,
                       std::optional<double> measured_us);

// In the order in which they are shown. how_to_measure: a command.
std::vector<Figure> figures(const KernelAnalysis& kernel, const Problem& problem,
                            const DeviceSpec& device, const std::string& how_to_measure);

// Sums over the whole launch, as a profiler counts them: requests, sectors, wavefronts and bank
// conflicts. Every CTA counts as the mean one of the first tile.
nlohmann::json launch_totals(const KernelAnalysis& kernel);

}  // namespace gemm_tune

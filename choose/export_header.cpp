// SPDX-License-Identifier: Apache-2.0
#include "choose/export_header.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "choose/launch_arithmetic_text.h"
#include "choose/layered.h"
#include "core/error.h"
#include "kernel_templates/source.h"

namespace gemm_tune {
namespace {

constexpr std::string_view kHead =
    R"header(// The best known GEMM kernels for @ARCH@, and their look-up by size. Made by gemm-tune
// (`gemm-tune export --format header`): make it anew instead of editing it.
//
// C[M,N] = alpha * op(A)[M,K] * op(B)[K,N] + beta * C, or a batch of these with the matrices of each
// operand equally far apart; row-major, sums in fp32. A and B have one element type, and so have C
// and D; f32 unless a Problem says otherwise. Of other types than f32 the header has kernels only
// where one was tuned. Units: sizes, tiles and alignments in elements; _bytes in bytes; _us in
// microseconds of a launch. Alignment is the largest of 1, 2, 4 and, where A and B are of 16 bits, 8
// elements that divides every leading dimension, every base address and, in a batch, every stride of
// A, B and C: alignment_class() below. (32-bit matrices that 4 elements divide count as divided by
// 8.) Where these are aligned differently, a Problem that knows it, as aligned_by() makes it, also
// finds the kernels with wider accesses to some of them (VECS in a config).
//
//   using namespace gemm_tune_@ARCH@;
//   constexpr Problem problem = aligned_by({1024, 1000, 77}, /*lda=*/80, /*ldb=*/1000, /*ldc=*/1000);
//   constexpr Lookup found = lookup(problem);
//   const int tile_rows = found.kernel->value("BM");
//   const Grid grid = found.kernel->grid(problem, sm_count);
//
// To run a kernel: compile its `source`, a file below share/gemm-tune where gemm-tune is installed
// (with the hash `kernel_hash`) and an include path from there, for @ARCH@ with the macros
// TUNED_PARAMS defined as `tuned_params` and TUNED_CLUSTER as tuned_cluster() (without TUNED_CLUSTER
// the results are the same; from sm_90 on, launches of many small blocks take some per cent longer)
// and, where C is D as in every measurement, TUNED_IN_PLACE, and, for a bias that is added to each
// row of C (then ReLU), TUNED_EPILOGUE as 1 (2): N elements of C's type at GemmArgs' member `bias`,
// and TUNED_<name> as the value of a parameter that `params` names and `tuned_params` does not
// (without it the results are the same, later), and launch its function "gemm" with grid() blocks of
// block_threads threads and smem_bytes of dynamic shared memory; its one argument is GemmArgs of
// kernel_templates/device/gemm_args.cuh, from the same place. Where workspace_bytes() is not 0 it wants that
// much global memory: `counters` at the beginning, kWorkspaceCounterBytes that are zero before the
// first launch and that every launch leaves zero, then `partials`. Launches that may overlap need one
// each.
//
// Includes nothing and allocates nothing; C++17; constants and pure functions, for any thread.
#pragma once

namespace gemm_tune_@ARCH@ {
)header";

constexpr std::string_view kTypes = R"header(
using Problem = LaunchProblem;

// How a kernel was found.
enum class Match {
  exact,    // tuned for this problem
  nearest,  // the nearest tuned size
  builtin,  // no tuned kernel may serve: a conservative one that is not tuned
  none      // no kernel may serve: winner and kernel are null
};

struct Param {
  const char* name;
  int value;
};

struct Kernel : LaunchRecipe {
  const char* config;        // the kernel's name: family/NAME=VALUE,...
  const char* family;        // the kernel template
  const char* source;        // its file, as an include path
  const char* kernel_hash;   // of that file and its includes
  const char* tuned_params;  // the values, as the source wants them
  Param params[@MAX_PARAMS@];
  int param_count;

  // The value of a parameter of the config; -1 for a name that the kernel's family does not have.
  constexpr int value(const char* name) const {
    for (int i = 0; i < param_count; ++i) {
      const char* a = params[i].name;
      const char* b = name;
      while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
      }
      if (*a == *b) return params[i].value;
    }
    return -1;
  }

  // Blocks of a thread block cluster, or 1.
  constexpr int tuned_cluster() const { return cluster_ctas(*this); }

  constexpr long long tiles(const Problem& p) const { return tiles_of(*this, p); }

  // The last tiles, which are cut into pieces along K where a last wave would be ragged.
  using Tail = TailCut;
  constexpr Tail tail(const Problem& p, int sm_count) const { return tail_cut(*this, p, sm_count); }

  // sm_count: of the device that launches.
  constexpr Grid grid(const Problem& p, int sm_count) const { return grid_of(*this, p, sm_count); }

  // Global scratch memory of one launch; 0 where the kernel needs none.
  constexpr long long workspace_bytes(const Problem& p, int sm_count) const {
    return gemm_tune_@ARCH@::workspace_bytes(*this, p, sm_count);
  }

  // Of counters, with which the workspace begins.
  static constexpr long long workspace_counter_bytes() { return kWorkspaceCounterBytes; }

  // Whether the kernel may be launched for a problem.
  constexpr bool is_legal(const Problem& p) const { return refusal(*this, p) == Refusal::none; }
};

// A tuned problem and what was found best for it.
struct Winner {
  Problem problem;
  const char* device;    // the GPU it was tuned for
  int sm_count;          // streaming multiprocessors of that GPU
  bool measured;         // false: predicted by a model, not timed
  double time_us;        // the measured median, or the prediction
  const char* baseline;  // what was timed in the same run, or null
  double baseline_us;    // meaningful with a baseline only
  int variants[@MAX_VARIANTS@];       // into kKernels: the winner, then its twins for other problems
  int variant_count;
};

struct Lookup {
  Match match;
  const Kernel* kernel;  // legal for the problem that was asked for
  const Winner* winner;  // what it rests on, for exact and nearest
  bool is_twin;          // not the winner itself: its predicated twin, because that is legal
};

)header";

constexpr std::string_view kFunctions = R"header(
// The first of the kernels that is legal for the problem: its position in `variants`, or -1.
constexpr int first_legal(const int* variants, int count, const Problem& problem) {
  for (int i = 0; i < count; ++i) {
    if (kKernels[variants[i]].is_legal(problem)) return i;
  }
  return -1;
}

constexpr bool is_problem(const Problem& p) {
  const auto is_alignment = [&](int elements) {
    return elements == 1 || elements == 2 || elements == 4 ||
           (elements == 8 && p.type_ab != ElementType::f32);
  };
  const auto is_of_operand = [&](int elements) {
    return elements == 0 || (is_alignment(elements) && elements >= p.alignment);
  };
  return p.M >= 1 && p.N >= 1 && p.K >= 0 && p.M <= kMaxEdge && p.N <= kMaxEdge &&
         p.K <= kMaxEdge && p.batch >= 1 && p.batch <= kMaxEdge && is_alignment(p.alignment) &&
         is_of_operand(p.alignment_a) && is_of_operand(p.alignment_b) &&
         is_of_operand(p.alignment_cd);
}

constexpr bool is_same(const Problem& a, const Problem& b) { return sameness(a, b) != Sameness::none; }

// The kernel for a problem. Nearest is the least shape_distance() among the winners with a legal
// kernel; of equally near ones the first in the table, before it the exact one, and among several
// exact ones that whose operands are aligned as the problem's.
constexpr Lookup lookup(const Problem& problem) {
  Lookup found{Match::none, nullptr, nullptr, false};
  if (!is_problem(problem)) return found;
  double least = 0;
  Sameness same = Sameness::none;  // of the one that was found
  for (const Winner& winner : kWinners) {
    const double distance = shape_distance(winner.problem, problem);
    const Sameness this_same = sameness(winner.problem, problem);
    const bool better = found.winner == nullptr || distance < least ||
                        (distance <= least && this_same > same);
    if (!better) continue;
    const int variant = first_legal(winner.variants, winner.variant_count, problem);
    if (variant < 0) continue;
    least = distance;
    same = this_same;
    found = Lookup{same != Sameness::none ? Match::exact : Match::nearest, &kKernels[winner.variants[variant]],
                   &winner, variant > 0};
  }
  if (found.winner != nullptr) return found;
  const int variant = first_legal(kBuiltin, kBuiltinCount, problem);
  if (variant >= 0) found = Lookup{Match::builtin, &kKernels[kBuiltin[variant]], nullptr, false};
  return found;
}

)header";

std::string with_replaced(std::string text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

// The text as a C++ string literal; device names may hold any byte.
std::string cpp_string(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const unsigned byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {  // two question marks may begin a trigraph
      literal += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {  // always three octal digits: no digit can follow
      literal += {'\\', static_cast<char>('0' + byte / 64), static_cast<char>('0' + byte / 8 % 8),
                  static_cast<char>('0' + byte % 8)};
    } else {
      literal += c;
    }
  }
  return literal + "\"";
}

// Rounded to the nanosecond, in the same form for every locale.
std::string microseconds(double time_us) {
  char text[400];
  const auto end = std::to_chars(text, text + sizeof text, time_us, std::chars_format::fixed, 3);
  return std::string(text, end.ptr);
}

std::string config_text(const KnownConfig& config) { return to_string(config.config()); }

// The default config for every layout of f32 and of the types that the winners have, the widest
// accesses first.
std::vector<KnownConfig> builtin_variants(const std::string& arch,
                                          const std::vector<Winner>& winners) {
  std::set<Signature> signatures = {Signature()};
  for (const Winner& winner : winners) signatures.insert(winner.record.problem.signature);
  std::vector<KnownConfig> configs;
  for (const Signature& signature : signatures) {
    for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
      const auto config = builtin_config(signature, layout, arch);
      if (!config) continue;
      for (KnownConfig& variant : served_variants(*config)) configs.push_back(std::move(variant));
    }
  }
  return configs;
}

std::string layout_literal(Layout layout) { return "Layout::" + std::string(to_string(layout)); }

// Of A and B, and of C and D.
std::string type_literals(ElementType ab, ElementType cd) {
  return "ElementType::" + std::string(to_string(ab)) +
         ", ElementType::" + std::string(to_string(cd));
}

// Every kernel once, in the order of their texts.
class KernelTable {
 public:
  void add(const std::vector<KnownConfig>& configs) {
    for (const KnownConfig& config : configs) kernels_.emplace(config_text(config), config);
  }

  std::string indices(const std::vector<KnownConfig>& configs) const {
    std::string text;
    for (const KnownConfig& config : configs) {
      const auto at = kernels_.find(config_text(config));
      text += (text.empty() ? "" : ", ") + std::to_string(std::distance(kernels_.begin(), at));
    }
    return "{" + text + "}";
  }

  std::size_t max_params() const {
    std::size_t most = 1;
    for (const auto& [text, config] : kernels_) most = std::max(most, config.values.size());
    return most;
  }

  std::vector<KnownConfig> configs() const {
    std::vector<KnownConfig> configs;
    for (const auto& entry : kernels_) configs.push_back(entry.second);
    return configs;
  }

  std::string cpp(const KernelHashes& hashes) const {
    std::string text =
        "// Every kernel that lookup() may give.\ninline constexpr Kernel kKernels[] = {\n";
    std::size_t index = 0;
    for (const auto& [name, config] : kernels_) {
      text += "    // " + std::to_string(index++) + "\n" + row(config, hashes);
    }
    return text + "};\n";
  }

 private:
  // The recipe's last members, where they are not what a recipe has without them.
  static std::string own_alignments(const LaunchRecipe& recipe) {
    if (recipe.alignment_a == 0) return "";
    return ", /*repack=*/false, " + std::to_string(recipe.alignment_a) + ", " +
           std::to_string(recipe.alignment_b) + ", " + std::to_string(recipe.alignment_cd);
  }

  static std::string row(const KnownConfig& config, const KernelHashes& hashes) {
    const Config named = config.config();
    const LaunchRecipe& recipe = config.recipe;
    std::string params;
    for (const auto& [name, value] : named.params) {
      params += (params.empty() ? "" : ", ") + ("{" + cpp_string(name) + ", ") +
                std::to_string(value) + "}";
    }
    const auto hash = hashes.find(named.family);
    const auto number = [](const char* name, int value) {
      return std::string("/*") + name + "=*/" + std::to_string(value);
    };
    return "    {{" + number("block_threads", recipe.block_threads) + ", " +
           number("tile_m", recipe.tile_m) + ", " + number("tile_n", recipe.tile_n) + ", " +
           number("tile_k", recipe.tile_k) + ", " + number("smem_bytes", recipe.smem_bytes) +
           ",\n      " + number("split_k", recipe.split_k) + ", " +
           (recipe.cluster ? "/*cluster=*/true, " : "/*cluster=*/false, ") +
           number("tail_ctas_per_sm", recipe.tail_ctas_per_sm) + ", " +
           layout_literal(recipe.layout) + ", " + number("alignment", recipe.alignment) + ", " +
           number("multiple_m", recipe.multiple_m) + ", " +
           number("multiple_n", recipe.multiple_n) + ", " +
           number("multiple_k", recipe.multiple_k) + ",\n      " +
           type_literals(recipe.type_ab, recipe.type_cd) + own_alignments(recipe) + "},\n     " +
           cpp_string(to_string(named)) + ",\n     " + cpp_string(named.family) + ", " +
           cpp_string(config.family->source_path()) + ", " +
           cpp_string(hash == hashes.end() ? "" : hash->second) + ",\n     " +
           cpp_string(tuned_params(config)) + ",\n     {" + params + "},\n     " +
           number("param_count", static_cast<int>(named.params.size())) + "},\n";
  }

  std::map<std::string, KnownConfig> kernels_;
};

// The problem's last members, where its operands are aligned differently.
std::string own_alignments(const Problem& problem) {
  if (differing_alignments(problem) == 0) return "";
  const auto [a, b, cd] = alignments(problem);
  return ", " + std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(cd);
}

std::string winner_row(const Winner& winner, const KernelTable& kernels) {
  const Record& record = winner.record;
  const Problem& problem = record.problem;
  const bool measured = record.source == Source::measured;
  const std::vector<KnownConfig> all = served_variants(winner.config);
  return "    // " + to_string(problem) + ": " + record.config + "\n    {{" +
         std::to_string(problem.M) + ", " + std::to_string(problem.N) + ", " +
         std::to_string(problem.K) + ", /*alignment=*/" + std::to_string(alignment_class(problem)) +
         ", " + layout_literal(problem.layout) + ", /*batch=*/" + std::to_string(problem.batch) +
         ", " + type_literals(problem.signature.a, problem.signature.d) + own_alignments(problem) +
         "},\n     " + cpp_string(record.device.name) + ", /*sm_count=*/" +
         std::to_string(record.device.sm_count) + ",\n     " +
         (measured ? "/*measured=*/true, " : "/*predicted, not timed*/false, ") +
         microseconds(record.outcome.time_us().value()) + ", " +
         (record.baseline ? cpp_string(record.baseline->name) + ", " +
                                microseconds(record.baseline->timing.median_us)
                          : "/*baseline=*/nullptr, 0") +
         ", /*variants=*/" + kernels.indices(all) + ", " + std::to_string(all.size()) + "},\n";
}

bool is_arch(std::string_view text) {
  constexpr std::string_view kStart = "sm_";
  return text.starts_with(kStart) && text.size() > kStart.size() &&
         text.find_first_not_of("0123456789", kStart.size()) == text.npos;
}

}  // namespace

std::string export_header(const Database& database, const std::string& arch,
                          const KernelHashes& hashes, const WinnerRule& rule) {
  return export_kernels(&database, {}, arch, hashes, rule).header;
}

ExportedKernels export_kernels(const Database* own,
                               const std::vector<std::filesystem::path>& layers,
                               const std::string& arch, const KernelHashes& hashes,
                               const WinnerRule& rule) {
  if (!is_arch(arch)) throw UsageError("'" + arch + "' is no architecture: write one as in sm_86");
  const auto winners_of = [&](Launches launches) {
    return load_layered_winners(own, layers, arch, hashes, launches, rule);
  };
  const auto [winners, notes] = winners_of(Launches::one);
  const std::string where = own == nullptr ? "layers" : "database '" + own->path().string() + "'";
  if (winners.empty() && !winners_of(Launches::any).winners.empty()) {
    throw NothingFound(
        "each usable winner for " + arch + " in the " + where +
        " takes two launches, which no export holds: time a config without REPACK and REDUCE too");
  }
  if (winners.empty()) {
    throw NothingFound("the " + where + (own == nullptr ? " have" : " has") +
                       " no usable winner for " + arch +
                       (rule == WinnerRule() ? ": tune for it first"
                                             : " with the times and errors that --objective and "
                                               "--max-error ask for: tune with them"));
  }
  const std::vector<KnownConfig> builtin = builtin_variants(arch, winners);
  KernelTable kernels;
  kernels.add(builtin);
  std::string rows;
  std::size_t max_variants = 1;
  for (const Winner& winner : winners) {
    const std::vector<KnownConfig> variants = served_variants(winner.config);
    max_variants = std::max(max_variants, variants.size());
    kernels.add(variants);
  }
  for (const Winner& winner : winners) rows += winner_row(winner, kernels);

  std::string text = std::string(kHead) + kLaunchArithmetic + std::string(kTypes);
  text = with_replaced(std::move(text), "@ARCH@", arch);
  text = with_replaced(std::move(text), "@MAX_PARAMS@", std::to_string(kernels.max_params()));
  text = with_replaced(std::move(text), "@MAX_VARIANTS@", std::to_string(max_variants));
  text += kernels.cpp(hashes);
  text += "\n// The tuned problems.\ninline constexpr Winner kWinners[] = {\n" + rows + "};\n";
  text += "\n// Into kKernels: what serves where no winner may, by layout and falling alignment.\n";
  text += "inline constexpr int kBuiltin[] = " + kernels.indices(builtin) + ";\n";
  text += "inline constexpr int kBuiltinCount = " + std::to_string(builtin.size()) + ";\n";
  text += kFunctions;
  text += "}  // namespace gemm_tune_" + arch + "\n";
  return {std::move(text), kernels.configs(), notes};
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "choose/export_header.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "choose/builtin_config.h"
#include "choose/header_text.h"
#include "choose/launch_arithmetic_text.h"
#include "choose/layered.h"
#include "core/error.h"
#include "core/text/replaced.h"
#include "kernel_templates/source/source.h"

namespace gemm_tune {
namespace {

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
// accesses first. Of one type's classes that of the type, which serves the others too, comes last.
std::vector<KnownConfig> builtin_variants(const std::string& arch,
                                          const std::vector<Winner>& winners) {
  std::set<Signature> signatures = {Signature()};
  for (const Winner& winner : winners) signatures.insert(winner.record.problem.signature);
  std::vector<KnownConfig> configs;
  for (auto at = signatures.rbegin(); at != signatures.rend(); ++at) {
    const Signature& signature = *at;
    for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
      const auto config = builtin_config(signature, layout, arch);
      if (!config || !config->is_exportable()) continue;
      for (KnownConfig& variant : served_variants(*config)) configs.push_back(std::move(variant));
    }
  }
  return configs;
}

// The values of an initialiser, with a comment that names those whose meaning is not seen.
class Values {
 public:
  // indent: of the lines behind the first.
  explicit Values(std::string indent) : indent_(std::move(indent)) {}

  Values& add(const std::string& value) {
    if (!text_.empty()) text_ += std::exchange(begins_line_, false) ? ",\n" + indent_ : ", ";
    text_ += value;
    return *this;
  }
  Values& add(const char* name, const std::string& value) {
    return add("/*" + std::string(name) + "=*/" + value);
  }
  Values& add(const char* name, std::int64_t value) { return add(name, std::to_string(value)); }
  Values& add(std::int64_t value) { return add(std::to_string(value)); }
  Values& add(Layout layout) { return add("Layout::" + std::string(to_string(layout))); }
  Values& add(ElementType type) { return add("ElementType::" + std::string(to_string(type))); }
  Values& add(Accuracy accuracy) { return add("Accuracy::" + std::string(to_string(accuracy))); }
  // The last members of a recipe or a problem, which others do not name: after the alignments.
  Values& add_class(Accuracy accuracy) { return add("BatchKind::strided").add(accuracy); }

  // The next value begins a line.
  Values& line() {
    begins_line_ = true;
    return *this;
  }

  std::string braced() const { return "{" + text_ + "}"; }

 private:
  const std::string indent_;
  std::string text_;
  bool begins_line_ = false;
};

const char* literal(bool value) { return value ? "true" : "false"; }

std::string recipe_row(const LaunchRecipe& recipe) {
  Values values(std::string(6, ' '));
  values.add("block_threads", recipe.block_threads);
  values.add("tile_m", recipe.tile_m).add("tile_n", recipe.tile_n).add("tile_k", recipe.tile_k);
  values.add("smem_bytes", recipe.smem_bytes).line();
  values.add("split_k", recipe.split_k).add("cluster_blocks", recipe.cluster_blocks);
  values.add("tail_ctas_per_sm", recipe.tail_ctas_per_sm).add(recipe.layout);
  values.add("alignment", recipe.alignment).add("multiple_m", recipe.multiple_m);
  values.add("multiple_n", recipe.multiple_n).add("multiple_k", recipe.multiple_k).line();
  values.add(recipe.type_a).add(recipe.type_b).add(recipe.type_cd);
  // The last members, where a recipe has others without them.
  const bool has_class = recipe.accuracy != accuracy_of(recipe.type_a, recipe.type_b);
  if (recipe.alignment_a > 0 || has_class) {
    values.add("repack", literal(false));
    values.add(recipe.alignment_a).add(recipe.alignment_b).add(recipe.alignment_cd);
  }
  if (has_class) values.add_class(recipe.accuracy);
  return values.braced();
}

std::string params_row(const Config& config) {
  Values values("");
  for (const auto& [name, value] : config.params) {
    values.add(Values("").add(cpp_string(name)).add(value).braced());
  }
  return values.braced();
}

std::string kernel_row(const KnownConfig& config, const KernelRevisions& revisions) {
  const Config named = config.config();
  const auto revision = revisions.find(named.family);
  Values values(std::string(5, ' '));
  values.add(recipe_row(config.recipe)).line();
  values.add(cpp_string(to_string(named))).line();
  values.add(cpp_string(named.family)).add(cpp_string(config.family->source_path()));
  values.add(cpp_string(revision == revisions.end() ? "" : revision->second)).line();
  values.add(cpp_string(tuned_params(config))).line();
  values.add(params_row(named)).line();
  values.add("param_count", static_cast<std::int64_t>(named.params.size()));
  return values.braced();
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

  std::string cpp(const KernelRevisions& revisions) const {
    std::string text =
        "// Every kernel that lookup() may give.\ninline constexpr Kernel kKernels[] = {\n";
    std::size_t index = 0;
    for (const auto& [name, config] : kernels_) {
      text +=
          "    // " + std::to_string(index++) + "\n    " + kernel_row(config, revisions) + ",\n";
    }
    return text + "};\n";
  }

 private:
  std::map<std::string, KnownConfig> kernels_;
};

std::string problem_row(const Problem& problem) {
  Values values("");
  values.add(problem.M).add(problem.N).add(problem.K).add("alignment", alignment_class(problem));
  values.add(problem.layout).add("batch", problem.batch);
  values.add(problem.signature.a).add(problem.signature.b).add(problem.signature.d);
  const auto [type_a, type_b, type_c, type_d, accuracy] = problem.signature;
  const bool has_class = accuracy != accuracy_of(type_a, type_b);
  if (differing_alignments(problem) != 0 || has_class) {
    const auto [a, b, cd] = alignments(problem);
    values.add(a).add(b).add(cd);
  }
  if (has_class) values.add_class(accuracy);
  return values.braced();
}

std::string winner_row(const Winner& winner, const KernelTable& kernels) {
  const Record& record = winner.record;
  const std::vector<KnownConfig> variants = served_variants(winner.config);
  Values values(std::string(5, ' '));
  values.add(problem_row(record.problem)).line();
  values.add(cpp_string(record.device.name)).add("sm_count", record.device.sm_count).line();
  values.add("measured", literal(record.source == Source::measured));
  values.add(microseconds(record.outcome.time_us().value()));
  if (record.baseline) {
    values.add(cpp_string(to_string(*record.baseline)));
    values.add(microseconds(record.baseline->timing.median_us));
  } else {
    values.add("baseline", "nullptr").add(0);
  }
  values.add("variants", kernels.indices(variants));
  values.add(static_cast<std::int64_t>(variants.size()));
  return "    // " + to_string(record.problem) + ": " + record.config + "\n    " + values.braced() +
         ",\n";
}

bool is_arch(std::string_view text) {
  constexpr std::string_view kStart = "sm_";
  return text.starts_with(kStart) && text.size() > kStart.size() &&
         text.find_first_not_of("0123456789", kStart.size()) == text.npos;
}

const char* why_unexportable(const Winner& winner) {
  if (!winner.config.family->takes_gemm_args)
    return "takes tensor maps or other arguments of its own";
  if (!winner.config.is_exportable()) return "takes two launches";
  const bool is_strided = winner.record.problem.batch_kind == BatchKind::strided;
  return is_strided ? "has an epilogue" : "is for a batch of pointers";
}

// "takes two launches or has an epilogue": why these are not exported.
std::string reasons_of(const std::vector<Winner>& unexportable) {
  std::set<std::string> reasons;
  for (const Winner& winner : unexportable) reasons.insert(why_unexportable(winner));
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : " or ") + reason;
  return text;
}

// Adds a sentence about the problems of which no kernel is exported, on each device.
void tell_of_left_out(const std::vector<Winner>& exported, std::vector<Winner> of_any,
                      std::vector<std::string>& notes) {
  const auto place = [](const Winner& winner) {
    const DeviceKey& device = winner.record.device;
    return std::make_tuple(device.name, device.sm_count, to_string(winner.record.problem));
  };
  std::set<std::tuple<std::string, int, std::string>> held, left_out;
  for (const Winner& winner : exported) held.insert(place(winner));
  std::erase_if(of_any, [&](const Winner& winner) { return held.contains(place(winner)); });
  if (of_any.empty()) return;
  for (const Winner& winner : of_any) left_out.insert(place(winner));
  notes.push_back(std::to_string(left_out.size()) +
                  (left_out.size() == 1 ? " tuned problem is" : " tuned problems are") +
                  " left out of the export: the kernel of each " + reasons_of(of_any));
}

// Why no winner can be exported. of_any: those that look-ups would take.
std::string why_none(const Database* own, const std::string& arch, const WinnerRule& rule,
                     const std::vector<Winner>& of_any) {
  const std::string where = own == nullptr ? "layers" : "database '" + own->path().string() + "'";
  if (!of_any.empty()) {
    return "each usable winner for " + arch + " in the " + where + " " + reasons_of(of_any) +
           ", which no export holds: time a config of another kind, too";
  }
  return "the " + where + (own == nullptr ? " have" : " has") + " no usable winner for " + arch +
         (rule == WinnerRule() ? ": tune for it first"
                               : " with the times and errors that --objective and --max-error ask "
                                 "for: tune with them");
}

}  // namespace

std::string export_header(const Database& database, const std::string& arch,
                          const KernelRevisions& revisions, const WinnerRule& rule) {
  return export_kernels(&database, {}, arch, revisions, rule).header;
}

ExportedKernels export_kernels(const Database* own,
                               const std::vector<std::filesystem::path>& layers,
                               const std::string& arch, const KernelRevisions& revisions,
                               const WinnerRule& rule) {
  if (!is_arch(arch)) throw UsageError("'" + arch + "' is no architecture: write one as in sm_86");
  auto [winners, notes] = load_layered_winners(own, layers, arch, revisions, Launches::one, rule);
  const std::vector<Winner> of_any =
      load_layered_winners(own, layers, arch, revisions, Launches::any, rule).winners;
  if (winners.empty()) throw NothingFound(why_none(own, arch, rule, of_any));
  tell_of_left_out(winners, of_any, notes);
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

  std::string text = std::string(kHeaderBegin) + kLaunchArithmetic + std::string(kHeaderTypes);
  text = with_replaced(std::move(text), "@ARCH@", arch);
  text = with_replaced(std::move(text), "@MAX_PARAMS@", std::to_string(kernels.max_params()));
  text = with_replaced(std::move(text), "@MAX_VARIANTS@", std::to_string(max_variants));
  text += kernels.cpp(revisions);
  text += "\n// The tuned problems.\ninline constexpr Winner kWinners[] = {\n" + rows + "};\n";
  text += "\n// Into kKernels: what serves where no winner may, by layout and falling alignment.\n";
  text += "inline constexpr int kBuiltin[] = " + kernels.indices(builtin) + ";\n";
  text += "inline constexpr int kBuiltinCount = " + std::to_string(builtin.size()) + ";\n";
  text += kHeaderFunctions;
  text += "}  // namespace gemm_tune_" + arch + "\n";
  return {std::move(text), kernels.configs(), notes};
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// The readers of what people type and what compilers print.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "cli/arguments/values/sizes.h"
#include "cli/capture/call_log.h"
#include "cli/capture/called_problems.h"
#include "core/candidate/config.h"
#include "core/error.h"
#include "core/problem/problem.h"
#include "gpu/compile/ptxas_log.h"
#include "kernel_templates/registry/registry.h"
#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"

namespace gemm_tune::fuzz {
namespace {

void require_sound(const Problem& problem) {
  require(problem.M >= 1 && problem.N >= 1 && problem.K >= 0, "edges are in range");
  require(std::max({problem.M, problem.N, problem.K}) <= kMaxEdge, "edges are in range");
  require(alignment_class(problem) == 1 || alignment_class(problem) == 2 ||
              alignment_class(problem) == 4,
          "the alignment class is 1, 2 or 4");
  require(problem.batch >= 1, "there is a batch");
  require(std::isfinite(flops(problem)), "the operations can be counted");
  require(parse_problem(to_string(problem)) == problem, "parsing inverts to_string");
}

// What the rest of the program relies on where a config has passed check_config().
void require_sound(const KnownConfig& known) {
  require(known.values.size() == known.family->params.size(), "every parameter has a value");
  require(gemm_tune::check_config(known.config()).values == known.values,
          "the canonical text names the same config");
  const LaunchRecipe& recipe = known.recipe;
  require(recipe.block_threads >= 1 && recipe.block_threads <= 1024, "a block can be launched");
  require(recipe.tile_m >= 1 && recipe.tile_n >= 1, "a tile is not empty");
  require(recipe.smem_bytes >= 0 && recipe.split_k >= 1, "sizes are not negative");
  for (const KnownConfig& specialisation : served_variants(known)) {
    require(gemm_tune::check_config(specialisation.config()).values == specialisation.values,
            "the specialisation is legal");
  }
  for (const Problem& problem : {packed_problem(1, 1, 0), packed_problem(1000, 1004, 1020),
                                 packed_problem(kMaxEdge, kMaxEdge, kMaxEdge)}) {
    const std::optional<LegalConfig> legal = legal_for(known, problem);
    require(!legal || !why_illegal(legal->config.recipe, problem), "what is legal is legal");
  }
}

// Nothing where the list is refused.
std::vector<Problem> sizes_or_none(const std::string& text) {
  try {
    return parse_sizes(text);
  } catch (const UsageError&) {
    return {};
  }
}

}  // namespace

void check_call_log(std::string_view input) {
  try {
    for (const CalledProblem& called : parse_call_log(std::string(input), "a").problems) {
      require(called.problem && called.tunable > 0, "a call has a problem");
      require(parse_problem(called.text) == called.problem, "the text names the problem");
    }
  } catch (const UsageError&) {
  }
}

void check_called(std::string_view input) {
  try {
    for (const CalledProblem& called : parse_called_problems(std::string(input), "a").problems) {
      require(called.served >= 0 && called.tunable >= 0 && called.calls() >= called.served,
              "counts are counts");
      require(called.problem.has_value() == (called.flops > 0), "a problem has operations");
      if (!called.problem) continue;
      const std::string text = to_string(*called.problem);
      require(called.text == text && parse_problem(text) == called.problem,
              "the text names the problem");
    }
  } catch (const UsageError&) {
  }
}

void check_config(std::string_view input) {
  try {
    const Config config = parse_config(input);
    require(parse_config(to_string(config)) == config, "parsing inverts to_string");
    require_sound(gemm_tune::check_config(config));
  } catch (const UsageError&) {
  }
}

void check_duration(std::string_view input) {
  try {
    require(parse_duration(input) > std::chrono::seconds(0), "a duration is positive");
  } catch (const UsageError&) {
  }
}

void check_problem(std::string_view input) {
  try {
    require_sound(parse_problem(input));
  } catch (const UsageError&) {
  }
}

void check_ptxas_log(std::string_view input) {
  const std::optional<Resources> resources = parse_ptxas_log(input, "gemm");
  if (!resources) return;
  require(resources->registers >= 0 && resources->spill_bytes >= 0 && resources->stack_bytes >= 0 &&
              resources->smem_bytes >= 0,
          "counts are not negative");
}

void check_sizes(std::string_view input) {
  // A leading '@' makes the rest a file; any other could name one of this machine's.
  std::string text(input);
  if (input.starts_with('@')) {
    static const TempFolder scratch;
    const std::filesystem::path file = scratch.path() / "sizes.txt";
    write_file(file, input.substr(1));
    text = "@" + file.string();
  } else if (input.find('@') != std::string_view::npos) {
    return;
  }
  std::vector<Problem> problems = sizes_or_none(text);
  require(problems.size() <= kMaxSizes, "the list is bounded");
  if (problems.size() > 16) problems.resize(16);  // a long range is as good as a short one
  std::string list;
  for (const Problem& problem : problems) {
    require_sound(problem);
    require(problem.batch == 1 || input.find("batch") != std::string_view::npos,
            "no batch unless asked for");
    require(std::count(problems.begin(), problems.end(), problem) == 1, "there are no duplicates");
    list += (list.empty() ? "" : ",") + to_string(problem);
  }
  require(sizes_or_none(list) == problems, "the list's own text gives the list");
}

}  // namespace gemm_tune::fuzz

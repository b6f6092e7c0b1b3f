// SPDX-License-Identifier: Apache-2.0
// A few configs of every family, drawn at random from its space, through the real compiler for each
// architecture. No GPU is needed. bench/compile/compile_space does the same with thousands.
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <tuple>

#include "core/error.h"
#include "gpu/compile/nvrtc.h"
#include "kernel_templates/source/source.h"
#include "tests/kernel_templates/spaces.h"

namespace gemm_tune {
namespace {

// A compilation takes about half a second: several where instructions are new, one elsewhere.
struct Arch {
  const char* name;
  unsigned number;
  int configs;
};
void PrintTo(const Arch& arch, std::ostream* out) { *out << arch.name; }

constexpr Arch kArchs[] = {
    {"sm_80", 80, 3}, {"sm_86", 86, 1}, {"sm_89", 89, 1}, {"sm_90", 90, 3}, {"sm_120", 120, 1}};

class CompileSample : public testing::TestWithParam<std::tuple<std::string, Arch>> {};

TEST_P(CompileSample, CompilesEveryConfigThatTheRulesAllow) {
  const auto& [name, arch] = GetParam();
  const KernelFamily& family = *find_family(name);
  const KernelSource source = kernel_source(family);
  std::mt19937 random(arch.number);  // another sample for each architecture
  for (int compiled = 0; compiled < arch.configs;) {
    const std::vector<int> point = walk_to_a_valid_point(family, random);
    if (point.empty()) continue;
    const KnownConfig known = known_config(family, point);
    // The tuner leaves it out.
    if (known.traits.cluster_ctas > 1 && arch.number < 90) continue;
    ++compiled;
    if (known.traits.only_sm != 0 &&
        !has_instructions(known.traits, static_cast<int>(arch.number))) {
      EXPECT_THROW(compile_target(known, arch.name), UsageError);
      continue;
    }
    const Config config = family.config(point);
    const CompileResult result =
        nvrtc_compile({source.path, source.text, source.headers}, compile_definitions(known),
                      compile_target(known, arch.name));
    EXPECT_TRUE(result.ok) << to_string(config) << ": " << result.log;
  }
}

INSTANTIATE_TEST_SUITE_P(Space, CompileSample,
                         testing::Combine(testing::ValuesIn(family_names()),
                                          testing::ValuesIn(kArchs)),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + "_" +
                                  std::get<1>(instance.param).name;
                         });

}  // namespace
}  // namespace gemm_tune

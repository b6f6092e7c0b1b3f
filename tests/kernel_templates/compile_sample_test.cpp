// A few configs of every family, drawn evenly over its space, through the real compiler for each
// architecture. No GPU is needed. bench/compile_space does the same with thousands.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "gpu/nvrtc.h"
#include "kernel_templates/source.h"
#include "search/cover.h"
#include "search/space.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kConfigs = 12;
constexpr const char* kArchs[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_120"};

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const KernelFamily& family : families()) names.push_back(family.name);
  return names;
}

// Another sample for each architecture.
std::uint64_t seed_of(const std::string& arch) { return std::stoul(arch.substr(3)); }

class CompileSample : public testing::TestWithParam<std::tuple<std::string, const char*>> {};

TEST_P(CompileSample, CompilesEveryConfigThatTheRulesAllow) {
  const auto& [name, arch] = GetParam();
  const KernelFamily& family = *find_family(name);
  const Space space = enumerate({&family, 1});
  const KernelSource source = kernel_source(family);
  for (const std::size_t i : draw_evenly(space.points.size(), kConfigs, seed_of(arch))) {
    const Config config = space.points[i].config();
    const CompileResult result = nvrtc_compile({source.path, source.text, source.headers},
                                               {"TUNED_PARAMS=" + tuned_params(config)}, arch);
    EXPECT_TRUE(result.ok) << to_string(config) << ": " << result.log;
  }
}

INSTANTIATE_TEST_SUITE_P(Space, CompileSample,
                         testing::Combine(testing::ValuesIn(family_names()),
                                          testing::ValuesIn(kArchs)),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + "_" + std::get<1>(instance.param);
                         });

}  // namespace
}  // namespace gemm_tune

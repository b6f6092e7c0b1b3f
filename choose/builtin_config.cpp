// SPDX-License-Identifier: Apache-2.0
#include "choose/builtin_config.h"

#include <span>
#include <utility>
#include <vector>

#include "core/device/device_spec.h"

namespace gemm_tune {

std::optional<KnownConfig> untuned_config(const KernelFamily& family, const Signature& signature,
                                          Layout layout, std::string_view arch,
                                          BatchKind batch_kind) {
  if (!family.untuned) return std::nullopt;
  std::optional<std::vector<int>> values = family.untuned(signature, number_of_arch(arch));
  if (!values) return std::nullopt;
  const KnownConfig config = known_config(family, *std::move(values));
  Specialisation specialisation = config.specialisation();
  specialisation.layout = layout;
  specialisation.batch_kind = batch_kind;
  return specialised(config, specialisation);
}

std::optional<KnownConfig> builtin_config(const Signature& signature, Layout layout,
                                          std::string_view arch) {
  for (const KernelFamily& family : families()) {
    if (auto config = untuned_config(family, signature, layout, arch)) return config;
  }
  return std::nullopt;
}

std::optional<KnownConfig> builtin_default(const Problem& problem, std::string_view arch) {
  std::optional<KnownConfig> last;
  const std::span<const KernelFamily> all = families();
  for (auto family = all.rbegin(); family != all.rend(); ++family) {  // the fastest first
    const auto config =
        untuned_config(*family, problem.signature, problem.layout, arch, problem.batch_kind);
    if (!config) continue;
    if (std::optional<LegalConfig> legal = legal_for(*config, problem)) return legal->config;
    last = served_variants(*config).back();
  }
  return last;
}

}  // namespace gemm_tune

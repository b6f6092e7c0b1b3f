// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/kernel_dir.h"

#include "core/text/printable.h"

namespace gemm_tune {

std::optional<KernelSources> users_kernels(const std::string& folder,
                                           std::span<const Problem> problems) {
  if (folder.empty()) return std::nullopt;
  require_utf8("the kernel folder", folder);
  std::vector<Signature> needed = {Signature()};
  for (const Problem& problem : problems) needed.push_back(problem.signature);
  return kernel_sources(folder, needed);
}

KernelRevisions asked_revisions(const std::string& folder, std::span<const Problem> problems) {
  const std::optional<KernelSources> users = users_kernels(folder, problems);
  return users ? revisions_of(*users) : current_revisions();
}

}  // namespace gemm_tune

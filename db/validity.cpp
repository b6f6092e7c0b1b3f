// SPDX-License-Identifier: Apache-2.0
#include "db/validity.h"

#include <utility>

#include "core/error.h"
#include "kernel_templates/registry.h"

namespace gemm_tune {
namespace {

void add(std::string& reasons, const std::string& reason) {
  reasons += (reasons.empty() ? "" : "; ") + reason;
}

// False if one of the texts is empty, which means "not known".
bool differ(const std::string& then, const std::string& now) {
  return !then.empty() && !now.empty() && then != now;
}

}  // namespace

std::vector<KernelText> kernel_texts(const KernelSources& sources) {
  std::vector<KernelText> kernels;
  for (const auto& [family, source] : sources) {
    kernels.push_back({family, source.hash, source.tokens});
  }
  return kernels;
}

KernelHashes hashes_of(const std::vector<KernelText>& kernels) {
  KernelHashes hashes;
  for (const KernelText& kernel : kernels) hashes[kernel.family] = kernel.hash;
  return hashes;
}

KernelHashes current_kernel_hashes() { return hashes_of(kernel_texts()); }

std::string_view to_string(Validity validity) {
  switch (validity) {
    case Validity::exact:
      return "exact";
    case Validity::usable:
      return "usable";
    case Validity::stale:
      return "stale";
  }
  throw Error("a validity outside the closed list");
}

std::optional<std::string> why_stale(const std::string& config, const std::string& kernel_hash,
                                     const KernelHashes& hashes) {
  const std::string family = config.substr(0, config.find('/'));
  const auto current = hashes.find(family);
  if (current == hashes.end()) return "'" + family + "' is no kernel family of this program";
  std::string reasons;
  try {
    check_config(parse_config(config));
  } catch (const UsageError&) {
    add(reasons, "'" + family + "' has no such config in this program");
  }
  if (current->second != kernel_hash) add(reasons, "the kernel text has changed since");
  if (reasons.empty()) return std::nullopt;
  return reasons;
}

Grade grade(const Record& record, const Environment& now) {
  Grade grade;
  if (const auto stale = why_stale(record.config, record.kernel_hash, now.hashes)) {
    grade = {Validity::stale, *stale};
  }
  std::string moved;
  if (differ(record.run.cuda_version, now.cuda_version)) {
    add(moved, "compiled by CUDA " + record.run.cuda_version + ", now " + now.cuda_version);
  }
  if (record.source == Source::measured && differ(record.run.driver_version, now.driver_version)) {
    add(moved, "run by driver " + record.run.driver_version + ", now " + now.driver_version);
  }
  if (moved.empty()) return grade;
  if (grade.validity == Validity::exact) grade.validity = Validity::usable;
  add(grade.reason, moved);
  return grade;
}

}  // namespace gemm_tune

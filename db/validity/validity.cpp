// SPDX-License-Identifier: Apache-2.0
#include "db/validity/validity.h"

#include <utility>

#include "core/error.h"
#include "core/text/words.h"
#include "kernel_templates/registry/library_families.h"

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

KernelRevisions revisions_of(const KernelSources& sources) {
  KernelRevisions revisions;
  for (const auto& [family, source] : sources) revisions[family] = source.revision;
  return revisions;
}

KernelRevisions current_revisions() { return revisions_of(kernel_sources()); }

std::string_view to_string(Validity validity) {
  static constexpr auto kWords = words<Validity>(
      {{Validity::exact, "exact"}, {Validity::usable, "usable"}, {Validity::stale, "stale"}});
  return word_of(kWords, validity);
}

std::optional<std::string> why_stale(const std::string& config, const std::string& revision,
                                     const KernelRevisions& revisions) {
  const std::string family = config.substr(0, config.find('/'));
  const auto current = revisions.find(family);
  const bool is_library = names_library(config);
  if (current == revisions.end() && !is_library) {
    const bool is_users = is_of_users_texts(revision);
    return "'" + family + "' is no kernel family of this program" +
           (is_users ? ": load it by --family" : "");
  }
  std::string reasons;
  try {
    check_config(parse_config(config));
  } catch (const UsageError&) {
    add(reasons, "'" + family + "' has no such config in this program");
  }
  if (current != revisions.end() && current->second != revision) {
    add(reasons, is_library
                     ? "made by version " + revision + " of the library, now " + current->second
                     : "the kernel has changed since");
  }
  if (reasons.empty()) return std::nullopt;
  return reasons;
}

Grade grade(const Record& record, const Environment& now) {
  Grade grade;
  if (const auto stale = why_stale(record.config, record.revision, now.revisions)) {
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

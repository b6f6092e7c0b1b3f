// SPDX-License-Identifier: Apache-2.0
#include "cli/help/version_text.h"

#include <spdlog/fmt/fmt.h>

#include "choose/layered.h"
#include "cli/help/version.h"
#include "core/error.h"
#include "core/text/fnv1a.h"
#include "core/text/printable.h"
#include "db/database.h"
#include "db/layers.h"
#include "db/schema/schema.h"
#include "db/validity/validity.h"
#include "gpu/compile/nvrtc.h"
#include "gpu/device.h"

namespace gemm_tune {
namespace {

// Changes exactly where the kernel of a family changes or a family comes or goes.
std::string kernel_set() {
  Fnv1a hash;
  const KernelRevisions revisions = current_revisions();
  for (const auto& [family, kernel] : revisions) {
    hash.add(family);
    hash.add(kernel);
  }
  return fmt::format("{} ({} families)", hash.hex(), revisions.size());
}

std::string nvrtc() {
  const std::string version = nvrtc_version_if_there();
  return version.empty() ? "not found" : version;
}

// A line for each layer below the default database: its winners, or why it is left out.
std::string layers() {
  std::string lines;
  for (const std::filesystem::path& file : layer_files(default_layer_folders())) {
    const Layered layer = load_layered(nullptr, {file});
    std::size_t winners = 0;
    for (const auto& [arch, tuned] : layer.tuned) winners += tuned.winners.size();
    lines += fmt::format("\nlayer {}: {}", printable(file.string()),
                         layer.notes.empty()
                             ? fmt::format("{} winner{}", winners, winners == 1 ? "" : "s")
                             : printable(layer.notes.front()));
  }
  return lines;
}

std::string database() {
  try {
    return printable(default_database_path().string());
  } catch (const DatabaseError&) {
    return "no place: set GEMM_TUNE_DB, XDG_DATA_HOME or HOME";
  }
}

}  // namespace

std::string program_version_text() {
  return fmt::format("gemm-tune {}\nschema {}\nkernels {}\nNVRTC {}\ndriver {}\ndatabase {}{}",
                     kVersion, kSchemaVersion, kernel_set(), nvrtc(),
                     driver_version().value_or("not found"), database(), layers());
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Rows as JSON or CSV, which may come from anybody.
#include <filesystem>

#include "core/error.h"
#include "db/file/check.h"
#include "db/transfer/contribution.h"
#include "db/transfer/exchange.h"
#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"

namespace gemm_tune::fuzz {

void check_import(std::string_view input) {
  static const TempFolder scratch;
  const std::filesystem::path first = scratch.path() / "a.db", second = scratch.path() / "b.db";
  for (const auto& path : {first, second}) {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(path.string() + suffix);
    }
  }
  try {
    check_contribution(std::string(input), "sm_90-a-1sm.json", {});
  } catch (const UsageError&) {
  }
  try {
    import_text(std::string(input), "a", first, {});
  } catch (const UsageError&) {
    require(!std::filesystem::exists(first), "a refused text makes no database");
    return;
  }
  require(gemm_tune::check_database(first).empty(), "what is imported is sound");
  const std::string text = export_as_json(first, std::nullopt, {});
  import_text(text, "b", second, {});
  require(export_as_json(second, std::nullopt, {}) == text, "an export comes back whole");
}

}  // namespace gemm_tune::fuzz

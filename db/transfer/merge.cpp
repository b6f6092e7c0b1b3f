// SPDX-License-Identifier: Apache-2.0
#include "db/transfer/merge.h"

#include "db/database_impl.h"
#include "db/file/database_file.h"
#include "db/transfer/row_transfer.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return fs::equivalent(one, other, error) && !error;
}

}  // namespace

MergeReport merge_databases(const std::vector<fs::path>& inputs, const fs::path& output,
                            const KernelRevisions& revisions, const LockWait& lock) {
  const fs::path to = absolute_path(output);
  std::vector<OpenDatabase> opened;
  std::vector<fs::path> paths;
  for (const fs::path& input : inputs) {
    const fs::path path = absolute_path(input);
    if (is_same_file(path, to)) continue;
    if (std::error_code unknown; !fs::exists(path, unknown) && !unknown) {
      throw database_error(path, "does not exist: name databases that are there");
    }
    paths.push_back(path);
    opened.push_back(
        open_database(path, Database::Mode::read_only, lock, Database::Journaling::by_file_system));
  }
  std::vector<TransferSource> sources;
  for (std::size_t i = 0; i < opened.size(); ++i) {
    // Each source is read several times: as of one moment, until its connection is closed.
    guarded(paths[i], [&] { opened[i].connection.exec("BEGIN"); });
    sources.push_back({paths[i], &opened[i].connection});
  }
  MergeReport report;
  change_database(to, lock, [&](SQLite::Database& db) {
    report = transfer_rows(sources, {to, &db}, revisions);
  });
  return report;
}

}  // namespace gemm_tune

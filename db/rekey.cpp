// SPDX-License-Identifier: Apache-2.0
// Rows of other kernels than the program's, and their move to the program's kernels.
#include "db/counting.h"
#include "db/database_impl.h"
#include "db/winners_view.h"

namespace gemm_tune {
namespace {

bool is_among(const KernelHashes& hashes, const std::string& family, const std::string& hash) {
  const auto ours = hashes.find(family);
  return ours != hashes.end() && ours->second == hash;
}

// One row per config and architecture. is_rival: whether a row is in its problem's finals, or is
// its problem's best if the kernels with a stored text are taken for the program's.
constexpr const char* kSelectUses = R"sql(
  SELECT k.family, k.hash, k.id, c.text, d.arch, count(*),
         max(m.standing IS NOT NULL AND m.standing <> 'search'
             OR m.id IN (SELECT w.measurement_id FROM temp.winners w))
  FROM main.measurements m
  CROSS JOIN main.kernels k ON k.id = m.kernel_id
  CROSS JOIN configs c ON c.id = m.config_id
  CROSS JOIN devices d ON d.id = m.device_id
  WHERE m.counts = 1 AND m.disposition = 'ok'
  GROUP BY k.id, d.arch, c.text
)sql";

void bind_use(SQLite::Statement& statement, const std::string& config, const std::string& arch) {
  statement.bind(":config", config);
  statement.bind(":arch", arch);
}

}  // namespace

std::int64_t Database::rows_of_other_kernels(const std::string& arch,
                                             const KernelHashes& hashes) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement kernels(impl_->db, R"sql(
      SELECT k.family, k.hash, count(*)
      FROM measurements m
      JOIN devices d ON d.id = m.device_id
      JOIN main.kernels k ON k.id = m.kernel_id
      WHERE d.arch = :arch AND m.counts = 1 AND m.disposition = 'ok'
      GROUP BY k.id)sql");
    kernels.bind(":arch", arch);
    std::int64_t rows = 0;
    while (kernels.executeStep()) {
      if (is_among(hashes, kernels.getColumn(0).getString(), kernels.getColumn(1).getString())) {
        continue;
      }
      rows += kernels.getColumn(2).getInt64();
    }
    return rows;
  });
}

bool Database::has_other_kernel_texts(const KernelHashes& hashes) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement kernels(impl_->db, R"sql(
      SELECT k.family, k.hash FROM main.kernels k
      WHERE k.tokens IS NOT NULL AND EXISTS (
        SELECT 1 FROM measurements m
        WHERE m.kernel_id = k.id AND m.counts = 1 AND m.disposition = 'ok'))sql");
    while (kernels.executeStep()) {
      if (!is_among(hashes, kernels.getColumn(0).getString(), kernels.getColumn(1).getString())) {
        return true;
      }
    }
    return false;
  });
}

std::vector<OtherKernel> Database::other_kernels(const KernelHashes& hashes) const {
  return guarded(impl_->path, [&] {
    const JudgedWinners judged(impl_->db, hashes);
    judged.take_kernels_with_text();
    std::vector<OtherKernel> others;
    SQLite::Statement uses(impl_->db, kSelectUses);
    SQLite::Statement tokens(impl_->db, "SELECT tokens FROM main.kernels WHERE id = ?");
    while (uses.executeStep()) {
      const std::string family = uses.getColumn(0).getString(),
                        hash = uses.getColumn(1).getString();
      if (is_among(hashes, family, hash)) continue;
      if (others.empty() || others.back().family != family || others.back().hash != hash) {
        others.push_back({family, hash, std::nullopt, {}});
        tokens.bind(1, uses.getColumn(2).getInt64());
        if (tokens.executeStep() && !tokens.isColumnNull(0)) {
          others.back().tokens = tokens.getColumn(0).getString();
        }
        tokens.reset();
      }
      others.back().uses.push_back({uses.getColumn(3).getString(), uses.getColumn(4).getString(),
                                    uses.getColumn(5).getInt64(), uses.getColumn(6).getInt() != 0});
    }
    return others;
  });
}

void Database::rekey(const OtherKernel& from, const OtherKernel::Use& use, const KernelText& to,
                     bool built_in) {
  guarded(impl_->path, [&] {
    SQLite::Database& db = impl_->db;
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement kernel(db, R"sql(
      INSERT INTO main.kernels (family, hash, tokens, is_current)
      VALUES (:family, :hash, :tokens, 0)
      ON CONFLICT DO UPDATE SET tokens = coalesce(tokens, excluded.tokens)
      RETURNING id)sql");
    kernel.bind(":family", to.family);
    kernel.bind(":hash", to.hash);
    kernel.bind(":tokens", to.tokens);
    kernel.executeStep();
    const std::int64_t id = kernel.getColumn(0).getInt64();
    kernel.reset();
    if (built_in) {
      SQLite::Statement current(
          db, "UPDATE main.kernels SET is_current = (id = :id) WHERE family = :family");
      current.bind(":id", id);
      current.bind(":family", to.family);
      current.exec();
    }
    SQLite::Statement move(db, R"sql(
      UPDATE measurements
      SET kernel_id = :kernel, measured_kernel_id = nullif(coalesce(measured_kernel_id, kernel_id), :kernel)
      WHERE kernel_id = (SELECT id FROM main.kernels WHERE family = :family AND hash = :hash)
        AND config_id = (SELECT id FROM configs WHERE text = :config)
        AND device_id IN (SELECT id FROM devices WHERE arch = :arch))sql");
    bind_use(move, use.config, use.arch);
    move.bind(":kernel", id);
    move.bind(":family", from.family);
    move.bind(":hash", from.hash);
    move.exec();
    // The candidate may have been tried with both texts.
    SQLite::Statement recount(db, std::string(kRecount) + R"sql(
      WHERE kernel_id = :kernel AND config_id = (SELECT id FROM configs WHERE text = :config)
        AND device_id IN (SELECT id FROM devices WHERE arch = :arch))sql");
    bind_use(recount, use.config, use.arch);
    recount.bind(":kernel", id);
    recount.exec();
    transaction.commit();
  });
}

}  // namespace gemm_tune

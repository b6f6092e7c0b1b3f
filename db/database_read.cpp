// SPDX-License-Identifier: Apache-2.0
// Reads rows of the file as records.
#include <algorithm>

#include "db/database_impl.h"
#include "db/schema/rows.h"
#include "db/schema/winners_view.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

// The winners by the rule as `by_revisions` has them now.
std::vector<Record> winners_of(const fs::path& path, SQLite::Database& db,
                               const WinnersByRevisions& by_revisions, const std::string& arch,
                               const WinnerRule& rule) {
  SQLite::Statement whole(db, select_record() + " WHERE m.id = :id");
  std::vector<Record> found;
  for (const std::int64_t id : by_revisions.winners(arch, rule)) {
    whole.bind(":id", id);
    // In a damaged file, two ways to the same row number may give different rows.
    if (!whole.executeStep()) throw damaged(path, "a row is not where its number says");
    found.push_back(checked(path, whole, read_record));
    whole.reset();
  }
  return found;
}

}  // namespace

std::vector<Record> Database::records(const DeviceKey& device, const Problem& problem) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, select_record() + R"sql(
      WHERE m.counts = 1 AND m.problem_id = (SELECT id FROM problems WHERE text = :problem)
        AND m.device_id = (SELECT id FROM devices
                           WHERE arch = :arch AND name = :name AND sm_count = :sms)
      ORDER BY (
        SELECT min(f.id)
        FROM measurements f
        WHERE f.device_id = m.device_id AND f.problem_id = m.problem_id
          AND f.candidate_id = m.candidate_id AND f.source = m.source
      ))sql");
    bind_place(query, device, problem);
    std::vector<Record> found;
    while (query.executeStep()) found.push_back(checked(impl_->path, query, read_record));
    return found;
  });
}

KernelRevisions Database::library_revisions() const {
  return guarded(impl_->path, [&] { return gemm_tune::library_revisions(impl_->db); });
}

std::int64_t Database::rows_of_other_revisions(const std::string& arch,
                                               const KernelRevisions& revisions) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement counts(impl_->db, R"sql(
      SELECT c.family, c.revision, count(*)
      FROM measurements m
      JOIN devices d ON d.id = m.device_id
      JOIN main.candidates c ON c.id = m.candidate_id
      WHERE d.arch = :arch AND m.counts = 1 AND m.disposition = 'ok'
      GROUP BY c.family, c.revision)sql");
    counts.bind(":arch", arch);
    KernelRevisions all = gemm_tune::library_revisions(impl_->db);
    all.insert(revisions.begin(), revisions.end());
    std::int64_t rows = 0;
    while (counts.executeStep()) {
      const auto ours = all.find(counts.getColumn(0).getString());
      const bool holds = ours != all.end() && ours->second == counts.getColumn(1).getString();
      if (!holds) rows += counts.getColumn(2).getInt64();
    }
    return rows;
  });
}

std::vector<TimedConfig> Database::timed_elsewhere(const DeviceKey& device,
                                                   const Problem& problem) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, select_timed_config() + R"sql(
      WHERE m.counts = 1 AND m.disposition = 'ok' AND m.source = 'measured'
        AND m.median_us IS NOT NULL AND (d.arch = :arch AND d.name = :name AND d.sm_count = :sms) <> (p.text = :problem)
        AND )sql" + known_problem() + R"sql(
      ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text, c.config, m.id)sql");
    bind_place(query, device, problem);
    std::vector<TimedConfig> found;
    while (query.executeStep()) {
      try {
        found.push_back(read_timed_config(query));
      } catch (const Error&) {
        continue;  // timings are hints only, so a bad row is skipped; check() names it
      }
    }
    return found;
  });
}

// The first of each family for each device and problem.
std::vector<TimedConfig> Database::fastest_configs(const std::string& arch,
                                                   const KernelRevisions& revisions,
                                                   std::int64_t most) const {
  return guarded(impl_->path, [&] {
    const std::int64_t problems =
        std::max<std::int64_t>(impl_->db.execAndGet("SELECT count(*) FROM problems").getInt64(), 1);
    constexpr std::int64_t kMostOfOneProblem = 128;
    if (problems > most) return std::vector<TimedConfig>();
    const WinnersByRevisions by_revisions(impl_->db, revisions);
    SQLite::Statement query(impl_->db, std::string(kTimedConfigColumns) + R"sql(
      FROM devices d CROSS JOIN problems p
      CROSS JOIN measurements m ON m.id IN (
        SELECT id
        FROM (
          SELECT fast.id, row_number() OVER (
                   PARTITION BY c.family ORDER BY coalesce(fast.median_us, fast.predicted_us)
                 ) AS place
          FROM measurements fast
          CROSS JOIN main.candidates c ON c.id = fast.candidate_id
          CROSS JOIN temp.families f ON f.name = c.family AND f.revision = c.revision
          WHERE fast.device_id = d.id AND fast.problem_id = p.id AND fast.source = 'measured'
            AND fast.counts = 1 AND fast.disposition = 'ok'
        )
        WHERE place <= :each)
      JOIN main.candidates c ON c.id = m.candidate_id
      WHERE d.arch = :arch AND m.median_us IS NOT NULL AND )sql" +
                                           known_problem() +
                                           R"sql(
      ORDER BY d.name, d.sm_count, p.M, p.N, p.K, p.text, m.median_us, c.config)sql");
    query.bind(":arch", arch);
    query.bind(":each", std::clamp<std::int64_t>(most / problems, 1, kMostOfOneProblem));
    std::vector<TimedConfig> found;
    while (query.executeStep()) {
      try {
        found.push_back(read_timed_config(query));
      } catch (const Error&) {
        continue;  // one candidate fewer; check() names the row
      }
    }
    return found;
  });
}

// Ignores times above an hour, more than any limit: a file from elsewhere may hold any number.
std::map<std::string, double> Database::compile_seconds(const std::string& host,
                                                        const std::string& cuda_version) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement select(impl_->db, R"sql(
      SELECT c.family, avg(m.compile_s)
      FROM measurements m
      JOIN main.candidates c ON c.id = m.candidate_id
      JOIN runs r ON r.id = m.run_id
      WHERE r.host = :host AND r.cuda_version = :cuda AND m.compile_s BETWEEN 0 AND 3600
      GROUP BY c.family)sql");
    select.bind(":host", host);
    select.bind(":cuda", cuda_version);
    std::map<std::string, double> seconds;
    while (select.executeStep()) {
      seconds[select.getColumn(0).getString()] = select.getColumn(1).getDouble();
    }
    return seconds;
  });
}

std::optional<double> Database::gpu_seconds(const DeviceKey& device, const Problem& problem) const {
  return guarded(impl_->path, [&]() -> std::optional<double> {
    SQLite::Statement select(impl_->db, R"sql(
      SELECT avg(m.gpu_s)
      FROM measurements m
      JOIN devices d ON d.id = m.device_id
      JOIN problems p ON p.id = m.problem_id
      WHERE d.arch = :arch AND d.name = :name AND d.sm_count = :sms AND p.text = :problem
        AND m.gpu_s BETWEEN 0 AND 3600)sql");
    bind_place(select, device, problem);
    if (!select.executeStep() || select.isColumnNull(0)) return std::nullopt;
    return select.getColumn(0).getDouble();
  });
}

std::vector<Baseline> Database::baselines(const Record& record) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement select(impl_->db, kSelectBaseline + R"sql(
      JOIN measurements m ON m.device_id = b.device_id AND m.problem_id = b.problem_id
                         AND m.run_id = b.run_id
      JOIN devices d ON d.id = m.device_id
      JOIN problems p ON p.id = m.problem_id
      JOIN main.candidates c ON c.id = m.candidate_id
      WHERE m.counts = 1 AND d.arch = :arch AND d.name = :name AND d.sm_count = :sms AND p.text = :problem
        AND c.config = :config AND c.revision = :revision AND m.source = :source
        AND b.median_us IS NOT NULL
      ORDER BY b.id)sql");
    bind_place(select, record.device, record.problem);
    select.bind(":config", record.config);
    select.bind(":revision", record.revision);
    select.bind(":source", std::string(to_string(record.source)));
    std::vector<Baseline> found;
    while (select.executeStep()) {
      try {
        found.push_back(read_baseline(select));
      } catch (const Error& error) {
        throw damaged(impl_->path, std::string("a row cannot be read: ") + error.what());
      }
    }
    return found;
  });
}

void Database::for_each_record(const std::function<void(const Record&)>& visit) const {
  guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, select_record() + " WHERE m.counts = 1 AND " +
                                           known_problem() +
                                           " ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, "
                                           "p.text, c.config, m.source, m.id");
    while (query.executeStep()) visit(checked(impl_->path, query, read_record));
  });
}

void Database::for_each_stored(const std::function<void(const Record&, bool counts)>& visit) const {
  guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, select_record() + " WHERE " + known_problem() +
                                           " ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, "
                                           "p.text, m.id");
    while (query.executeStep()) {
      const Record record = checked(impl_->path, query, read_record);
      visit(record, query.getColumn(kRecordCountsColumn).getInt() != 0);
    }
  });
}

void Database::for_each_summary(const std::function<void(const Record&)>& visit) const {
  guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db,
                            select_summary() + " WHERE m.counts = 1 AND " + known_problem());
    while (query.executeStep()) visit(checked(impl_->path, query, read_summary));
  });
}

std::vector<Record> Database::winners(const std::string& arch, const KernelRevisions& revisions,
                                      const WinnerRule& rule, const RowFilter& usable) const {
  return guarded(impl_->path, [&] {
    WinnersByRevisions by_revisions(impl_->db, revisions);
    const auto of_now = [&] {
      return winners_of(impl_->path, impl_->db, by_revisions, arch, rule);
    };
    std::vector<Record> found = of_now();
    const auto is_refused = [&](const Record& record) {
      return usable && !usable(record.config, record.problem);
    };
    if (std::none_of(found.begin(), found.end(), is_refused)) return found;
    by_revisions.leave_out_others(usable);
    return of_now();
  });
}

std::vector<DeviceKey> Database::devices() const {
  return guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db,
                            std::string(kSelectDevice) + " ORDER BY d.arch, d.name, d.sm_count");
    std::vector<DeviceKey> found;
    while (query.executeStep()) {
      found.push_back(checked(impl_->path, query, read_device_key));
    }
    return found;
  });
}

}  // namespace gemm_tune

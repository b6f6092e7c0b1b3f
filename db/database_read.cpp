// SPDX-License-Identifier: Apache-2.0
// Reads rows of the file as records.
#include <algorithm>

#include "db/database_impl.h"
#include "db/rows.h"
#include "db/winners_view.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

// The rows of temp.winners (db/winners_view.h) as it judges now.
std::vector<Record> winners_of(const fs::path& path, SQLite::Database& db,
                               const std::string& arch) {
  SQLite::Statement ids(db, select_winners());
  ids.bind(":arch", arch);
  SQLite::Statement whole(db, select_record() + " WHERE m.id = :id");
  std::vector<Record> found;
  while (ids.executeStep()) {
    whole.bind(":id", ids.getColumn(0).getInt64());
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
          AND f.config_id = m.config_id AND f.kernel_id = m.kernel_id AND f.source = m.source
      ))sql");
    bind_place(query, device, problem);
    std::vector<Record> found;
    while (query.executeStep()) found.push_back(checked(impl_->path, query, read_record));
    return found;
  });
}

std::vector<TimedConfig> Database::timed_elsewhere(const DeviceKey& device,
                                                   const Problem& problem) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, select_timed_config() + R"sql(
      WHERE m.counts = 1 AND m.disposition = 'ok' AND m.source = 'measured'
        AND m.median_us IS NOT NULL AND (d.arch = :arch AND d.name = :name AND d.sm_count = :sms) <> (p.text = :problem)
        AND )sql" + kKnownProblem + R"sql(
      ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text, c.text, m.id)sql");
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

// The first of measurements_by_time for each device, problem and kernel.
std::vector<TimedConfig> Database::fastest_configs(const std::string& arch,
                                                   const KernelHashes& hashes,
                                                   std::int64_t most) const {
  return guarded(impl_->path, [&] {
    SQLite::Statement count(impl_->db, "SELECT count(*) FROM problems");
    count.executeStep();
    const std::int64_t problems = std::max<std::int64_t>(count.getColumn(0).getInt64(), 1);
    constexpr std::int64_t kMostOfOneProblem = 128;
    if (problems > most) return std::vector<TimedConfig>();
    SQLite::Statement query(impl_->db, R"sql(
      SELECT d.arch, d.name, d.sm_count, p.text, c.text AS config, k.hash AS kernel_hash, m.median_us, k.family
      FROM devices d CROSS JOIN problems p CROSS JOIN main.kernels k
      CROSS JOIN measurements m ON m.id IN (
        SELECT fast.id
        FROM measurements fast
        WHERE fast.device_id = d.id AND fast.problem_id = p.id AND fast.kernel_id = k.id
          AND fast.counts = 1 AND fast.disposition = 'ok' AND fast.source = 'measured'
        ORDER BY coalesce(fast.median_us, fast.predicted_us)
        LIMIT :each)
      JOIN configs c ON c.id = m.config_id
      WHERE d.arch = :arch AND m.median_us IS NOT NULL AND )sql" +
                                           std::string(kKnownProblem) +
                                           R"sql(
      ORDER BY d.name, d.sm_count, p.M, p.N, p.K, p.text, m.median_us, c.text)sql");
    query.bind(":arch", arch);
    query.bind(":each", std::clamp<std::int64_t>(most / problems, 1, kMostOfOneProblem));
    std::vector<TimedConfig> found;
    while (query.executeStep()) {
      const auto current = hashes.find(query.getColumn(7).getString());
      if (current == hashes.end() || current->second != query.getColumn(5).getString()) continue;
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
      SELECT k.family, avg(m.compile_s)
      FROM measurements m
      JOIN main.kernels k ON k.id = m.kernel_id
      JOIN runs r ON r.id = m.run_id
      WHERE r.host = :host AND r.cuda_version = :cuda AND m.compile_s BETWEEN 0 AND 3600
      GROUP BY k.family)sql");
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
    SQLite::Statement select(impl_->db, std::string(kSelectBaseline) + R"sql(
      JOIN measurements m ON m.device_id = b.device_id AND m.problem_id = b.problem_id
                         AND m.run_id = b.run_id
      JOIN devices d ON d.id = m.device_id
      JOIN problems p ON p.id = m.problem_id
      JOIN configs c ON c.id = m.config_id
      JOIN main.kernels k ON k.id = m.kernel_id
      WHERE m.counts = 1 AND d.arch = :arch AND d.name = :name AND d.sm_count = :sms AND p.text = :problem
        AND c.text = :config AND k.hash = :hash AND m.source = :source
        AND b.median_us IS NOT NULL
      ORDER BY b.id)sql");
    bind_place(select, record.device, record.problem);
    select.bind(":config", record.config);
    select.bind(":hash", record.kernel_hash);
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
                                           kKnownProblem +
                                           " ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, "
                                           "p.text, c.text, m.source, m.id");
    while (query.executeStep()) visit(checked(impl_->path, query, read_record));
  });
}

void Database::for_each_stored(const std::function<void(const Record&, bool counts)>& visit) const {
  guarded(impl_->path, [&] {
    SQLite::Statement query(impl_->db, select_record() + " WHERE " + kKnownProblem +
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
                            select_summary() + " WHERE m.counts = 1 AND " + kKnownProblem);
    while (query.executeStep()) visit(checked(impl_->path, query, read_summary));
  });
}

std::vector<Record> Database::winners(const std::string& arch, const KernelHashes& hashes,
                                      const ConfigFilter& usable) const {
  return guarded(impl_->path, [&] {
    const JudgedWinners judged(impl_->db, hashes);
    std::vector<Record> found = winners_of(impl_->path, impl_->db, arch);
    const auto is_refused = [&](const Record& record) { return usable && !usable(record.config); };
    if (std::none_of(found.begin(), found.end(), is_refused)) return found;
    judged.leave_out(usable);
    return winners_of(impl_->path, impl_->db, arch);
  });
}

std::vector<Record> Database::winners_by(const WinnerRule& rule, const std::string& arch,
                                         const KernelHashes& hashes,
                                         const ConfigFilter& usable) const {
  const std::string time = rule.objective == Objective::cold ? "m.cold_us" : "m.median_us";
  return guarded(impl_->path, [&] {
    if (rule.objective == Objective::hot && rule.max_error) {
      const JudgedWinners judged(impl_->db, hashes);
      judged.keep_within(*rule.max_error, usable);
      return winners_of(impl_->path, impl_->db, arch);
    }
    SQLite::Statement rows(impl_->db, R"sql(
      SELECT m.id, m.device_id, m.problem_id, k.family, k.hash, c.text, m.error, (
               SELECT b.error FROM baselines b
               WHERE b.run_id = m.run_id AND b.problem_id = m.problem_id AND b.device_id = m.device_id
                 AND b.name GLOB 'cublas[SG]*' AND b.name NOT LIKE '%-autotuned%'),
             m.twins_verified IS 0
      FROM measurements m
      CROSS JOIN devices d ON d.id = m.device_id
      CROSS JOIN problems p ON p.id = m.problem_id
      CROSS JOIN configs c ON c.id = m.config_id
      CROSS JOIN main.kernels k ON k.id = m.kernel_id
      WHERE d.arch = :arch AND m.counts = 1 AND m.disposition = 'ok' AND m.source = 'measured' AND )sql" +
                                          time + " IS NOT NULL AND " + kKnownProblem +
                                          " ORDER BY d.name, d.sm_count, p.M, p.N, p.K, p.text, " +
                                          time + ", c.text");
    rows.bind(":arch", arch);
    SQLite::Statement whole(impl_->db, select_record() + " WHERE m.id = :id");
    std::vector<Record> found;
    std::pair<std::int64_t, std::int64_t> decided = {0, 0};  // device and problem
    while (rows.executeStep()) {
      const std::pair place(rows.getColumn(1).getInt64(), rows.getColumn(2).getInt64());
      if (place == decided) continue;
      const auto current = hashes.find(rows.getColumn(3).getString());
      if (current == hashes.end() || current->second != rows.getColumn(4).getString()) continue;
      const bool has_errors = !rows.isColumnNull(6) && !rows.isColumnNull(7);
      if (rule.max_error && !(has_errors && rows.getColumn(6).getDouble() <=
                                                *rule.max_error * rows.getColumn(7).getDouble())) {
        continue;
      }
      // Finals verify the twins of the best without a limit of errors, and of the best within that
      // of their own run.
      if (rule.max_error && rows.getColumn(8).getInt() != 0) continue;
      if (usable && !usable(rows.getColumn(5).getString())) continue;
      decided = place;
      whole.bind(":id", rows.getColumn(0).getInt64());
      if (!whole.executeStep()) throw damaged(impl_->path, "a row is not where its number says");
      found.push_back(checked(impl_->path, whole, read_record));
      whole.reset();
    }
    return found;
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

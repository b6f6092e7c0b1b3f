// SPDX-License-Identifier: Apache-2.0
#include "db/transfer/row_transfer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "db/database_impl.h"
#include "db/file/database_error.h"
#include "db/schema/rows.h"
#include "db/schema/schema.h"
#include "db/validity/counting.h"

namespace gemm_tune {
namespace {

using Ids = std::unordered_map<std::int64_t, std::int64_t>;  // of a source -> of the output

// A table that rows refer to. Its other columns may be known to some sources only.
struct Parent {
  std::string name, key, order;
};
const std::vector<Parent>& parents() {
  static const std::vector<Parent> all = {
      {"devices", "arch, name, sm_count", "arch, name, sm_count"},
      {"problems", "text", "text"},
      {"candidates", "config, revision", "config, revision"},
      {"runs", "uuid", "max(started_at), uuid"}};
  return all;
}

// The table that a column of measurements or baselines refers to; empty for other columns.
std::string_view parent_of(std::string_view column) {
  if (column == "device_id") return "devices";
  if (column == "problem_id") return "problems";
  if (column == "candidate_id") return "candidates";
  if (column == "run_id") return "runs";
  return "";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end; begin < list.size(); begin = end + 2) {
    end = std::min(list.find(", ", begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
  }
  return parts;
}

std::string placeholders(std::size_t count) { return joined(std::vector<std::string>(count, "?")); }

class Transfer {
 public:
  Transfer(const std::vector<TransferSource>& sources, const TransferSource& output)
      : sources_(sources), out_(*output.db) {
    sources_.push_back(output);  // its own rows are unified with the others
  }

  MergeReport run(const KernelRevisions& revisions) {
    for (const Parent& parent : parents()) copy_parent(parent);
    set_families(out_, with_libraries(revisions));
    const std::int64_t before = count("measurements");
    stage_rows();
    unify_rows();
    store_rows();
    store_baselines();
    MergeReport report;
    report.rows = count("measurements");
    report.added = report.rows - before;
    report.contradictions = contradictions();
    drop_temporary_tables();
    return report;
  }

 private:
  // The output's versions of libraries, else those of the first source that has any.
  KernelRevisions with_libraries(KernelRevisions revisions) const {
    revisions.merge(library_revisions(out_));
    for (const TransferSource& source : sources_) revisions.merge(library_revisions(*source.db));
    return revisions;
  }

  std::vector<std::string> columns_of(const std::string& table) {
    std::vector<std::string> names;
    SQLite::Statement info(
        out_, "SELECT name FROM pragma_table_info('" + table + "') WHERE name <> 'id'");
    while (info.executeStep()) names.push_back(info.getColumn(0).getString());
    return names;
  }

  // The connection may see another transfer.
  void drop_temporary_tables() {
    std::vector<std::string> names;
    {
      SQLite::Statement tables(out_, "SELECT name FROM temp.sqlite_schema WHERE type = 'table'");
      while (tables.executeStep()) names.push_back(tables.getColumn(0).getString());
    }
    for (const std::string& name : names) out_.exec("DROP TABLE temp." + name);
  }

  std::int64_t count(const std::string& table) {
    return out_.execAndGet("SELECT count(*) FROM main." + table).getInt64();
  }

  // Calls `visit` for every row of the source's statement.
  template <class Visit>
  static void for_each_row(const TransferSource& source, const std::string& query,
                           const Visit& visit) {
    SQLite::Statement rows =
        guarded(source.path, [&] { return SQLite::Statement(*source.db, query); });
    try {
      while (guarded(source.path, [&] { return rows.executeStep(); })) visit(rows);
    } catch (const DatabaseError&) {
      throw;
    } catch (const Error& error) {
      throw damaged(source.path, std::string("a row cannot be read: ") + error.what());
    }
  }

  static void execute(SQLite::Statement& statement) {
    statement.exec();
    statement.reset();
  }

  static DatabaseError dangling(const TransferSource& source) {
    return damaged(source.path, "a row refers to another one that does not exist");
  }

  // A column that is NULL in one source and known in another is known afterwards. Columns that
  // contradict each other, which no program stores, do so in the same way in any order.
  void copy_parent(const Parent& parent) {
    const std::vector<std::string> columns = columns_of(parent.name);
    const std::string names = joined(columns), staged = "temp.staged_" + parent.name;
    out_.exec("CREATE TEMP TABLE staged_" + parent.name + " AS SELECT " + names + " FROM main." +
              parent.name + " WHERE 0");
    SQLite::Statement stage(
        out_, "INSERT INTO " + staged + " VALUES (" + placeholders(columns.size()) + ")");
    for (const TransferSource& source : sources_) {
      require_sound_parents(parent, source);
      for_each_row(source, "SELECT " + names + " FROM main." + parent.name,
                   [&](SQLite::Statement& row) {
                     for (int i = 0; i < row.getColumnCount(); ++i) {
                       copy_value(row.getColumn(i), stage, i + 1);
                     }
                     execute(stage);
                   });
    }
    const std::vector<std::string> key = split(parent.key);
    std::vector<std::string> values, updates;
    for (const std::string& column : columns) {
      const bool is_key = std::find(key.begin(), key.end(), column) != key.end();
      values.push_back(is_key ? column : "max(" + column + ")");
      if (is_key) continue;
      updates.push_back(column + " = coalesce(max(" + column + ", excluded." + column + "), " +
                        column + ", excluded." + column + ")");
    }
    out_.exec("INSERT INTO main." + parent.name + " (" + names + ") SELECT " + joined(values) +
              " FROM " + staged + " WHERE true GROUP BY " + parent.key + " ORDER BY " +
              parent.order + " ON CONFLICT (" + parent.key + ") DO " +
              (updates.empty() ? "NOTHING" : "UPDATE SET " + joined(updates)));
    for (const TransferSource& source : sources_) ids_[parent.name].push_back(ids(parent, source));
  }

  static void require_sound_parents(const Parent& parent, const TransferSource& source) {
    if (parent.name == "devices") {
      for_each_row(source, kSelectDevice,
                   [&](SQLite::Statement& row) { checked(source.path, row, read_device_key); });
    } else if (parent.name == "problems") {
      for_each_row(source, select_problem(), [&](SQLite::Statement& row) {
        if (!is_sound_problem(row)) {
          throw damaged(source.path, "problems row " + row.getColumn(0).getString() +
                                         ": its text and its numbers differ");
        }
      });
    }
  }

  Ids ids(const Parent& parent, const TransferSource& source) {
    const std::vector<std::string> key = split(parent.key);
    std::string where;
    for (const std::string& column : key) {
      where += (where.empty() ? "" : " AND ") + column + " = ?";
    }
    SQLite::Statement find(out_, "SELECT id FROM main." + parent.name + " WHERE " + where);
    Ids ids;
    for_each_row(source, "SELECT id, " + parent.key + " FROM main." + parent.name,
                 [&](SQLite::Statement& row) {
                   for (int i = 1; i < row.getColumnCount(); ++i) {
                     copy_value(row.getColumn(i), find, i);
                   }
                   if (find.executeStep()) ids[row.getColumn(0).getInt64()] = find.getColumn(0);
                   find.reset();
                 });
    return ids;
  }

  // Binds the columns of a row from `first` on, with the output's ids for the source's.
  void bind_row(SQLite::Statement& row, int first, std::size_t source, SQLite::Statement& to) {
    for (int at = first; at < row.getColumnCount(); ++at) {
      const int parameter = at - first + 1;
      const std::string_view parent = parent_of(row.getColumnName(at));
      if (parent.empty() || row.isColumnNull(at)) {
        copy_value(row.getColumn(at), to, parameter);
        continue;
      }
      const Ids& ids = ids_.at(std::string(parent)).at(source);
      const auto id = ids.find(row.getColumn(at).getInt64());
      if (id == ids.end()) throw dangling(sources_[source]);
      to.bind(parameter, id->second);
    }
  }

  // temp.staged: the rows of all sources, with the output's ids. `id` is that of the row in the
  // output, or NULL. `position`: the row's place among those that its run stored at one moment.
  void stage_rows() {
    columns_ = columns_of("measurements");
    out_.exec(
        "CREATE TEMP TABLE staged AS SELECT *, 0 AS source_index, 0 AS position FROM "
        "main.measurements WHERE 0");
    SQLite::Statement stage(
        out_, "INSERT INTO temp.staged VALUES (" + placeholders(columns_.size() + 3) + ")");
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      const TransferSource& source = sources_[s];
      std::int64_t rows = 0;
      std::unordered_map<std::string, std::pair<std::string, std::int64_t>> latest;  // by run
      for_each_row(source, select_record_and_row(), [&](SQLite::Statement& row) {
        if (row.getColumn(kKnownProblemColumn).getInt() != 0) {
          checked(source.path, row, read_record);
        }
        bind_row(row, kFirstRowColumn, s, stage);
        if (s + 1 < sources_.size()) stage.bind(1);
        auto& [moment, position] = latest[row.getColumn(kRunUuidColumn).getString()];
        const std::string recorded_at = row.getColumn(kRecordedAtColumn).getString();
        position = moment == recorded_at ? position + 1 : 0;
        moment = recorded_at;
        const int behind = static_cast<int>(columns_.size()) + 2;
        stage.bind(behind, static_cast<std::int64_t>(s));
        stage.bind(behind + 1, position);
        execute(stage);
        ++rows;
      });
      for_each_row(source, "SELECT count(*) FROM measurements", [&](SQLite::Statement& row) {
        if (row.getColumn(0).getInt64() != rows) throw dangling(source);
      });
    }
  }

  // temp.unified: a row for all copies of a row: one of them, and its id in the output.
  void unify_rows() {
    std::vector<std::string> origin = {"recorded_at", "run_id", "device_id", "problem_id",
                                       "candidate_id"};
    for (const std::string& column : columns_) {
      const bool is_there = std::find(origin.begin(), origin.end(), column) != origin.end();
      if (!is_there && column != "counts") origin.push_back(column);
    }
    out_.exec(
        "CREATE TEMP TABLE unified AS SELECT min(rowid) AS copy, min(id) AS own_id, min(position) "
        "AS position FROM temp.staged GROUP BY " +
        joined(origin) + " ORDER BY recorded_at, run_id, min(position), " + joined(origin));
  }

  void store_rows() {
    std::vector<std::string> values;
    for (const std::string& column : columns_) {
      values.push_back(column == "counts" ? "1" : "s." + column);
    }
    out_.exec("INSERT INTO main.measurements (" + joined(columns_) + ") SELECT " + joined(values) +
              " FROM temp.unified u CROSS JOIN temp.staged s ON s.rowid = u.copy "
              "WHERE u.own_id IS NULL ORDER BY u.rowid");
    out_.exec(std::string(kRecount) + R"sql(
      WHERE (device_id, problem_id, candidate_id, source) IN (
        SELECT device_id, problem_id, candidate_id, source FROM main.measurements
        GROUP BY device_id, problem_id, candidate_id, source
        HAVING count(*) > 1 OR total(counts) <> 1))sql");
  }

  // A run stores one baseline of a name for a problem; a later one takes its place.
  void store_baselines() {
    const std::vector<std::string> columns = columns_of("baselines");
    const std::string names = joined(columns);
    out_.exec("CREATE TEMP TABLE staged_baselines AS SELECT * FROM main.baselines WHERE 0");
    SQLite::Statement stage(out_, "INSERT INTO temp.staged_baselines VALUES (" +
                                      placeholders(columns.size() + 1) + ")");
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      const TransferSource& source = sources_[s];
      for_each_row(source, kSelectBaseline,
                   [&](SQLite::Statement& row) { checked(source.path, row, read_baseline); });
      for_each_row(source, "SELECT * FROM baselines", [&](SQLite::Statement& row) {
        bind_row(row, 0, s, stage);
        execute(stage);
      });
    }
    std::vector<std::string> latest = {"recorded_at DESC"};
    for (const std::string& column : columns) latest.push_back(column);
    out_.exec(R"sql(
      CREATE TEMP TABLE unified_baselines AS
      SELECT *, row_number() OVER (PARTITION BY run_id, problem_id, device_id, name ORDER BY )sql" +
              joined(latest) + ") AS place FROM temp.staged_baselines");
    std::vector<std::string> same;
    for (const std::string& column : columns) same.push_back("b." + column + " IS u." + column);
    std::string equal;
    for (const std::string& condition : same) equal += " AND " + condition;
    out_.exec("INSERT OR REPLACE INTO main.baselines (" + names + ") SELECT " + names +
              " FROM temp.unified_baselines u WHERE place = 1 AND NOT EXISTS (SELECT 1 FROM "
              "main.baselines b WHERE true" +
              equal + ") ORDER BY recorded_at, run_id, problem_id, device_id, name");
  }

  std::vector<Contradiction> contradictions() {
    out_.exec(R"sql(
      CREATE TEMP TABLE contradicted AS
      SELECT device_id, problem_id, candidate_id, source
      FROM temp.staged WHERE counts = 1
      GROUP BY device_id, problem_id, candidate_id, source
      HAVING count(DISTINCT disposition) > 1 AND count(DISTINCT source_index) > 1)sql");
    SQLite::Statement sides(out_, R"sql(
      SELECT d.arch, d.name, d.sm_count, p.text, c.config, c.revision, x.source, m.disposition,
             m.recorded_at, u.source_index, u.disposition, u.median_us, coalesce(u.reason, ''),
             u.recorded_at
      FROM temp.contradicted x
      JOIN devices d ON d.id = x.device_id
      JOIN problems p ON p.id = x.problem_id
      JOIN main.candidates c ON c.id = x.candidate_id
      JOIN main.measurements m
        ON m.device_id = x.device_id AND m.problem_id = x.problem_id
       AND m.candidate_id = x.candidate_id AND m.source = x.source AND m.counts = 1
      JOIN temp.staged u
        ON u.counts = 1 AND u.device_id = x.device_id AND u.problem_id = x.problem_id
       AND u.candidate_id = x.candidate_id AND u.source = x.source
      ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text, c.config, c.revision, x.source,
               u.recorded_at)sql");
    std::vector<Contradiction> found;
    while (sides.executeStep()) {
      const auto text = [&](int at) { return sides.getColumn(at).getString(); };
      Contradiction next;
      next.device = {text(0), text(1), sides.getColumn(2).getInt()};
      next.problem = text(3);
      next.config = text(4);
      next.revision = text(5);
      next.source = parse_source(text(6));
      next.disposition = parse_disposition(text(7));
      next.recorded_at = text(8);
      const bool is_new =
          found.empty() || !(found.back().device == next.device) ||
          found.back().problem != next.problem || found.back().config != next.config ||
          found.back().revision != next.revision || found.back().source != next.source;
      if (is_new) found.push_back(std::move(next));
      Contradiction::Side side;
      side.database = sources_[static_cast<std::size_t>(sides.getColumn(9).getInt64())].path;
      side.disposition = parse_disposition(text(10));
      if (!sides.isColumnNull(11)) side.median_us = sides.getColumn(11).getDouble();
      side.reason = text(12);
      side.recorded_at = text(13);
      found.back().sides.push_back(std::move(side));
    }
    for (Contradiction& contradiction : found) {
      std::sort(contradiction.sides.begin(), contradiction.sides.end(),
                [](const Contradiction::Side& a, const Contradiction::Side& b) {
                  return std::tie(a.recorded_at, a.database) < std::tie(b.recorded_at, b.database);
                });
    }
    return found;
  }

  std::vector<TransferSource> sources_;
  SQLite::Database& out_;
  std::unordered_map<std::string, std::vector<Ids>> ids_;  // table -> those of each source
  std::vector<std::string> columns_;                       // of measurements, without id
};

}  // namespace

MemoryDatabase::MemoryDatabase() : db_(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
  disarm(db_);
  db_.exec(kSchema);
}

MergeReport MemoryDatabase::add_file(const std::filesystem::path& path,
                                     const KernelRevisions& revisions, const LockWait& lock) {
  OpenDatabase file =
      open_database(path, Database::Mode::read_only, lock, Database::Journaling::by_file_system);
  return guarded(path, [&] {
    file.connection.exec("BEGIN");
    SQLite::Transaction transaction(db_);
    const MergeReport report =
        transfer_rows({{path, &file.connection}}, {"the copy in memory", &db_}, revisions);
    transaction.commit();
    return report;
  });
}

void MemoryDatabase::drop_unreferenced() {
  db_.exec(R"sql(
    DELETE FROM baselines WHERE (run_id, problem_id, device_id) NOT IN
      (SELECT run_id, problem_id, device_id FROM measurements);
    DELETE FROM devices WHERE id NOT IN (SELECT device_id FROM measurements);
    DELETE FROM problems WHERE id NOT IN (SELECT problem_id FROM measurements);
    DELETE FROM candidates WHERE id NOT IN (SELECT candidate_id FROM measurements);
    DELETE FROM runs WHERE id NOT IN (SELECT run_id FROM measurements))sql");
}

MergeReport transfer_rows(const std::vector<TransferSource>& sources, const TransferSource& output,
                          const KernelRevisions& revisions) {
  return Transfer(sources, output).run(revisions);
}

}  // namespace gemm_tune

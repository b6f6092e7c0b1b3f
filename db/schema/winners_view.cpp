// SPDX-License-Identifier: Apache-2.0
#include "db/schema/winners_view.h"

#include <sqlite3.h>

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/problem/problem.h"
#include "core/text/replaced.h"
#include "db/schema/rows.h"
#include "db/schema/schema.h"

namespace gemm_tune {
namespace {

void replace(std::string& text, std::string_view from, const std::string& to) {
  if (text.find(from) == text.npos)
    throw Error("the schema's view winners lacks " + std::string(from));
  text = with_replaced(std::move(text), from, to);
}

// The subquery of the view that gives the best row's id for each device and problem.
std::string best_rows() {
  constexpr std::string_view kBegin = "  SELECT coalesce((", kEnd = "\n) best";
  const std::string_view schema = kSchema;
  const std::size_t begin = schema.find(kBegin), end = schema.find(kEnd, begin);
  if (begin == schema.npos || end == schema.npos) throw Error("the schema lacks its view winners");
  return std::string(schema.substr(begin, end - begin));
}

// Of a row m. :max_error is so many times the error of cuBLAS in the row's run.
const std::string kIsWithinLimit = R"sql(m.verified = 1 AND m.error <= :max_error * (
          SELECT b.error FROM baselines b
          WHERE b.run_id = m.run_id AND b.problem_id = m.problem_id AND b.device_id = m.device_id
            AND b.name GLOB 'cublas[SG]*' AND b.name NOT GLOB '*-autotuned'))sql";

std::string best_rows_by(const WinnerRule& rule, bool of_usable) {
  std::string query = best_rows();
  if (of_usable) replace(query, "m.counts = 1", "m.counts = 1 AND may_win(c.config, p.text)");
  if (rule.objective == Objective::cold) {
    replace(query, "coalesce(m.median_us, m.predicted_us)", "m.cold_us");
    replace(query, "m.median_us", "m.cold_us");
    replace(query, "m.rank", "m.cold_rank");
    replace(query, "first.rank", "first.cold_rank");
  }
  if (rule.max_error) {
    replace(query, "m.verified = 1", kIsWithinLimit);
    replace(query, "m.disposition = 'ok'", "m.disposition = 'ok' AND " + kIsWithinLimit);
  }
  return query;
}

// A filter, and the problem that it was last asked about: rows of one follow one another.
struct Usable {
  Database::RowFilter filter;
  std::string text;
  std::optional<Problem> problem;  // nothing: none that this program knows
};

std::optional<Problem> known_problem_of(const std::string& text) {
  try {
    return parse_problem(text);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

// The SQL function may_win(config, problem).
void may_win(sqlite3_context* context, int, sqlite3_value** arguments) {
  Usable& usable = *static_cast<Usable*>(sqlite3_user_data(context));
  const auto text = [&](int i) {
    const unsigned char* const read = sqlite3_value_text(arguments[i]);
    return read == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(read));
  };
  try {
    if (std::string problem = text(1); problem != usable.text) {
      usable.problem = known_problem_of(problem);
      usable.text = std::move(problem);
    }
    const bool wins = usable.problem && usable.filter(text(0), *usable.problem);
    sqlite3_result_int(context, wins ? 1 : 0);
  } catch (const std::exception& error) {
    sqlite3_result_error(context, error.what(), -1);
  }
}

}  // namespace

WinnersByRevisions::WinnersByRevisions(SQLite::Database& db, const KernelRevisions& revisions)
    : db_(db), query_only_(db.execAndGet("PRAGMA query_only").getInt() != 0) {
  db_.exec(R"sql(
    PRAGMA query_only = OFF;
    PRAGMA temp_store = MEMORY;
    CREATE TEMP TABLE families (name TEXT PRIMARY KEY, revision TEXT) WITHOUT ROWID)sql");
  insert_families(db_, "temp", revisions);
}

WinnersByRevisions::~WinnersByRevisions() {
  db_.tryExec("DROP TABLE IF EXISTS temp.families");
  if (query_only_) db_.tryExec("PRAGMA query_only = ON");
}

void WinnersByRevisions::leave_out_others(const Database::RowFilter& usable) {
  db_.createFunction("may_win", 2, true, new Usable{usable, {}, {}}, may_win, nullptr, nullptr,
                     [](void* filter) { delete static_cast<Usable*>(filter); });
  of_usable_ = true;
}

// CROSS JOIN and the unary plus force the planner's order: the best of each problem first, then
// only their rows. With an index on the devices' names the planner would visit every measurement.
std::string WinnersByRevisions::query(const WinnerRule& rule, bool of_usable) {
  return "SELECT m.id FROM (" + best_rows_by(rule, of_usable) +
         " WHERE d.arch = :arch) best "
         "CROSS JOIN measurements m ON m.id = best.id "
         "CROSS JOIN devices d ON d.id = m.device_id "
         "CROSS JOIN problems p ON p.id = m.problem_id WHERE " +
         known_problem() + " ORDER BY +d.name, d.sm_count, p.M, p.N, p.K, p.text";
}

std::vector<std::int64_t> WinnersByRevisions::winners(const std::string& arch,
                                                      const WinnerRule& rule) const {
  SQLite::Statement ids(db_, query(rule, of_usable_));
  ids.bind(":arch", arch);
  if (rule.max_error) ids.bind(":max_error", *rule.max_error);
  std::vector<std::int64_t> found;
  while (ids.executeStep()) found.push_back(ids.getColumn(0).getInt64());
  return found;
}

}  // namespace gemm_tune

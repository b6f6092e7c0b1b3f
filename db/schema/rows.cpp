// SPDX-License-Identifier: Apache-2.0
#include "db/schema/rows.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "db/schema/column_reader.h"
#include "db/schema/schema.h"
#include "db/schema/soundness.h"
#include "kernel_templates/registry/library_families.h"

namespace gemm_tune {
namespace {

template <class T>
T sound(T value) {
  if (const auto fault = why_unsound(value)) throw Error(*fault);
  return value;
}

std::uint64_t parse_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error("its seed is not a number");
  }
  return seed;
}

std::vector<double> parse_samples(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<std::vector<double>>();
  } catch (const nlohmann::json::exception& error) {
    throw Error("its samples are malformed: " + std::string(error.what()));
  }
}

const std::string kTimingColumns[] = {"median_us", "samples",       "launches_per_sample",
                                      "cold_us",   "error",         "sm_mhz",
                                      "power_w",   "temperature_c", "disturbance"};

// The columns of a timing of the table with this alias, as read_timing() reads them.
std::string timing_columns(const std::string& alias) {
  std::string columns;
  for (const std::string& column : kTimingColumns) {
    columns += (columns.empty() ? "" : ", ") + alias + "." + column;
  }
  return columns;
}

// error: that of the row, which may have one without a timing.
std::optional<Timing> read_timing(ColumnReader& row, std::optional<double>* error) {
  Timing timing;
  const std::optional<double> median_us = row.optional_real();
  const std::string samples = row.text();
  const std::optional<int> launches = row.optional_whole();
  timing.cold_us = row.optional_real();
  *error = row.optional_real();
  const std::optional<int> sm_mhz = row.optional_whole();
  const std::optional<double> power_w = row.optional_real();
  const std::optional<int> temperature_c = row.optional_whole();
  timing.disturbance = row.text();
  if (!median_us) return std::nullopt;
  timing.median_us = *median_us;
  timing.samples_us = parse_samples(samples);
  if (!launches) throw Error("its launches_per_sample is not there");
  timing.launches_per_sample = *launches;
  if (sm_mhz) timing.conditions = {*sm_mhz, power_w.value_or(0), temperature_c.value_or(0)};
  return timing;
}

std::optional<Resources> read_resources(ColumnReader& row) {
  if (row.at_null()) {
    row.skip(5);
    return std::nullopt;
  }
  Resources resources;
  resources.registers = row.whole();
  resources.spill_bytes = row.whole();
  resources.stack_bytes = row.whole();
  resources.smem_bytes = row.whole();
  resources.ctas_per_sm = row.whole();
  return resources;
}

std::optional<Ranking> read_ranking(ColumnReader& row) {
  if (row.at_null()) {
    row.skip(4);
    return std::nullopt;
  }
  Ranking ranking;
  ranking.rank = row.whole();
  ranking.cold_rank = row.optional_whole();
  ranking.tied = row.whole() != 0;
  ranking.verified = row.whole() != 0;
  return ranking;
}

DeviceKey read_device(ColumnReader& row) {
  DeviceKey device;
  device.arch = row.text();
  device.name = row.text();
  device.sm_count = row.whole();
  return device;
}

std::optional<Baseline> read_optional_baseline(ColumnReader& row) {
  Baseline baseline;
  baseline.name = row.text();
  baseline.library_version = row.text();
  baseline.algorithms = row.optional_whole();
  const std::optional<Timing> timing = read_timing(row, &baseline.error);
  if (!timing) return std::nullopt;
  baseline.timing = *timing;
  return baseline;
}

RunInfo read_run(ColumnReader& row) {
  RunInfo run;
  run.tool_version = row.text();
  run.cuda_version = row.text();
  run.driver_version = row.text();
  run.command = row.text();
  run.seed = parse_seed(row.text());
  run.host = row.text();
  run.gpu.power_limit_w = row.optional_real();
  run.gpu.memory_mhz = row.optional_whole();
  run.gpu.mig_slice = row.text();
  return run;
}

// The rows of a candidate, behind the four columns that have names in db/schema/rows.h.
const std::string kKeyColumns = "d.arch, d.name, d.sm_count, p.text, c.config, c.revision";

const std::string& record_columns() {
  static const std::string columns =
      "SELECT m.id, m.counts, m.recorded_at, r.uuid, " + kKeyColumns + R"sql(,
         m.disposition, m.reason, m.source, m.registers, m.spill_bytes, m.stack_bytes,
         m.smem_bytes, m.ctas_per_sm, )sql" +
      timing_columns("m") + R"sql(, m.rank, m.cold_rank, m.tied, m.verified, m.predicted_us,
         m.compile_s, m.gpu_s, b.name, b.library_version, b.algorithms, )sql" +
      timing_columns("b") + R"sql(, r.tool_version, r.cuda_version, r.driver_version, r.command,
         r.seed, r.host, r.power_limit_w, r.memory_mhz, r.mig_slice)sql";
  return columns;
}

constexpr int kRecordColumns = 4 + 6 + 8 + 9 + 4 + 3 + 3 + 9 + 9;

// Joins to each row of `measurements m` the rows that it refers to. CROSS JOIN finds each of them
// by its number, in the order of m's rows. Otherwise the planner might begin with a small table and
// visit m's rows in that table's order.
const std::string kFromMeasurements = R"sql(
  FROM measurements m
  CROSS JOIN devices d ON d.id = m.device_id
  CROSS JOIN problems p ON p.id = m.problem_id
  CROSS JOIN main.candidates c ON c.id = m.candidate_id
)sql";
const std::string kWithRuns = " CROSS JOIN runs r ON r.id = m.run_id ";

// Taken from the text of the schema's view `winners`, so that there is one definition.
std::string with_fastest_baseline() {
  constexpr std::string_view kBegin = "LEFT JOIN baselines b ON", kEnd = "LIMIT 1\n)";
  const std::string_view schema = kSchema;
  const std::size_t begin = schema.find(kBegin), end = schema.find(kEnd, begin);
  if (begin == schema.npos || end == schema.npos) throw Error("the schema lacks its baselines");
  return std::string(schema.substr(begin, end + kEnd.size() - begin));
}

// "('a', 'b')".
std::string sql_list(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "('" : ", '") + word + "'";
  return list + ")";
}

}  // namespace

const int kKnownProblemColumn = kRecordColumns, kFirstRowColumn = kRecordColumns + 1;

const std::string& select_record() {
  static const std::string select =
      record_columns() + kFromMeasurements + kWithRuns + with_fastest_baseline();
  return select;
}

const std::string& select_record_and_row() {
  static const std::string select = record_columns() + ", " + known_problem() + ", m.*" +
                                    kFromMeasurements + kWithRuns + "LEFT JOIN baselines b ON 0";
  return select;
}

const std::string& select_summary() {
  static const std::string select = "SELECT " + kKeyColumns +
                                    ", m.disposition, m.source, r.cuda_version, r.driver_version " +
                                    kFromMeasurements + kWithRuns;
  return select;
}

const std::string kTimedConfigColumns = "SELECT " + kKeyColumns + ", m.median_us ";

const std::string& select_timed_config() {
  static const std::string select = kTimedConfigColumns + kFromMeasurements;
  return select;
}

const std::string kSelectBaseline = "SELECT b.id, b.name, b.library_version, b.algorithms, " +
                                    timing_columns("b") + " FROM baselines b ";
const char* const kSelectDevice = "SELECT d.arch, d.name, d.sm_count, d.id FROM devices d";
const std::string& known_problem() {
  static const std::string known = [] {
    std::vector<std::string> types, classes, epilogues;
    for (int i = 0; i < kMatrixTypes; ++i) types.emplace_back(kTypeTable[i].name);
    for (const AccuracyInfo& info : kAccuracyTable) classes.emplace_back(info.name);
    for (std::uint32_t bits = 0; bits < 1U << kEpilogueFunctors; ++bits) {
      if (const auto epilogue = Epilogue::of_bits(bits)) epilogues.push_back(to_string(*epilogue));
    }
    std::string sql;
    for (const char* const column : {"type_a", "type_b", "type_c", "type_d"}) {
      sql += std::string("p.") + column + " IN " + sql_list(types) + " AND ";
    }
    return sql + "p.accuracy IN " + sql_list(classes) +
           " AND p.layout IN ('nn', 'nt', 'tn', 'tt') AND p.batch_kind IN ('strided', 'pointers', "
           "'groups') AND "
           "(p.epilogue = 'none' OR p.epilogue IN " +
           sql_list(epilogues) + ")";
  }();
  return known;
}

const std::string& select_problem() {
  static const std::string select =
      "SELECT p.id, p.text, " + known_problem() +
      ", p.M, p.N, p.K, p.batch_kind, p.batch, p.type_a, p.type_b, p.type_c, p.type_d, p.accuracy, "
      "p.layout, "
      "p.align_a, p.align_b, p.align_c, p.align_d, p.epilogue FROM problems p";
  return select;
}
const char* const kInsertProblem = R"sql(
  INSERT INTO problems (text, M, N, K, batch_kind, batch, type_a, type_b, type_c, type_d, accuracy,
                        layout, align_a, align_b, align_c, align_d, epilogue)
  VALUES (:text, :M, :N, :K, :batch_kind, :batch, :type_a, :type_b, :type_c, :type_d, :accuracy,
          :layout, :align_a, :align_b, :align_c, :align_d, :epilogue))sql";
const char* const kInsertCandidate =
    "INSERT INTO main.candidates (family, revision, config) VALUES (:family, :revision, :config)";

bool is_sound_problem(SQLite::Statement& row) {
  const bool known = row.getColumn(2).getInt() != 0;
  try {
    const std::string text = row.getColumn(1).getString();
    const Problem problem = parse_problem(text);
    if (!known || to_string(problem) != text) return false;
    const Signature& types = problem.signature;
    const Alignment& align = problem.alignment;
    int at = 2;
    const auto is_text = [&](std::string_view expected) {
      return row.getColumn(++at).getString() == expected;
    };
    const auto is_number = [&](std::int64_t expected) {
      return row.getColumn(++at).getInt64() == expected;
    };
    return is_number(problem.M) && is_number(problem.N) && is_number(problem.K) &&
           is_text(to_string(problem.batch_kind)) && is_number(problem.batch) &&
           is_text(to_string(types.a)) && is_text(to_string(types.b)) &&
           is_text(to_string(types.c)) && is_text(to_string(types.d)) &&
           is_text(to_string(types.accuracy)) && is_text(to_string(problem.layout)) &&
           is_number(align.a) && is_number(align.b) && is_number(align.c) && is_number(align.d) &&
           is_text(to_string(problem.epilogue));
  } catch (const UsageError&) {
    return !known;
  }
}

Record read_record(SQLite::Statement& row) {
  Record record;
  record.recorded_at = ColumnReader(row, kRecordedAtColumn).text();
  ColumnReader columns(row, kRunUuidColumn + 1);
  record.device = read_device(columns);
  record.problem = parse_problem(columns.text());
  record.config = columns.text();
  record.revision = columns.text();
  Outcome& outcome = record.outcome;
  outcome.disposition = parse_disposition(columns.text());
  outcome.detail = columns.text();
  record.source = parse_source(columns.text());
  outcome.resources = read_resources(columns);
  outcome.timing = read_timing(columns, &outcome.error);
  outcome.ranking = read_ranking(columns);
  outcome.predicted_us = columns.optional_real();
  outcome.compile_s = columns.optional_real();
  outcome.gpu_s = columns.optional_real();
  record.baseline = read_optional_baseline(columns);
  record.run = read_run(columns);
  record.run.uuid = ColumnReader(row, kRunUuidColumn).text();
  return sound(std::move(record));
}

void copy_value(const SQLite::Column& value, SQLite::Statement& to, int index) {
  if (value.isInteger()) {
    to.bind(index, value.getInt64());
  } else if (value.isFloat()) {
    to.bind(index, value.getDouble());
  } else if (value.isText()) {
    to.bind(index, value.getString());
  } else if (value.isNull()) {
    to.bind(index);
  } else {  // no row has one: a text's type with a wrong bit
    throw Error(std::string("its ") + value.getName() + " is a blob");
  }
}

Record read_summary(SQLite::Statement& row) {
  ColumnReader columns(row, 0);
  Record record;
  record.device = sound(read_device(columns));
  record.problem = parse_problem(columns.text());
  record.config = columns.text();
  record.revision = columns.text();
  record.outcome.disposition = parse_disposition(columns.text());
  record.source = parse_source(columns.text());
  record.run.cuda_version = columns.text();
  record.run.driver_version = columns.text();
  return record;
}

TimedConfig read_timed_config(SQLite::Statement& row) {
  ColumnReader columns(row, 0);
  TimedConfig timed;
  timed.device = read_device(columns);
  timed.problem = parse_problem(columns.text());
  timed.config = columns.text();
  timed.revision = columns.text();
  timed.median_us = columns.real();
  return sound(std::move(timed));
}

Baseline read_baseline(SQLite::Statement& row) {
  ColumnReader columns(row, kBaselineIdColumn + 1);
  std::optional<Baseline> baseline = read_optional_baseline(columns);
  if (!baseline) throw Error("a baseline lacks its time");
  return sound(*std::move(baseline));
}

DeviceKey read_device_key(SQLite::Statement& row) {
  ColumnReader columns(row, 0);
  return sound(read_device(columns));
}

void bind_device(SQLite::Statement& statement, const DeviceKey& device) {
  statement.bind(":arch", device.arch);
  statement.bind(":name", device.name);
  statement.bind(":sms", device.sm_count);
}

void bind_place(SQLite::Statement& statement, const DeviceKey& device, const Problem& problem) {
  bind_device(statement, device);
  statement.bind(":problem", to_string(problem));
}

void bind_problem(SQLite::Statement& row, const Problem& problem) {
  const auto bind_text = [&](const char* name, std::string_view text) {
    row.bind(name, std::string(text));
  };
  const Signature& types = problem.signature;
  row.bind(":text", to_string(problem));
  row.bind(":M", problem.M);
  row.bind(":N", problem.N);
  row.bind(":K", problem.K);
  bind_text(":batch_kind", to_string(problem.batch_kind));
  row.bind(":batch", problem.batch);
  bind_text(":type_a", to_string(types.a));
  bind_text(":type_b", to_string(types.b));
  bind_text(":type_c", to_string(types.c));
  bind_text(":type_d", to_string(types.d));
  bind_text(":accuracy", to_string(types.accuracy));
  bind_text(":layout", to_string(problem.layout));
  row.bind(":align_a", problem.alignment.a);
  row.bind(":align_b", problem.alignment.b);
  row.bind(":align_c", problem.alignment.c);
  row.bind(":align_d", problem.alignment.d);
  bind_text(":epilogue", to_string(problem.epilogue));
}

void bind_candidate(SQLite::Statement& row, const std::string& config,
                    const std::string& revision) {
  row.bind(":family", config.substr(0, config.find('/')));
  row.bind(":revision", revision);
  row.bind(":config", config);
}

void bind_resources(SQLite::Statement& row, const std::optional<Resources>& resources) {
  if (!resources) return;  // unbound parameters are NULL
  row.bind(":registers", resources->registers);
  row.bind(":spill_bytes", resources->spill_bytes);
  row.bind(":stack_bytes", resources->stack_bytes);
  row.bind(":smem_bytes", resources->smem_bytes);
  row.bind(":ctas_per_sm", resources->ctas_per_sm);
}

void bind_timing(SQLite::Statement& row, const Timing& timing) {
  row.bind(":median_us", timing.median_us);
  row.bind(":samples", nlohmann::json(timing.samples_us).dump());
  row.bind(":launches_per_sample", timing.launches_per_sample);
  if (timing.cold_us) row.bind(":cold_us", *timing.cold_us);
  if (timing.conditions) {
    row.bind(":sm_mhz", timing.conditions->sm_mhz);
    row.bind(":power_w", timing.conditions->power_w);
    row.bind(":temperature_c", timing.conditions->temperature_c);
  }
  if (!timing.disturbance.empty()) row.bind(":disturbance", timing.disturbance);
}

void bind_ranking(SQLite::Statement& row, const Ranking& ranking) {
  row.bind(":rank", ranking.rank);
  if (ranking.cold_rank) row.bind(":cold_rank", *ranking.cold_rank);
  row.bind(":tied", ranking.tied ? 1 : 0);
  row.bind(":verified", ranking.verified ? 1 : 0);
}

KernelRevisions library_revisions(SQLite::Database& db) {
  KernelRevisions revisions;
  SQLite::Statement all(db, "SELECT name, revision FROM main.families");
  while (all.executeStep()) {
    const std::string name = all.getColumn(0).getString();
    if (names_library(name)) revisions[name] = all.getColumn(1).getString();
  }
  return revisions;
}

void set_families(SQLite::Database& db, const KernelRevisions& revisions) {
  KernelRevisions all = library_revisions(db);
  for (const auto& [family, revision] : revisions) all[family] = revision;
  db.exec("DELETE FROM main.families");
  insert_families(db, "main", all);
}

void insert_families(SQLite::Database& db, const std::string& schema,
                     const KernelRevisions& revisions) {
  SQLite::Statement insert(db,
                           "INSERT INTO " + schema + ".families (name, revision) VALUES (?, ?)");
  for (const auto& [family, revision] : revisions) {
    insert.bind(1, family);
    insert.bind(2, revision);
    insert.exec();
    insert.reset();
  }
}

}  // namespace gemm_tune

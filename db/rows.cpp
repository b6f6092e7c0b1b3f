// SPDX-License-Identifier: Apache-2.0
#include "db/rows.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "db/schema.h"
#include "db/soundness.h"

namespace gemm_tune {
namespace {

// The functions below check the types of values: SQLite keeps any value in any column.
std::string name_of(const SQLite::Column& column) { return std::string("its ") + column.getName(); }

std::string text_at(SQLite::Statement& row, int at) {
  const SQLite::Column column = row.getColumn(at);
  if (column.isText() || column.isNull()) return column.getString();
  throw Error(name_of(column) + " is not a text");
}

int int_at(SQLite::Statement& row, int at) {
  const SQLite::Column column = row.getColumn(at);
  const std::int64_t value = column.getInt64();
  if (column.isInteger() && value == static_cast<int>(value)) return static_cast<int>(value);
  throw Error(name_of(column) + " is not a whole number below 2147483648");
}

double real_at(SQLite::Statement& row, int at) {
  const SQLite::Column column = row.getColumn(at);
  if (column.isFloat() || column.isInteger()) return column.getDouble();
  throw Error(name_of(column) + " is not a number");
}

std::optional<double> optional_real_at(SQLite::Statement& row, int at) {
  return row.isColumnNull(at) ? std::nullopt : std::optional(real_at(row, at));
}

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

// Reads eight columns from `first` on; nullopt if the first is NULL.
std::optional<Timing> read_timing(SQLite::Statement& row, int first) {
  if (row.isColumnNull(first)) return std::nullopt;
  Timing timing;
  timing.median_us = real_at(row, first);
  timing.samples_us = parse_samples(text_at(row, first + 1));
  timing.launches_per_sample = int_at(row, first + 2);
  if (!row.isColumnNull(first + 3)) timing.cold_us = real_at(row, first + 3);
  if (!row.isColumnNull(first + 4)) {
    timing.conditions = {int_at(row, first + 4), real_at(row, first + 5), int_at(row, first + 6)};
  }
  timing.disturbance = text_at(row, first + 7);
  return timing;
}

std::optional<Resources> read_resources(SQLite::Statement& row, int first) {
  if (row.isColumnNull(first)) return std::nullopt;
  return Resources{int_at(row, first), int_at(row, first + 1), int_at(row, first + 2),
                   int_at(row, first + 3), int_at(row, first + 4)};
}

DeviceKey read_device(SQLite::Statement& row) {
  return {text_at(row, 0), text_at(row, 1), int_at(row, 2)};
}

const std::string kRecordColumns = R"sql(
  SELECT d.arch, d.name, d.sm_count, p.text, c.text AS config, k.hash AS kernel_hash, m.disposition,
         coalesce(m.reason, ''), m.source, m.registers, m.spill_bytes, m.stack_bytes, m.smem_bytes,
         m.ctas_per_sm, m.median_us, m.samples, m.launches_per_sample, m.cold_us, m.sm_mhz,
         m.power_w, m.temperature_c, coalesce(m.disturbance, ''), m.standing, m.predicted_us, b.name,
         b.median_us, b.samples, b.launches_per_sample, b.cold_us, b.sm_mhz, b.power_w,
         b.temperature_c, coalesce(b.disturbance, ''), m.recorded_at, r.tool_version,
         r.cuda_version, coalesce(r.driver_version, ''), r.command, r.seed,
         m.id, m.compile_s, m.gpu_s, r.uuid, coalesce(r.host, '') AS host,
         coalesce(r.cublas_version, '') AS cublas_version, r.power_limit_w, r.memory_mhz,
         coalesce(r.mig_slice, '') AS mig_slice, m.error, b.error AS baseline_error,
         m.twins_verified
)sql";

// Joins to each row of `measurements m` the rows that it refers to. CROSS JOIN finds each of them
// by its number, in the order of m's rows. Otherwise the planner might begin with a small table and
// visit m's rows in that table's order.
const std::string kFromMeasurements = R"sql(
  FROM measurements m
  CROSS JOIN devices d ON d.id = m.device_id
  CROSS JOIN problems p ON p.id = m.problem_id
  CROSS JOIN configs c ON c.id = m.config_id
  CROSS JOIN main.kernels k ON k.id = m.kernel_id
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

}  // namespace

const std::string& select_record() {
  static const std::string select =
      kRecordColumns + ", m.counts" + kFromMeasurements + kWithRuns + with_fastest_baseline();
  return select;
}

const std::string& select_record_and_row() {
  static const std::string select = kRecordColumns + ", " + kKnownProblem + ", m.*" +
                                    kFromMeasurements + kWithRuns + "LEFT JOIN baselines b ON 0";
  return select;
}

const std::string& select_summary() {
  static const std::string select = R"sql(
  SELECT d.arch, d.name, d.sm_count, p.text, c.text AS config, k.hash AS kernel_hash, m.disposition,
         m.source, r.cuda_version, coalesce(r.driver_version, '')
)sql" + kFromMeasurements + kWithRuns;
  return select;
}

const std::string& select_timed_config() {
  static const std::string select = R"sql(
  SELECT d.arch, d.name, d.sm_count, p.text, c.text AS config, k.hash AS kernel_hash, m.median_us
)sql" + kFromMeasurements;
  return select;
}

const char* const kSelectBaseline = R"sql(
  SELECT b.name, b.median_us, b.samples, b.launches_per_sample, b.cold_us, b.sm_mhz, b.power_w,
         b.temperature_c, coalesce(b.disturbance, ''), b.id, b.error
  FROM baselines b
)sql";
const char* const kSelectDevice = "SELECT d.arch, d.name, d.sm_count, d.id FROM devices d";
// The columns have no type of D, which is C's: so it is in each signature of parse_signature().
#define GT_KNOWN_PROBLEM                                            \
  "p.type_a IN ('f32', 'f16', 'bf16') AND p.type_b = p.type_a AND " \
  "p.type_c IN ('f32', p.type_a) AND p.type_compute = 'f32' AND "   \
  "p.layout IN ('nn', 'nt', 'tn', 'tt')"
const char* const kKnownProblem = GT_KNOWN_PROBLEM;
const char* const kSelectProblem =
    "SELECT p.id, p.text, p.M, p.N, p.K, p.alignment, p.batch, " GT_KNOWN_PROBLEM
    ", p.layout, p.type_a, p.type_c FROM problems p";

bool is_sound_problem(SQLite::Statement& row) {
  const bool known = row.getColumn(7).getInt() != 0;
  try {
    const std::string text = row.getColumn(1).getString();
    const Problem problem = parse_problem(text);
    return known && to_string(key_of(problem)) == text &&
           problem.M == row.getColumn(2).getInt64() && problem.N == row.getColumn(3).getInt64() &&
           problem.K == row.getColumn(4).getInt64() &&
           alignment_class(problem) == row.getColumn(5).getInt64() &&
           problem.batch == row.getColumn(6).getInt64() &&
           to_string(problem.layout) == row.getColumn(8).getString() &&
           to_string(problem.signature.a) == row.getColumn(9).getString() &&
           to_string(problem.signature.c) == row.getColumn(10).getString();
  } catch (const UsageError&) {
    return !known;
  }
}

Record read_record(SQLite::Statement& row) {
  const auto text = [&](int column) { return text_at(row, column); };
  Record record;
  record.device = read_device(row);
  record.problem = parse_problem(text(3));
  record.config = text(4);
  record.kernel_hash = text(5);
  record.outcome.disposition = parse_disposition(text(6));
  record.outcome.detail = text(7);
  record.source = parse_source(text(8));
  record.outcome.resources = read_resources(row, 9);
  record.outcome.timing = read_timing(row, 14);
  if (!row.isColumnNull(22)) record.outcome.standing = parse_standing(text(22));
  if (!row.isColumnNull(23)) record.outcome.predicted_us = real_at(row, 23);
  if (const auto timing = read_timing(row, 25)) record.baseline = Baseline{text(24), *timing};
  record.recorded_at = text(33);
  if (!row.isColumnNull(40)) record.outcome.compile_s = real_at(row, 40);
  if (!row.isColumnNull(41)) record.outcome.gpu_s = real_at(row, 41);
  record.run = {text(34), text(35), text(36), text(37), parse_seed(text(38)),
                text(42), text(43), text(44), {}};
  if (!row.isColumnNull(45)) record.run.gpu.power_limit_w = real_at(row, 45);
  if (!row.isColumnNull(46)) record.run.gpu.memory_mhz = int_at(row, 46);
  record.run.gpu.mig_slice = text(47);
  record.outcome.error = optional_real_at(row, 48);
  if (record.baseline) record.baseline->error = optional_real_at(row, 49);
  if (!row.isColumnNull(50)) record.outcome.twins_verified = int_at(row, 50) != 0;
  return sound(std::move(record));
}

void copy_value(const SQLite::Column& value, SQLite::Statement& to, int index) {
  if (value.isInteger()) {
    to.bind(index, value.getInt64());
  } else if (value.isFloat()) {
    to.bind(index, value.getDouble());
  } else if (value.isText()) {
    to.bind(index, value.getString());
  } else {
    to.bind(index);  // NULL; the schema has no blobs
  }
}

Record read_summary(SQLite::Statement& row) {
  Record record;
  record.device = sound(read_device(row));
  record.problem = parse_problem(text_at(row, 3));
  record.config = text_at(row, 4);
  record.kernel_hash = text_at(row, 5);
  record.outcome.disposition = parse_disposition(text_at(row, 6));
  record.source = parse_source(text_at(row, 7));
  record.run.cuda_version = text_at(row, 8);
  record.run.driver_version = text_at(row, 9);
  return record;
}

TimedConfig read_timed_config(SQLite::Statement& row) {
  return sound(TimedConfig{read_device(row), parse_problem(text_at(row, 3)), text_at(row, 4),
                           text_at(row, 5), real_at(row, 6)});
}

Baseline read_baseline(SQLite::Statement& row) {
  const std::optional<Timing> timing = read_timing(row, 1);
  if (!timing) throw Error("a baseline lacks its time");
  return sound(Baseline{text_at(row, 0), *timing, optional_real_at(row, 10)});
}

DeviceKey read_device_key(SQLite::Statement& row) { return sound(read_device(row)); }

void bind_device(SQLite::Statement& statement, const DeviceKey& device) {
  statement.bind(":arch", device.arch);
  statement.bind(":name", device.name);
  statement.bind(":sms", device.sm_count);
}

void bind_place(SQLite::Statement& statement, const DeviceKey& device, const Problem& problem) {
  bind_device(statement, device);
  statement.bind(":problem", to_string(key_of(problem)));
}

void bind_problem(SQLite::Statement& row, const Problem& problem) {
  row.bind(":text", to_string(key_of(problem)));
  row.bind(":M", problem.M);
  row.bind(":N", problem.N);
  row.bind(":K", problem.K);
  row.bind(":type_ab", std::string(to_string(problem.signature.a)));
  row.bind(":type_c", std::string(to_string(problem.signature.c)));
  row.bind(":layout", std::string(to_string(problem.layout)));
  row.bind(":alignment", alignment_class(problem));
  row.bind(":batch", problem.batch);
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

}  // namespace gemm_tune

#include "db/rows.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/error.h"

namespace gemm_tune {
namespace {

const char* word(DataType type) {
  switch (type) {
    case DataType::f32:
      return "f32";
  }
  throw Error("a data type outside the closed list");
}

// Eight columns from `first` on; nothing where the first is NULL.
std::optional<Timing> read_timing(SQLite::Statement& row, int first) {
  if (row.isColumnNull(first)) return std::nullopt;
  Timing timing;
  timing.median_us = row.getColumn(first).getDouble();
  timing.samples_us =
      nlohmann::json::parse(row.getColumn(first + 1).getString()).get<std::vector<double>>();
  timing.launches_per_sample = row.getColumn(first + 2).getInt();
  if (!row.isColumnNull(first + 3)) timing.cold_us = row.getColumn(first + 3).getDouble();
  if (!row.isColumnNull(first + 4)) {
    timing.conditions = {row.getColumn(first + 4).getInt(), row.getColumn(first + 5).getDouble(),
                         row.getColumn(first + 6).getInt()};
  }
  timing.disturbance = row.getColumn(first + 7).getString();
  return timing;
}

std::optional<Resources> read_resources(SQLite::Statement& row, int first) {
  if (row.isColumnNull(first)) return std::nullopt;
  return Resources{row.getColumn(first).getInt(), row.getColumn(first + 1).getInt(),
                   row.getColumn(first + 2).getInt(), row.getColumn(first + 3).getInt(),
                   row.getColumn(first + 4).getInt()};
}

Record record_of(SQLite::Statement& row) {
  const auto text = [&](int column) { return row.getColumn(column).getString(); };
  Record record;
  record.device = {text(0), text(1), row.getColumn(2).getInt()};
  record.problem = parse_problem(text(3));
  record.config = text(4);
  record.kernel_hash = text(5);
  record.outcome.disposition = parse_disposition(text(6));
  record.outcome.detail = text(7);
  record.source = parse_source(text(8));
  record.outcome.resources = read_resources(row, 9);
  record.outcome.timing = read_timing(row, 14);
  if (!row.isColumnNull(22)) record.outcome.standing = parse_standing(text(22));
  if (!row.isColumnNull(23)) record.outcome.predicted_us = row.getColumn(23).getDouble();
  if (const auto timing = read_timing(row, 25)) record.baseline = Baseline{text(24), *timing};
  record.recorded_at = text(33);
  record.run = {text(34), text(35), text(36), text(37), std::stoull(text(38))};
  // Throws for text that is not UTF-8, which could not be reported as JSON.
  nlohmann::json({record.device.name, record.config, record.kernel_hash, record.outcome.detail,
                  record.recorded_at, record.run.command})
      .dump();
  const bool has_time = record.source == Source::measured ? record.outcome.timing.has_value()
                                                          : record.outcome.predicted_us.has_value();
  if (record.outcome.disposition == Disposition::ok && !has_time) {
    throw Error("it is ok but lacks its time");
  }
  return record;
}

}  // namespace

const char* const kSelectRecord = R"sql(
  SELECT d.arch, d.name, d.sm_count, p.text, c.config, c.kernel_hash, c.disposition,
         coalesce(c.reason, ''), c.source, c.registers, c.spill_bytes, c.stack_bytes, c.smem_bytes,
         c.ctas_per_sm, c.median_us, c.samples, c.launches_per_sample, c.cold_us, c.sm_mhz,
         c.power_w, c.temperature_c, coalesce(c.disturbance, ''), c.standing, c.predicted_us, b.name,
         b.median_us, b.samples, b.launches_per_sample, b.cold_us, b.sm_mhz, b.power_w,
         b.temperature_c, coalesce(b.disturbance, ''), c.recorded_at, r.tool_version,
         r.cuda_version, coalesce(r.driver_version, ''), r.command, r.seed,
         c.id
  FROM candidates c
  JOIN devices d ON d.id = c.device_id
  JOIN problems p ON p.id = c.problem_id
  JOIN runs r ON r.id = c.run_id
  LEFT JOIN baselines b ON b.id = c.baseline_id
)sql";
const char* const kSelectTimedConfig = R"sql(
  SELECT d.arch, d.name, d.sm_count, p.text, c.config, c.kernel_hash, c.median_us
  FROM candidates c
  JOIN devices d ON d.id = c.device_id
  JOIN problems p ON p.id = c.problem_id
)sql";
const char* const kSelectBaseline = R"sql(
  SELECT b.name, b.median_us, b.samples, b.launches_per_sample, b.cold_us, b.sm_mhz, b.power_w,
         b.temperature_c, coalesce(b.disturbance, '')
  FROM baselines b
)sql";
const char* const kKnownProblem =
    "p.type_a = 'f32' AND p.type_b = 'f32' AND p.type_c = 'f32' AND p.type_compute = 'f32' AND "
    "p.layout IN ('nn', 'nt', 'tn', 'tt')";

const char* const kSelectProblem =
    "SELECT p.id, p.text, p.M, p.N, p.K, p.alignment, p.batch, "
    "p.type_a = 'f32' AND p.type_b = 'f32' AND p.type_c = 'f32' AND p.type_compute = 'f32' AND "
    "p.layout IN ('nn', 'nt', 'tn', 'tt'), p.layout FROM problems p";

bool is_sound_problem(SQLite::Statement& row) {
  const bool known = row.getColumn(7).getInt() != 0;
  try {
    const std::string text = row.getColumn(1).getString();
    const Problem problem = parse_problem(text);
    return known && to_string(problem) == text && problem.M == row.getColumn(2).getInt64() &&
           problem.N == row.getColumn(3).getInt64() && problem.K == row.getColumn(4).getInt64() &&
           problem.alignment == row.getColumn(5).getInt64() &&
           problem.batch == row.getColumn(6).getInt64() &&
           to_string(problem.layout) == row.getColumn(8).getString();
  } catch (const UsageError&) {
    return !known;
  }
}

Record read_record(SQLite::Statement& row) {
  try {
    return record_of(row);
  } catch (const nlohmann::json::exception& error) {
    throw Error("its samples or texts are malformed: " + std::string(error.what()));
  } catch (const std::logic_error& error) {  // std::stoull
    throw Error("its seed is not a number");
  }
}

TimedConfig read_timed_config(SQLite::Statement& row) {
  try {
    TimedConfig timed;
    timed.device = {row.getColumn(0).getString(), row.getColumn(1).getString(),
                    row.getColumn(2).getInt()};
    timed.problem = parse_problem(row.getColumn(3).getString());
    timed.config = row.getColumn(4).getString();
    timed.kernel_hash = row.getColumn(5).getString();
    timed.median_us = row.getColumn(6).getDouble();
    nlohmann::json({timed.device.name, timed.config}).dump();  // as for a whole record
    return timed;
  } catch (const nlohmann::json::exception& error) {
    throw Error("its texts are malformed: " + std::string(error.what()));
  }
}

Baseline read_baseline(SQLite::Statement& row) {
  try {
    const std::optional<Timing> timing = read_timing(row, 1);
    if (!timing) throw Error("a baseline lacks its time");
    return {row.getColumn(0).getString(), *timing};
  } catch (const nlohmann::json::exception& error) {
    throw Error("its samples are malformed: " + std::string(error.what()));
  }
}

void bind_problem(SQLite::Statement& row, const Problem& problem) {
  row.bind(":text", to_string(problem));
  row.bind(":M", problem.M);
  row.bind(":N", problem.N);
  row.bind(":K", problem.K);
  row.bind(":type", word(problem.type));
  row.bind(":layout", std::string(to_string(problem.layout)));
  row.bind(":alignment", problem.alignment);
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

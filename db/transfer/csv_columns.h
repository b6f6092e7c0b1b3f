// SPDX-License-Identifier: Apache-2.0
// The columns of the CSV that db/transfer/exchange.h writes and reads, in their order.
//
// Private to db/. Constants; any thread.
#pragma once

#include <string_view>

namespace gemm_tune {

// column: as in db/schema/schema.sql. is_optional: an empty field is NULL.
struct CsvColumn {
  enum class Table { device, problem, candidate, run, measurement };
  std::string_view name;
  Table table;
  std::string_view column;
  bool is_optional = false;
  bool is_number = false;
};

inline constexpr CsvColumn kCsvColumns[] = {
    {"arch", CsvColumn::Table::device, "arch"},
    {"device", CsvColumn::Table::device, "name"},
    {"sm_count", CsvColumn::Table::device, "sm_count", false, true},
    {"problem", CsvColumn::Table::problem, "text"},
    {"config", CsvColumn::Table::candidate, "config"},
    {"revision", CsvColumn::Table::candidate, "revision"},
    {"disposition", CsvColumn::Table::measurement, "disposition"},
    {"reason", CsvColumn::Table::measurement, "reason", true},
    {"source", CsvColumn::Table::measurement, "source"},
    {"median_us", CsvColumn::Table::measurement, "median_us", true, true},
    {"cold_us", CsvColumn::Table::measurement, "cold_us", true, true},
    {"error", CsvColumn::Table::measurement, "error", true, true},
    {"rank", CsvColumn::Table::measurement, "rank", true, true},
    {"cold_rank", CsvColumn::Table::measurement, "cold_rank", true, true},
    {"tied", CsvColumn::Table::measurement, "tied", true, true},
    {"verified", CsvColumn::Table::measurement, "verified", true, true},
    {"samples", CsvColumn::Table::measurement, "samples", true},
    {"launches_per_sample", CsvColumn::Table::measurement, "launches_per_sample", true, true},
    {"predicted_us", CsvColumn::Table::measurement, "predicted_us", true, true},
    {"registers", CsvColumn::Table::measurement, "registers", true, true},
    {"spill_bytes", CsvColumn::Table::measurement, "spill_bytes", true, true},
    {"stack_bytes", CsvColumn::Table::measurement, "stack_bytes", true, true},
    {"smem_bytes", CsvColumn::Table::measurement, "smem_bytes", true, true},
    {"ctas_per_sm", CsvColumn::Table::measurement, "ctas_per_sm", true, true},
    {"sm_mhz", CsvColumn::Table::measurement, "sm_mhz", true, true},
    {"power_w", CsvColumn::Table::measurement, "power_w", true, true},
    {"temperature_c", CsvColumn::Table::measurement, "temperature_c", true, true},
    {"disturbance", CsvColumn::Table::measurement, "disturbance", true},
    {"compile_s", CsvColumn::Table::measurement, "compile_s", true, true},
    {"gpu_s", CsvColumn::Table::measurement, "gpu_s", true, true},
    {"recorded_at", CsvColumn::Table::measurement, "recorded_at"},
    {"run", CsvColumn::Table::run, "uuid"},
    {"host", CsvColumn::Table::run, "host", true},
    {"tool_version", CsvColumn::Table::run, "tool_version"},
    {"cuda_version", CsvColumn::Table::run, "cuda_version"},
    {"driver_version", CsvColumn::Table::run, "driver_version", true},
    {"power_limit_w", CsvColumn::Table::run, "power_limit_w", true, true},
    {"memory_mhz", CsvColumn::Table::run, "memory_mhz", true, true},
    {"mig_slice", CsvColumn::Table::run, "mig_slice", true},
    {"command", CsvColumn::Table::run, "command"},
    {"seed", CsvColumn::Table::run, "seed"},
    {"started_at", CsvColumn::Table::run, "started_at"},
};

}  // namespace gemm_tune

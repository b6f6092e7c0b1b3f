// SPDX-License-Identifier: Apache-2.0
// The whole content of a database as lines of text, for comparisons.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace gemm_tune {

// A query's rows, columns joined by '|'.
inline std::vector<std::string> rows_of(const std::filesystem::path& file, const std::string& sql) {
  SQLite::Database db(file.string(), SQLite::OPEN_READWRITE);
  SQLite::Statement query(db, sql);
  std::vector<std::string> rows;
  while (query.executeStep()) {
    std::string row;
    for (int i = 0; i < query.getColumnCount(); ++i) {
      row +=
          (i == 0 ? "" : "|") + (query.isColumnNull(i) ? "NULL" : query.getColumn(i).getString());
    }
    rows.push_back(row);
  }
  return rows;
}

// Every row of every table by names, not by ids: sorted. with_ids: with the ids as well.
inline std::vector<std::string> dump_of(const std::filesystem::path& file, bool with_ids = false) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& table, const std::string& columns,
                       const std::string& joins) {
    for (const std::string& row :
         rows_of(file, "SELECT '" + table + "', " + (with_ids ? "t.id, " : "") + columns +
                           " FROM " + table + " t " + joins)) {
      lines.push_back(row);
    }
  };
  const std::string named =
      "JOIN devices d ON d.id = t.device_id JOIN problems p ON p.id = t.problem_id "
      "JOIN runs r ON r.id = t.run_id ";
  add("devices", "arch, name, sm_count", "");
  add("problems",
      "text, M, N, K, batch_kind, batch, type_a, type_b, type_c, type_d, accuracy, layout, "
      "align_a, align_b, align_c, align_d, epilogue",
      "");
  add("candidates", "family, revision, config", "");
  add("runs",
      "uuid, host, tool_version, cuda_version, driver_version, power_limit_w, "
      "memory_mhz, mig_slice, command, seed, started_at",
      "");
  add("baselines",
      "d.arch, d.name, d.sm_count, p.text, r.uuid, t.name, library_version, algorithms, median_us, "
      "samples, launches_per_sample, cold_us, sm_mhz, power_w, temperature_c, disturbance, "
      "recorded_at, "
      "error",
      named);
  add("measurements",
      "d.arch, d.name, d.sm_count, p.text, c.config, c.revision, r.uuid, counts, "
      "disposition, reason, source, registers, spill_bytes, stack_bytes, smem_bytes, ctas_per_sm, "
      "median_us, samples, launches_per_sample, rank, cold_rank, tied, verified, cold_us, sm_mhz, "
      "power_w, temperature_c, disturbance, predicted_us, compile_s, gpu_s, recorded_at, error",
      named + "JOIN candidates c ON c.id = t.candidate_id");
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace gemm_tune

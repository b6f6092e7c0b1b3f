// SPDX-License-Identifier: Apache-2.0
// Database files of version 1, from tests/db/data/version_1.sql.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <stdexcept>

#include "tests/db/fixture.h"

namespace gemm_tune {

inline const DeviceKey kH100{"sm_90", "NVIDIA H100 80GB HBM3", 132};

class Version1Test : public DbTest {
 protected:
  Version1Test() {
    const std::string dump = read_file(GT_TEST_VERSION_1_SQL);
    if (dump.empty()) throw std::runtime_error("tests/db/data/version_1.sql cannot be read");
    change(dump);
  }

  // Executes SQL on the file, beside the program's back.
  void change(const std::string& sql) const {
    SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("PRAGMA ignore_check_constraints = ON");
    db.exec(sql);
  }

  // The first value of the first row.
  std::string ask(const std::string& sql) const {
    SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
    return db.execAndGet(sql).getString();
  }

  // Until an upgrade takes some 50 ms: 2294 rows.
  void enlarge() const {
    change(R"sql(
      CREATE TEMP TABLE original AS SELECT * FROM candidates;
      UPDATE original SET id = NULL;
      WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < 30)
      INSERT INTO candidates
        SELECT id, device_id, problem_id, run_id, config, 'text ' || n, disposition, reason, source,
               registers, spill_bytes, stack_bytes, smem_bytes, ctas_per_sm, median_us, samples,
               launches_per_sample, standing, cold_us, sm_mhz, power_w, temperature_c, disturbance,
               predicted_us, baseline_id, recorded_at
        FROM original, copies)sql");
  }

  // The sentence with which opening is refused; empty where it is not.
  std::string refusal(Database::Mode mode = Database::Mode::create_or_open) const {
    try {
      const Database database(file_, mode);
      return "";
    } catch (const DatabaseError& error) {
      return error.what();
    }
  }
};

}  // namespace gemm_tune

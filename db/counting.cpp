// SPDX-License-Identifier: Apache-2.0
#include "db/counting.h"

namespace gemm_tune {

const char* const kRecount = R"sql(
  UPDATE measurements SET counts = (id = (
    SELECT m.id
    FROM measurements m
    WHERE m.device_id = measurements.device_id AND m.problem_id = measurements.problem_id
      AND m.config_id = measurements.config_id AND m.kernel_id = measurements.kernel_id
      AND m.source = measurements.source
    ORDER BY
      m.disposition <> 'ok' AND NOT EXISTS (
        SELECT 1
        FROM measurements later
        WHERE later.device_id = m.device_id AND later.problem_id = m.problem_id
          AND later.config_id = m.config_id AND later.kernel_id = m.kernel_id
          AND later.source = m.source AND (later.recorded_at, later.id) > (m.recorded_at, m.id)
      ) DESC,
      m.disposition = 'ok' DESC,
      coalesce(m.standing, 'search') <> 'search' DESC,
      m.recorded_at DESC,
      m.id DESC
    LIMIT 1
  ))
)sql";

const char* const kOfCandidate = R"sql(
  WHERE device_id = :device AND problem_id = :problem AND config_id = :config
    AND kernel_id = :kernel AND source = :source
)sql";

}  // namespace gemm_tune

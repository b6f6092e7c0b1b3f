// SPDX-License-Identifier: Apache-2.0
#include "db/validity/counting.h"

namespace gemm_tune {

const char* const kRecount = R"sql(
  UPDATE measurements SET counts = (id = (
    SELECT m.id
    FROM measurements m
    WHERE m.device_id = measurements.device_id AND m.problem_id = measurements.problem_id
      AND m.candidate_id = measurements.candidate_id AND m.source = measurements.source
    ORDER BY
      m.disposition <> 'ok' AND NOT EXISTS (
        SELECT 1
        FROM measurements later
        WHERE later.device_id = m.device_id AND later.problem_id = m.problem_id
          AND later.candidate_id = m.candidate_id AND later.source = m.source
          AND (later.recorded_at, later.id) > (m.recorded_at, m.id)
      ) DESC,
      m.disposition = 'ok' DESC,
      m.rank IS NOT NULL DESC,
      m.recorded_at DESC,
      m.id DESC
    LIMIT 1
  ))
)sql";

const char* const kOfCandidate = R"sql(
  WHERE device_id = :device AND problem_id = :problem AND candidate_id = :candidate
    AND source = :source
)sql";

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Numbers that no GPU and no run can have given.
#include "db/schema/soundness.h"

#include <gmock/gmock.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tests/db/fixture.h"

namespace gemm_tune {
namespace {

using ::testing::StartsWith;

// 1024x1024x1024 in 60 us on 84 SMs, with every number that a row may have.
Record sound_record() {
  Record record;
  record.device = kA6000;
  record.problem = parse_problem("1024x1024x1024");
  record.config = kWholeTiles;
  record.revision = "1";
  record.source = Source::measured;
  record.outcome = measured(60);
  Outcome& outcome = record.outcome;
  outcome.resources = Resources{128, 0, 0, 16384, 2};
  outcome.timing->cold_us = 61;
  outcome.timing->conditions = GpuConditions{1800, 250, 60};
  outcome.predicted_us = 55;
  outcome.ranking = Ranking{1, 1, true, true};
  outcome.compile_s = 1.5;
  outcome.gpu_s = 0.5;
  outcome.error = 3e-7;
  record.baseline = Baseline{"cublasLt", "13.1.0", *outcome.timing, 3e-7, 37};
  record.run.gpu = {300, 8001, ""};
  record.recorded_at = "2026-11-30T23:59:59.125Z";
  return record;
}

Timing sample_of(double us) { return {us, {us}, 1}; }

TEST(SoundnessTest, ARowOfARealRunIsSound) { EXPECT_EQ(why_unsound(sound_record()), std::nullopt); }

TEST(SoundnessTest, EachNumberMustBePhysicallyPossible) {
  const std::pair<const char*, std::function<void(Record&)>> kImpossible[] = {
      {"its sm_count", [](Record& r) { r.device.sm_count = 0; }},
      {"its sm_count", [](Record& r) { r.device.sm_count = 70'000; }},
      {"its smem_bytes", [](Record& r) { r.outcome.resources->smem_bytes = 10'000'000; }},
      {"its ctas_per_sm", [](Record& r) { r.outcome.resources->ctas_per_sm = 1000; }},
      {"its recorded_at", [](Record& r) { r.recorded_at = "yesterday"; }},
      {"its recorded_at", [](Record& r) { r.recorded_at = "9999-12-31T23:59:59.999Z"; }},
      {"its recorded_at", [](Record& r) { r.recorded_at = "2026-13-01T00:00:00.000Z"; }},
      {"its recorded_at", [](Record& r) { r.recorded_at = "2026-12-01 00:00:00.000"; }},
      {"its predicted_us", [](Record& r) { r.outcome.predicted_us = 1e-300; }},
      {"its predicted_us", [](Record& r) { r.outcome.predicted_us = 0.2; }},
      {"its sample", [](Record& r) { r.outcome.timing = sample_of(1e-300); }},
      {"its sample", [](Record& r) { r.outcome.timing = sample_of(1e13); }},
      {"its median_us",
       [](Record& r) { r.outcome.timing = sample_of(0.2), r.outcome.ranking = {}; }},
      {"its cold_us", [](Record& r) { r.outcome.timing->cold_us = 0.2; }},
      {"its cold_us", [](Record& r) { r.outcome.timing->cold_us = 1e15; }},
      {"its launches_per_sample",
       [](Record& r) { r.outcome.timing->launches_per_sample = 2'000'000'000; }},
      {"its sm_mhz", [](Record& r) { r.outcome.timing->conditions->sm_mhz = 1'000'000; }},
      {"its power_w", [](Record& r) { r.outcome.timing->conditions->power_w = 1e9; }},
      {"its power_w", [](Record& r) { r.outcome.timing->conditions->power_w = -1; }},
      {"its temperature_c", [](Record& r) { r.outcome.timing->conditions->temperature_c = 5000; }},
      {"its registers", [](Record& r) { r.outcome.resources->registers = 256; }},
      {"its spill_bytes", [](Record& r) { r.outcome.resources->spill_bytes = 2'000'000'000; }},
      {"its stack_bytes", [](Record& r) { r.outcome.resources->stack_bytes = 2'000'000'000; }},
      {"its smem_bytes", [](Record& r) { r.outcome.resources->smem_bytes = 2'000'000'000; }},
      {"its ctas_per_sm", [](Record& r) { r.outcome.resources->ctas_per_sm = 2000; }},
      {"its rank", [](Record& r) { r.outcome.ranking->rank = 2'000'000'000; }},
      {"its cold_rank", [](Record& r) { r.outcome.ranking->cold_rank = 0; }},
      {"its compile_s", [](Record& r) { r.outcome.compile_s = 1e300; }},
      {"its gpu_s", [](Record& r) { r.outcome.gpu_s = -1; }},
      {"its error", [](Record& r) { r.outcome.error = -1; }},
      {"of its baseline its median_us", [](Record& r) { r.baseline->timing = sample_of(0.2); }},
      {"of its baseline its algorithms", [](Record& r) { r.baseline->algorithms = 2'000'000'000; }},
      {"its power_limit_w", [](Record& r) { r.run.gpu.power_limit_w = 1e300; }},
      {"its memory_mhz", [](Record& r) { r.run.gpu.memory_mhz = -5; }},
  };
  for (const auto& [what, change] : kImpossible) {
    Record record = sound_record();
    change(record);
    EXPECT_THAT(why_unsound(record).value_or("sound"), StartsWith(what));
  }
}

// 84 SMs, 2 * 16384^3 operations: 1047 us at 1e14 operations an SM and second.
TEST(SoundnessTest, NoTimeIsShorterThanTheGpusSmsCanTakeForTheProblem) {
  Record record = sound_record();
  record.problem = parse_problem("16384x16384x16384");
  EXPECT_EQ(why_unsound(record),
            "its median_us is 60 us: no GPU with 84 SMs multiplies 16384x16384x16384 as fast");
  const TimedConfig timed{kA6000, record.problem, kWholeTiles, "1", 1040};
  EXPECT_THAT(why_unsound(timed).value_or("sound"), StartsWith("its median_us"));
  TimedConfig slower = timed;
  slower.median_us = 1050;
  EXPECT_EQ(why_unsound(slower), std::nullopt);
}

}  // namespace
}  // namespace gemm_tune

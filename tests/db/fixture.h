// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of db/: a temporary folder, records to store, kernel revisions to control.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "choose/choose.h"
#include "db/database.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {

namespace fs = std::filesystem;

class DbTest : public testing::Test {
 private:
  const TempFolder temp_;

 protected:
  fs::path path(const std::string& name) const { return folder_ / name; }

  const fs::path folder_ = temp_.path();
  const fs::path file_ = folder_ / "tune.db";
};

inline const DeviceKey kA6000{"sm_86", "NVIDIA RTX A6000", 84};
inline const DeviceKey kA10{"sm_86", "NVIDIA A10", 72};
inline const Problem k1024 = packed_problem(1024, 1024, 1024);

// Tile 128 x 128 x 8, alignment 4; serves whole tiles only.
inline const std::string kWholeTiles =
    "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0";
inline const std::string kPredicated =
    "vectorized_2d/BM=32,BN=64,BK=16,TM=4,TN=4,VEC=1,PAD=0,INTERLEAVE=0,PRED=1";
// Of the accuracy class tf32: no result of a problem in fp32, but by another program's hand.
inline const std::string kTf32 =
    "mma/AB=0,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=3,ASYNC=1,VEC=4,RASTER=8,SPLIT_K=1,"
    "TA=0,TB=0,PRED=1,ACCURACY=2";
inline const std::string kRevision = "7";
inline const KernelRevisions kRevisions = {{"vectorized_2d", kRevision}, {"tiled_2d", kRevision},
                                           {"naive", kRevision},         {"skinny", kRevision},
                                           {"mma", kRevision},           {"warp_tiled", kRevision},
                                           {"wgmma_parts", kRevision},   {"mma_parts", kRevision}};

inline Timing timing(double median_us) {
  return {median_us, {median_us, median_us + 0.5, median_us - 0.25}, 20};
}

// Of a search, timed alone.
inline Outcome timed_alone(double median_us) {
  Outcome outcome;
  outcome.resources = Resources{116, 0, 0, 8448, 2};
  outcome.timing = timing(median_us);
  outcome.predicted_us = median_us * 1.1;
  return outcome;
}

// Of finals. Among rows of one run with the same rank, the fastest is the first.
inline Outcome ranked(double median_us, int rank, bool verified = true) {
  Outcome outcome = timed_alone(median_us);
  outcome.ranking = Ranking{rank, {}, true, verified};
  return outcome;
}
inline Outcome measured(double median_us) { return ranked(median_us, 1); }

inline Outcome predicted(double time_us) {
  Outcome outcome;
  outcome.resources = Resources{116, 0, 0, 8448, 2};
  outcome.predicted_us = time_us;
  return outcome;
}

inline Outcome failed(Disposition disposition, const std::string& reason) {
  Outcome outcome;
  outcome.disposition = disposition;
  outcome.detail = reason;
  return outcome;
}

inline const RunInfo kRun{"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 1024", 7};

// The text with the first `from` replaced.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == text.npos) throw std::runtime_error("no " + from);
  return text.replace(at, from.size(), to);
}

// An open database with a run begun.
inline Database writable(const fs::path& path) {
  Database database(path, Database::Mode::create_or_open);
  database.begin_run(kRun, kRevisions);
  return database;
}

inline void store_measured(Database& database, const DeviceKey& device, const std::string& problem,
                           const std::string& config, double median_us,
                           const std::string& revision = kRevision) {
  database.store(device, parse_problem(problem), config, revision, measured(median_us),
                 Source::measured);
}

inline void store_predicted(Database& database, const DeviceKey& device, const std::string& problem,
                            const std::string& config, double time_us,
                            const std::string& revision = kRevision) {
  database.store(device, parse_problem(problem), config, revision, predicted(time_us),
                 Source::predicted);
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of db/: a temporary folder, records to store, kernel hashes to control.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "choose/choose.h"
#include "db/database.h"
#include "tests/temp_folder.h"

namespace gemm_tune {

class DbTest : public testing::Test {
 private:
  const TempFolder temp_;

 protected:
  const std::filesystem::path folder_ = temp_.path();
  const std::filesystem::path file_ = folder_ / "tune.db";
};

inline const DeviceKey kA6000{"sm_86", "NVIDIA RTX A6000", 84};
inline const DeviceKey kA10{"sm_86", "NVIDIA A10", 72};
inline const Problem k1024 = packed_problem(1024, 1024, 1024);

// Tile 128 x 128 x 8, alignment 4; serves whole tiles only.
inline const std::string kWholeTiles =
    "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0";
inline const std::string kPredicated =
    "vectorized_2d/BM=32,BN=64,BK=16,TM=4,TN=4,VEC=1,PAD=0,INTERLEAVE=0,PRED=1";
inline const std::string kHash = "00112233aabbccdd";
inline const KernelHashes kHashes = {{"vectorized_2d", kHash}, {"tiled_2d", kHash},
                                     {"naive", kHash},         {"skinny", kHash},
                                     {"mma", kHash},           {"warp_tiled", kHash}};

inline Timing timing(double median_us) {
  return {median_us, {median_us, median_us + 0.5, median_us - 0.25}, 20};
}

// Of a finalist.
inline Outcome measured(double median_us) {
  Outcome outcome;
  outcome.standing = Standing::tied;
  outcome.resources = Resources{116, 0, 0, 8448, 2};
  outcome.timing = timing(median_us);
  outcome.predicted_us = median_us * 1.1;
  return outcome;
}

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

// An open database with a run begun.
inline Database writable(const std::filesystem::path& path) {
  Database database(path, Database::Mode::create_or_open);
  database.begin_run(kRun);
  return database;
}

inline void store_measured(Database& database, const DeviceKey& device, const std::string& problem,
                           const std::string& config, double median_us,
                           const std::string& hash = kHash) {
  database.store(device, parse_problem(problem), config, hash, measured(median_us),
                 Source::measured);
}

inline void store_predicted(Database& database, const DeviceKey& device, const std::string& problem,
                            const std::string& config, double time_us,
                            const std::string& hash = kHash) {
  database.store(device, parse_problem(problem), config, hash, predicted(time_us),
                 Source::predicted);
}

}  // namespace gemm_tune

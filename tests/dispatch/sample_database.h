// SPDX-License-Identifier: Apache-2.0
// A small database with known winners, for tests of look-ups.
#pragma once

#include <filesystem>

#include "choose/choose.h"
#include "core/candidate/config.h"
#include "db/database.h"

namespace gemm_tune {

inline const DeviceKey kSampleDevice = {"sm_86", "NVIDIA GeForce RTX 3090", 82};
inline constexpr const char* kSampleConfig =
    "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0";
inline constexpr const char* kSmallConfig =
    "vectorized_2d/BM=64,BN=64,BK=16,TM=4,TN=4,VEC=4,PAD=4,INTERLEAVE=0,PRED=0";

inline Outcome measured_in(double us) {
  Outcome outcome;
  outcome.timing = Timing{us, {us - 1, us, us + 1}, 4};
  return outcome;
}

// Of kSampleDevice: 1024^3 measured with kSampleConfig (150 us, cuBLAS 160 us), 256^3 predicted
// with kSmallConfig. The given architecture gets the measured row as well, on a device of its own.
inline void write_sample_database(const std::filesystem::path& path,
                                  const std::string& other_arch = "") {
  Database database(path, Database::Mode::create_or_open);
  database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 256,1024", 1});
  const std::string hash = current_revisions().at("vectorized_2d");
  const Outcome measured = measured_in(150);
  database.store_baseline(kSampleDevice, packed_problem(1024, 1024, 1024),
                          {"cublasSgemm", "13.1.0", Timing{160.0, {159.0, 160.0, 161.0}, 4}});
  Outcome predicted;
  predicted.predicted_us = 5.0;
  database.store(kSampleDevice, packed_problem(1024, 1024, 1024), kSampleConfig, hash, measured,
                 Source::measured);
  database.store(kSampleDevice, packed_problem(256, 256, 256), kSmallConfig, hash, predicted,
                 Source::predicted);
  if (!other_arch.empty()) {
    database.store({other_arch, "another GPU", 10}, packed_problem(1024, 1024, 1024), kSampleConfig,
                   hash, measured, Source::measured);
  }
}

}  // namespace gemm_tune

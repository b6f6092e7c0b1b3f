// Results on disk: one SQLite file, one committed row per candidate. db/schema.sql documents it.
//
// Opening is where a bad file is refused: a directory, a text file, a foreign or newer database, a
// folder that cannot be written each raise DatabaseError with one sentence that names the path; the
// file is left untouched. One connection per object; use an object from one thread at a time, and
// as many objects and processes as you like.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/device_spec.h"
#include "core/outcome.h"
#include "core/problem.h"

namespace gemm_tune {

// Part of the key: one GPU model with one SM count.
struct DeviceKey {
  std::string arch;  // "sm_90"
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int sm_count = 0;

  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};

DeviceKey device_key(const DeviceSpec& spec);

// What produced rows: stored once per run.
struct RunInfo {
  std::string tool_version;
  std::string cuda_version;    // of NVRTC
  std::string driver_version;  // empty without a GPU
  std::string command;
  std::uint64_t seed = 0;
};

// What a user would call instead, timed by the same rule in the same run.
struct Baseline {
  std::string name;  // "cublasSgemm"
  Timing timing;

  friend bool operator==(const Baseline&, const Baseline&) = default;
};

// One candidate's row. source is measured iff outcome.timing is present.
struct Record {
  DeviceKey device;
  Problem problem;
  std::string config;       // canonical text
  std::string kernel_hash;  // of the text it was compiled from
  Outcome outcome;
  Source source = Source::predicted;
  std::optional<Baseline> baseline;
  std::string recorded_at;  // UTC, ISO 8601; filled by the database
  RunInfo run;
};

class Database {
 public:
  enum class Mode { create_or_open, read_only };

  Database(const std::filesystem::path& path, Mode mode);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  // Begins a run; rows stored afterwards belong to it.
  void begin_run(const RunInfo& run);

  // Stores the baseline of (device, problem) for the current run.
  void store_baseline(const DeviceKey& device, const Problem& problem, const Baseline& baseline);

  // Commits one candidate's outcome. Replaces an earlier row of the same (device, problem, config,
  // kernel hash, source). Throws DatabaseError where it cannot be written, a full disk included.
  void store(const DeviceKey& device, const Problem& problem, const std::string& config,
             const std::string& kernel_hash, const Outcome& outcome, Source source);

  // All rows of one (device, problem), in config order.
  std::vector<Record> records(const DeviceKey& device, const Problem& problem) const;

  // The ok rows of an architecture (all devices of it), each problem's best first: measured before
  // predicted, then by time, then by config text. At most `per_problem` rows for each
  // (device, problem).
  std::vector<Record> best_records(const std::string& arch, int per_problem) const;

  // Every device that has rows.
  std::vector<DeviceKey> devices() const;

  const std::filesystem::path& path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// --db if given, else GEMM_TUNE_DB, else $XDG_DATA_HOME/gemm-tune/gemm-tune.db (XDG's default where
// unset). Pure: the environment's values are arguments, empty or nullptr where unset.
std::filesystem::path default_database_path(const char* gemm_tune_db, const char* xdg_data_home,
                                            const char* home);

}  // namespace gemm_tune

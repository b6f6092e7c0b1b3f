// SPDX-License-Identifier: Apache-2.0
// What `gemm-tune speed-up` keeps of a program between its calls: a file beside the database.
//
// One thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/capture/called_problems.h"

namespace gemm_tune {

// Of a program's run without winners.
struct SpeedUpRecord {
  std::string command;    // the program and its arguments, for the reader
  std::string when;       // UTC, "2026-11-26 10:12"
  std::string device;     // that was tuned for
  double seconds = 0;     // of the run
  bool is_whole = false;  // the program ended by itself, with exit code 0
  bool is_tuned = false;  // a search for its products has come to its end
  CalledProblems called;  // what it multiplied
};

// The record's file, in the folder "speed-up" beside the database: one for each program with its
// arguments, folder, database and asked_accuracy(). Reads the current folder.
std::filesystem::path record_file(const std::filesystem::path& database,
                                  const std::vector<std::string>& application);

// Creates the folder. Throws UsageError where it cannot be created, or the file not written.
void require_record_place(const std::filesystem::path& file);

// Nothing where there is none, or none of this version.
std::optional<SpeedUpRecord> read_record(const std::filesystem::path& file);

// Replaces the file whole. Throws as write_output() does.
void write_record(const std::filesystem::path& file, const SpeedUpRecord& record);

// The time now, as `when`.
std::string utc_minute();

}  // namespace gemm_tune

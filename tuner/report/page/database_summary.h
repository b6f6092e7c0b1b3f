// SPDX-License-Identifier: Apache-2.0
// The content of a database as the data of `gemm-tune report`: outcomes, times, distributions.
//
// A database may hold millions of timings; a page may not. Sums, best times and shares are over all
// of them. Of single timings, and of very many problems, only some are shown, and the data says
// how many. The same rows give the same data. Values in, JSON out; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "db/database.h"

namespace gemm_tune {

// How much of a database is shown.
struct SummaryLimits {
  std::size_t problems = 1'000;   // those with the most candidates
  std::size_t detailed = 160;     // of these, with more than their winners
  std::size_t points = 12'000;    // single times of the detailed problems
  std::size_t bytes = 1'500'000;  // of the JSON; the other limits are halved until it fits
};

class DatabaseSummary {
 public:
  // revisions: rows of other kernels than these are counted, and not shown.
  explicit DatabaseSummary(KernelRevisions revisions);
  ~DatabaseSummary();
  DatabaseSummary(DatabaseSummary&&) noexcept;

  // The next row, in the order of Database::for_each_stored().
  void add(const Record& row, bool counts);

  // After all rows: the best of a problem, and the baselines of its run.
  void set_winner(const Record& winner, const std::vector<Baseline>& baselines);

  // How many of the rows count, whatever their kernels.
  std::uint64_t row_count() const;

  // After all rows and winners: tuner/report/page/page.js reads it.
  nlohmann::json json(SummaryLimits limits = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// The rows of one problem on one device as data of `gemm-tune report`.
//
// Values in, values and JSON out; one thread.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/record.h"

namespace gemm_tune {

// One timed or predicted config.
struct SummaryPoint {
  std::size_t config = 0, attempt = 0;  // attempt: from 1 on, in the order first stored
  double us = 0;
  std::optional<Resources> resources;
};

struct ProblemSummary {
  Source source = Source::measured;  // predicted: nothing was measured
  std::size_t tried = 0;
  nlohmann::json detail;  // outcomes, reasons, steps, seconds, tiles, thread_tiles, shares
  std::vector<SummaryPoint> points;  // fastest first
};

// Seconds since the first row; a pause between two runs does not count.
class StoredClock {
 public:
  // At the next row; nothing once a row had no readable time.
  std::optional<double> at(const std::string& run, const std::string& recorded_at);
  bool runs() const { return runs_; }
  double latest() const { return latest_; }

 private:
  bool runs_ = true;
  std::string run_;
  std::optional<double> start_;
  double earlier_ = 0, latest_ = 0;
};

class ProblemRows {
 public:
  // The next row, in the order stored. config: its number.
  void add(const Record& row, bool counts, std::size_t config);

  // configs: by number.
  ProblemSummary summary(const std::vector<Config>& configs) &&;

  // A config from one source: what was tried.
  struct Candidate {
    std::size_t config = 0;
    std::size_t attempt = 0;
    Source source = Source::measured;
    Disposition disposition = Disposition::ok;  // with the next four: of the row that counts
    std::string reason;
    std::optional<Resources> resources;
    std::optional<double> us;
    std::optional<Ranking> ranking = {};
    std::optional<double> first_us;  // as known first, during the search
    double seconds = 0;              // on the clock, when that was stored
  };

 private:
  std::vector<Candidate> candidates_;
  std::map<std::pair<std::size_t, Source>, std::size_t> numbers_;
  StoredClock clock_;
};

// The share of the variance of the logarithms of times that one parameter explains, eta squared:
// the sum over its values v of n_v (mean_v - mean)^2, over the sum of (y - mean)^2, with y = log
// time. samples: value and time of each config. Nothing if there is one value, or one time.
std::optional<double> explained_share(const std::vector<std::pair<int, double>>& samples);

// The numbers of at most `most` of `count` things, ascending: the first half of `most`, and an even
// choice of the others.
std::vector<std::size_t> thinned(std::size_t count, std::size_t most);

// A number with as many digits as a page needs; null for none.
nlohmann::json rounded(const std::optional<double>& value);

// The first line of a text from outside, cut and printable.
std::string short_text(const std::string& text);

}  // namespace gemm_tune

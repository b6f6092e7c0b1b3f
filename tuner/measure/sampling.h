// SPDX-License-Identifier: Apache-2.0
// When enough has been timed: pure rules over numbers, tested with literal ones.
//
// docs/measurement.md explains them. One sample is the mean launch time of a batch between two
// events; a batch lasts at least kMinSampleUs, so that the events' resolution (0.5 us) and what
// starting a batch takes the GPU (some 2 us) are at most half a percent of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/candidate/winner_rule.h"

namespace gemm_tune {

inline constexpr double kMinSampleUs = 500;
inline constexpr int kMaxLaunchesPerSample = 1000;

// Launches that make a batch of at least kMinSampleUs, given one launch's time in microseconds.
int launches_per_sample(double launch_us);

// Middle value; mean of the two middle ones for an even count. Precondition: not empty.
double median(std::span<const double> samples);

struct Interval {
  double low = 0, high = 0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

// Where the true median lies with 95 % confidence, whatever the samples' distribution: between the
// k-th smallest and the k-th largest, k as large as the binomial distribution allows (David and
// Nagaraja, Order Statistics, 3rd ed., 2003, section 7.1; samples taken to be independent). Below 6
// samples it is their whole range, whose level is only 1 - 2^(1-n): 94 % for 5, 75 % for 3, none
// for 1. Precondition: not empty.
Interval median_interval(std::span<const double> samples);

// The tie set of finalists timed in rounds, one sample of each in turn: entry k is true unless k
// was shown to be more than kTieMargin slower than the fastest by median, which is tied itself.
// Judged on the ratios within rounds, because what moves the clocks for seconds hits both samples
// of a pair and cancels in their ratio, whereas it would widen two separate intervals. With a
// margin, because enough rounds resolve differences far smaller than what another run of the
// program changes (placement of the operands, temperature); a tie set without one would shrink to
// whoever was lucky. Precondition: the same number of samples of each, at least one.
std::vector<bool> ties(const std::vector<std::vector<double>>& samples);

// Whether the clocks have settled, judged by a warm-up's successive batches: the last three means
// lie within 0.5 % of one another.
bool settled(std::span<const double> batch_means_us);

// Which samples look disturbed: those more than kOutlier off the median, on either side (leaving
// out slow ones alone would flatter everybody). None below 5 samples, where the median itself is
// not yet to be trusted.
inline constexpr double kOutlier = 0.05;
std::vector<bool> outliers(std::span<const double> samples);

// Which samples are to be taken again: outliers, and those during which the GPU held its clocks
// down (slowdowns: one text for each sample, empty where it did not).
std::vector<bool> disturbed(std::span<const double> samples,
                            const std::vector<std::string>& slowdowns);

// So many samples of a candidate, or rounds of finals, are taken again at most.
inline constexpr int kMaxRetakes = 10;

// What is still wrong with samples that are kept, as a sentence fragment; empty where nothing is.
std::string disturbance_text(std::span<const double> samples,
                             const std::vector<std::string>& slowdowns);

// A candidate is timed only as long as it could still win: it is beaten once its one sample, the
// faster of two, or the fastest of more is slower than the best by these shares. What disturbs
// samples hardly makes one 30 % slower, nor each of three 5 %; nobody within reach of the finals is
// beaten.
inline constexpr double kRaceMargins[] = {0.30, 0.10, 0.05};

// Whether a candidate with these samples is timed well enough.
struct SampleRule {
  int min_samples = 5;
  int max_samples = 15;
  // Enough once the interquartile range is within this share of the median.
  double spread = 0.01;
  // The best of the others. Nothing: there is no race.
  std::optional<double> best_us = {};
  // So many will do once launches have taken long together: with this spread after long_us, with
  // any after patience_us. The clocks move slow kernels' samples less, each of which is a mean over
  // more of their changes.
  int min_when_long = 3;
  double long_us = 50e3;
  double patience_us = 2e6;

  bool enough(std::span<const double> samples_us) const;
  bool is_beaten(std::span<const double> samples_us) const;
};

// Whether a warm-up may end: the clocks have settled and it has lasted least_us, or the candidate
// is beaten and need not be exact. batch_means_us: of batches as long as a sample.
bool is_warm(std::span<const double> batch_means_us, double spent_us, double least_us,
             const SampleRule& rule);

// Whether the finals have been timed well enough: the baseline and the finalists, one sample of
// each in every round.
struct FinalsRule {
  int min_rounds = 15;
  int max_rounds = 31;
  // Enough once the interval of the baseline, of the fastest and, by its ratio to the fastest, of
  // each that is tied is no wider than this share.
  double tightness = kTieMargin;
  // All samples together; then `min_when_long` rounds will do, the fewest whose interval is not the
  // whole range.
  double patience_us = 1.5e6;
  int min_when_long = 9;

  // samples_us: the baseline's first; further baselines count as finalists. spent_us: what all of
  // them took.
  bool enough(const std::vector<std::vector<double>>& samples_us, double spent_us) const;
};

// How many copies of a problem's operands cold launches must rotate through: so many that at least
// twice what L2 holds is touched between two uses of a copy, and two at least. Nothing where that
// is more than kMaxColdCopies (the problem is tiny: below 25 KB on a card with 50 MB of L2) or
// leaves less than kColdReserveBytes of the free memory, which the kernels of others need.
inline constexpr int kMaxColdCopies = 4096;
inline constexpr std::int64_t kColdReserveBytes = std::int64_t{1} << 29;
std::optional<int> cold_copies(std::int64_t operand_bytes, std::int64_t l2_bytes,
                               std::int64_t free_bytes);

// Launches of a cold batch: as launches_per_sample(), but whole rotations through the copies, so
// that the next replay's first launch does not meet a copy that was just used.
int cold_launches_per_sample(double launch_us, int copies);

// Interquartile range over median. Precondition: not empty.
double relative_spread(std::span<const double> samples);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "tuner/range/fewest_configs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace gemm_tune {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Lists that are looked at before a greedy choice has to do: some tenths of a second.
constexpr std::size_t kMostLists = 500'000;

class Cover {
 public:
  Cover(const TimesOfConfigs& times, double within) {
    const std::vector<std::optional<double>> best = best_of_each(times);
    for (const auto& row : times) {
      std::vector<double>& losses = losses_.emplace_back();
      for (std::size_t p = 0; p < best.size(); ++p) {
        if (!best[p]) continue;  // nothing serves there
        const double loss = row[p] ? *row[p] / *best[p] : kNever;
        losses.push_back(loss <= 1 + within ? std::log(loss) : kNever);
      }
    }
    problems_ = losses_.empty() ? 0 : losses_.front().size();
    for (std::size_t p = 0; p < problems_; ++p) {
      std::size_t& serving = serving_.emplace_back();
      for (std::size_t row = 0; row < losses_.size(); ++row) serving += serves(row, p) ? 1U : 0U;
    }
  }

  std::vector<std::size_t> fewest() {
    if (problems_ == 0) return {};
    std::vector<std::size_t> found = greedy();
    for (std::size_t size = 1; size <= found.size(); ++size) {
      least_ = kNever;
      chosen_.clear();
      extend(size, std::vector<double>(problems_, kNever));
      if (looked_at_ > kMostLists) break;
      if (least_ < kNever) return best_;
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  bool serves(std::size_t row, std::size_t problem) const { return losses_[row][problem] < kNever; }

  // The row that serves the most problems that no other does yet, and with the least loss.
  std::vector<std::size_t> greedy() const {
    std::vector<bool> is_served(problems_, false);
    std::vector<std::size_t> chosen;
    while (std::count(is_served.begin(), is_served.end(), false) > 0) {
      std::tuple<std::size_t, double, std::size_t> best{0, 0, 0};
      for (std::size_t row = 0; row < losses_.size(); ++row) {
        std::size_t more = 0;
        double loss = 0;
        for (std::size_t p = 0; p < problems_; ++p) {
          if (is_served[p] || !serves(row, p)) continue;
          ++more;
          loss += losses_[row][p];
        }
        best = std::max(best, {more, -loss, row});
      }
      const std::size_t row = std::get<2>(best);
      chosen.push_back(row);
      for (std::size_t p = 0; p < problems_; ++p) is_served[p] = is_served[p] || serves(row, p);
    }
    return chosen;
  }

  // Tries all lists of `more` further rows. least: of each problem the least loss of the rows
  // chosen so far.
  void extend(std::size_t more, const std::vector<double>& least) {
    if (++looked_at_ > kMostLists) return;
    const std::optional<std::size_t> unserved = hardest(least);
    if (!unserved) {
      double sum = 0;
      for (const double loss : least) sum += loss;
      if (sum < least_) {
        least_ = sum;
        best_ = chosen_;
        std::sort(best_.begin(), best_.end());
      }
      return;
    }
    if (more == 0) return;
    for (std::size_t row = 0; row < losses_.size(); ++row) {
      if (!serves(row, *unserved)) continue;
      std::vector<double> with(least);
      for (std::size_t p = 0; p < problems_; ++p) with[p] = std::min(with[p], losses_[row][p]);
      chosen_.push_back(row);
      extend(more - 1, with);
      chosen_.pop_back();
    }
  }

  // The problem without a row that the fewest rows serve; nothing where each has one.
  std::optional<std::size_t> hardest(const std::vector<double>& least) const {
    std::optional<std::size_t> found;
    for (std::size_t p = 0; p < problems_; ++p) {
      if (least[p] < kNever) continue;
      if (!found || serving_[p] < serving_[*found]) found = p;
    }
    return found;
  }

  std::vector<std::vector<double>> losses_;  // logarithms, of the problems with a time
  std::size_t problems_ = 0;
  std::vector<std::size_t> serving_;  // how many rows serve each problem
  std::vector<std::size_t> chosen_, best_;
  double least_ = kNever;
  std::size_t looked_at_ = 0;
};

}  // namespace

std::vector<std::optional<double>> best_of_each(const TimesOfConfigs& times) {
  std::vector<std::optional<double>> best(times.empty() ? 0 : times.front().size());
  for (const auto& row : times) {
    for (std::size_t p = 0; p < best.size(); ++p) {
      if (row[p]) best[p] = std::min(best[p].value_or(*row[p]), *row[p]);
    }
  }
  return best;
}

std::vector<std::size_t> fewest_configs(const TimesOfConfigs& times, double within) {
  return Cover(times, within).fewest();
}

}  // namespace gemm_tune

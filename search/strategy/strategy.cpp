// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/strategy.h"

#include <random>

#include "search/strategy/untried.h"

namespace gemm_tune {
namespace {

class Exhaustive : public Strategy {
 public:
  explicit Exhaustive(std::size_t points) : tried_(points, false) {}

  std::vector<std::size_t> ask(std::size_t count) override {
    std::vector<std::size_t> asked;
    for (; next_ < tried_.size() && asked.size() < count; ++next_) {
      if (!tried_[next_]) asked.push_back(next_);
    }
    return asked;
  }

  void tell(std::size_t point, std::optional<double>) override { tried_.at(point) = true; }

 private:
  std::vector<bool> tried_;
  std::size_t next_ = 0;
};

class Random : public Strategy {
 public:
  Random(std::size_t points, std::uint64_t seed) : untried_(points), random_(seed) {}

  std::vector<std::size_t> ask(std::size_t count) override {
    std::vector<std::size_t> asked;
    while (asked.size() < count && untried_.size() > 0) {
      asked.push_back(untried_.draw(random_));
      untried_.remove(asked.back());
    }
    return asked;
  }

  void tell(std::size_t point, std::optional<double>) override { untried_.remove(point); }

  void spare(std::size_t point) override { untried_.remove(point); }

 private:
  Untried untried_;
  std::mt19937_64 random_;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(std::size_t points) {
  return std::make_unique<Exhaustive>(points);
}

std::unique_ptr<Strategy> make_random(std::size_t points, std::uint64_t seed) {
  return std::make_unique<Random>(points, seed);
}

}  // namespace gemm_tune

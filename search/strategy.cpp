// SPDX-License-Identifier: Apache-2.0
#include "search/strategy.h"

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

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(std::size_t points) {
  return std::make_unique<Exhaustive>(points);
}

}  // namespace gemm_tune

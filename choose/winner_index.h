// SPDX-License-Identifier: Apache-2.0
// The winners of an architecture, arranged so that those nearest to a problem are found among many.
//
// A k-d tree for each device, signature and layout, over the logarithms of M, N, K and batch: the
// distance of two problems (shape_distance(), core/problem/launch_problem.h) is the exponential
// of the sum of differences there. Immutable; any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "choose/expected_time.h"
#include "choose/made_once.h"
#include "core/problem/launch_problem.h"
#include "db/record.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

// The best usable row of one (device, problem): of all kernels and, where a library's algorithm is
// better, that algorithm's besides.
struct Winner {
  KnownConfig config;
  Record record;
  // cuBLAS's own choice, timed beside the winner; not cublasLt's best.
  std::optional<Baseline> cublas = {};
  std::string layer = {};  // the file of the layer that it is from; empty: the user's database
};

// A winner that serves a problem as one of its served_variants(). A library's algorithm serves the
// very problem and device for which it was verified.
struct Serving {
  const Winner* winner = nullptr;
  const KnownConfig* config = nullptr;       // the variant that is legal for the problem
  bool is_specialisation = false;            // another variant than the winner itself
  double distance = 0;                       // of the winner's problem
  std::optional<double> correction;          // correction_of() the winner, which near_winners()
                                             // draws to the median of learned ones; none of a
                                             // library's
  const ModelledConfig* modelled = nullptr;  // the variant
};

// Whether the larger M is at most half as large again, so that the kernels for one of them suit
// what lies between.
constexpr bool are_near(long long smaller_m, long long larger_m) {
  return 2 * larger_m <= 3 * smaller_m;
}

class WinnerIndex {
 public:
  // winners: sorted by preference among winners at equal distance. Implicit: a list of winners is
  // what most callers have.
  WinnerIndex(std::vector<Winner> winners = {});  // NOLINT(google-explicit-constructor)
  ~WinnerIndex();
  WinnerIndex(WinnerIndex&&) noexcept;
  WinnerIndex& operator=(WinnerIndex&&) noexcept;

  // Where winners may have been tuned; on_a_twin: on another device of as many SMs. A device
  // without a name is any of the architecture.
  enum class Where { on_the_device, on_a_twin, elsewhere };

  // Which winners may serve: of kernels, or of libraries too.
  enum class Of { kernels, all };

  std::size_t size() const { return winners_.size(); }
  const std::vector<Winner>& all() const { return winners_; }

  // The winners that serve the problem, nearest first, at most `most`, each of another config. At
  // equal distance the winner of the very problem comes first, then those of its alignment class
  // (sameness()), then the winners' order decides.
  std::vector<Serving> nearest(const DeviceKey& device, Where where, const Problem& problem,
                               std::size_t most, Of of) const;

  // The winners at the next smaller and the next larger M that were tuned on the device with all
  // other sizes the same, the nearer one first: what one (N, K) was tuned for over a range of M
  // (--m-range). Kernels only. Both, or nothing where there is none on a side, where these M are
  // not are_near() or were not timed alike, or where a winner serves the problem not at all.
  std::vector<Serving> beside_in_m(const DeviceKey& device, const Problem& problem) const;

  // attainable_us() at the problem and on the device of a winner of this index. Computed when first
  // asked for: for all winners, this would take most of the time in which a database is opened.
  std::optional<double> attainable_at(const Winner& winner) const;

  // The row of cuBLAS's own choice, which was timed beside a winner of this index.
  const Record& row_of_cublas(const Winner& winner) const;

 private:
  struct Group;
  struct Entry;
  struct Variants;
  // The device's name and SMs first.
  using GroupKey = std::tuple<std::string, int, Signature, Layout, Epilogue>;
  // Compares names that need no copy.
  struct ByGroupKey {
    using is_transparent = void;
    using Key = std::tuple<std::string_view, int, Signature, Layout, Epilogue>;
    bool operator()(const Key& a, const Key& b) const { return a < b; }
  };

  std::vector<Winner> winners_;                                // stay where they are
  std::map<std::string, std::unique_ptr<Variants>> variants_;  // by the winner's config
  std::map<GroupKey, std::unique_ptr<Group>, ByGroupKey> groups_;
  // attainable_at() each winner: 0 where nobody has asked, NaN where there is none.
  std::unique_ptr<std::atomic<double>[]> attainable_us_;
  std::unique_ptr<MadeOnce<Record>[]> rows_of_cublas_;  // of each winner
};

}  // namespace gemm_tune

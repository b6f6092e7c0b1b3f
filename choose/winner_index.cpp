// SPDX-License-Identifier: Apache-2.0
#include "choose/winner_index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nanoflann.hpp>
#include <utility>

#include "choose/attainable_time.h"
#include "choose/expected_time.h"
#include "core/launch/launch_recipe.h"
#include "kernel_templates/registry/library_families.h"

namespace gemm_tune {
namespace {

using Point = std::array<double, 4>;

Point point_of(const Problem& problem) {
  const auto log = [](std::int64_t size) {
    return std::log(static_cast<double>(std::max<std::int64_t>(size, 1)));
  };
  return {log(problem.M), log(problem.N), log(problem.K), log(problem.batch)};
}

bool is_legal(const KnownConfig& config, const LaunchProblem& problem) {
  return refusal(config.recipe, problem) == Refusal::none;
}

// Elements that the launch before the kernel copies, for each multiplication of the problem.
double copied_share(const LaunchRecipe& recipe, const Problem& problem) {
  const RepackedOperands copies = repacked_operands(recipe, launch_problem(problem), 1);
  const auto elements = static_cast<double>(copies.a.elements() + copies.b.elements());
  return elements / std::max(flops(problem), 1.0);
}

// Copies that were worth their time where the winner was tuned are not where the product has far
// less to do with them: then one launch serves.
constexpr double kMostCopiedShare = 2;  // over that of the tuned problem

bool copies_too_much(const KnownConfig& config, const Problem& tuned, const Problem& problem) {
  return copied_share(config.recipe, problem) >
         kMostCopiedShare * copied_share(config.recipe, tuned);
}

// Of a winner's served_variants(), the one to launch for the problem: where it would copy, one
// without copies whose accesses are as wide, or for which they are worth their time.
const KnownConfig* serving_variant(const std::vector<KnownConfig>& variants, const Problem& tuned,
                                   const Problem& problem, const LaunchProblem& asked) {
  const auto legal = std::find_if(variants.begin(), variants.end(),
                                  [&](const KnownConfig& one) { return is_legal(one, asked); });
  if (legal == variants.end()) return nullptr;
  if (!legal->recipe.repack) return &*legal;
  const auto one_launch = std::find_if(
      variants.begin(), variants.end(),
      [&](const KnownConfig& one) { return !one.recipe.repack && is_legal(one, asked); });
  if (one_launch == variants.end()) return &*legal;
  const bool is_narrower = one_launch->recipe.alignment < legal->recipe.alignment;
  return is_narrower && !copies_too_much(*legal, tuned, problem) ? &*legal : &*one_launch;
}

// What may be launched for the problem; nullptr: nothing. asked: its launch_problem().
const KnownConfig* serving(const std::vector<KnownConfig>& variants, const Winner& winner,
                           const Problem& problem, const LaunchProblem& asked,
                           bool takes_libraries) {
  if (!winner.config.family->is_library()) {
    return serving_variant(variants, winner.record.problem, problem, asked);
  }
  const bool is_same = sameness(winner.record.problem, problem) == Sameness::full;
  return takes_libraries && is_same ? &variants.front() : nullptr;
}

}  // namespace

// A config's served_variants().
struct WinnerIndex::Variants {
  std::vector<KnownConfig> configs;
  std::vector<ModelledConfig> modelled;  // each of them
};

struct WinnerIndex::Entry {
  const Winner* winner;
  const Variants* variants;
  LaunchProblem tuned;
  std::optional<double> correction;
};

struct WinnerIndex::Group {
  // What nanoflann asks of a set of points.
  struct Points {
    std::vector<Point> all;
    std::size_t kdtree_get_point_count() const { return all.size(); }
    double kdtree_get_pt(std::size_t i, std::size_t dimension) const { return all[i][dimension]; }
    template <class Box>
    bool kdtree_get_bbox(Box&) const {
      return false;
    }
  };
  using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L1_Adaptor<double, Points>, Points,
                                                   std::tuple_size_v<Point>, std::uint32_t>;

  std::vector<Entry> entries;
  Points points;
  std::optional<Tree> tree;  // of points
  // The entries of kernels by their M, for each N, K and batch.
  std::map<std::tuple<long long, long long, long long, BatchKind>,
           std::multimap<long long, std::size_t>>
      by_m;
};

namespace {

// nanoflann's set of results: the nearest winners that serve the problem. All winners at the
// distance of the last one are looked at, so that ties are decided by rank and not by the tree.
template <class Entry>
class NearestServing {
 public:
  NearestServing(const Problem& problem, std::size_t most, bool takes_libraries)
      : problem_(problem),
        asked_(launch_problem(problem)),
        most_(most),
        takes_libraries_(takes_libraries) {
    found_.reserve(most + 1);
  }

  void look_into(const std::vector<Entry>& entries) { entries_ = entries.data(); }

  bool addPoint(double /*distance*/, std::uint32_t index) {
    consider(entries_[index]);
    return true;
  }
  double worstDist() const { return worst_; }
  bool full() const { return found_.size() == most_; }
  std::size_t size() const { return found_.size(); }

  std::vector<Serving> take() {
    std::vector<Serving> servings;
    servings.reserve(found_.size());
    for (Found& found : found_) servings.push_back(found.serving);
    return servings;
  }

 private:
  struct Found {
    std::tuple<double, int, const Winner*> rank;
    decltype(Entry::variants) variants;
    Serving serving;
  };

  void consider(const Entry& entry) {
    const double distance = shape_distance(entry.tuned, asked_);
    const auto rank =
        std::make_tuple(distance, -static_cast<int>(sameness(entry.tuned, asked_)), entry.winner);
    const auto same = std::find_if(found_.begin(), found_.end(), [&](const Found& found) {
      return found.variants == entry.variants;
    });
    if (same != found_.end() && same->rank <= rank) return;
    if (same == found_.end() && full() && found_.back().rank <= rank) return;
    const KnownConfig* const config =
        serving(entry.variants->configs, *entry.winner, problem_, asked_, takes_libraries_);
    if (config == nullptr) return;
    if (same != found_.end()) {
      found_.erase(same);
    } else if (full()) {
      found_.pop_back();
    }
    const std::vector<KnownConfig>& all = entry.variants->configs;
    const ModelledConfig* const modelled =
        &entry.variants->modelled[static_cast<std::size_t>(config - all.data())];
    Found found{rank,
                entry.variants,
                {entry.winner, config, config != all.data(), distance, entry.correction, modelled}};
    found_.insert(std::upper_bound(found_.begin(), found_.end(), found,
                                   [](const Found& a, const Found& b) { return a.rank < b.rank; }),
                  std::move(found));
    // The tree's sums of logarithms are rounded, shape_distance() otherwise.
    if (full()) worst_ = std::log(std::get<0>(found_.back().rank)) + 1e-9;
  }

  const Problem& problem_;
  LaunchProblem asked_;
  std::size_t most_;
  bool takes_libraries_;
  const Entry* entries_ = nullptr;
  std::vector<Found> found_;  // in ascending order of rank
  double worst_ = std::numeric_limits<double>::max();
};

auto sizes_but_m(const LaunchProblem& problem) {
  return std::make_tuple(problem.N, problem.K, problem.batch, problem.batch_kind);
}

template <class Group, class Entry>
void search(const Group& group, const Problem& problem, NearestServing<Entry>& nearest) {
  nearest.look_into(group.entries);
  group.tree->findNeighbors(nearest, point_of(problem).data(), nanoflann::SearchParams());
}

}  // namespace

WinnerIndex::WinnerIndex(std::vector<Winner> winners)
    : winners_(std::move(winners)),
      attainable_us_(std::make_unique<std::atomic<double>[]>(winners_.size())),
      rows_of_cublas_(std::make_unique<MadeOnce<Record>[]>(winners_.size())) {
  for (const Winner& winner : winners_) {
    const Record& record = winner.record;
    std::unique_ptr<Variants>& variants = variants_[to_string(winner.config.config())];
    if (!variants) {
      variants = std::make_unique<Variants>();
      variants->configs = served_variants(winner.config);
      for (const KnownConfig& one : variants->configs) {
        variants->modelled.emplace_back(one, record.device.arch);
      }
    }
    std::unique_ptr<Group>& group =
        groups_[{record.device.name, record.device.sm_count, record.problem.signature,
                 record.problem.layout, record.problem.epilogue}];
    if (!group) group = std::make_unique<Group>();
    group->entries.push_back(
        {&winner, variants.get(), launch_problem(record.problem),
         winner.config.family->is_library() ? std::nullopt : correction_of(winner.config, record)});
    group->points.all.push_back(point_of(record.problem));
    if (winner.config.family->is_library()) continue;
    const LaunchProblem& tuned = group->entries.back().tuned;
    group->by_m[sizes_but_m(tuned)].emplace(tuned.M, group->entries.size() - 1);
  }
  for (const auto& [key, group] : groups_) {
    group->tree.emplace(static_cast<int>(std::tuple_size_v<Point>), group->points);
  }
}

WinnerIndex::~WinnerIndex() = default;
WinnerIndex::WinnerIndex(WinnerIndex&&) noexcept = default;
WinnerIndex& WinnerIndex::operator=(WinnerIndex&&) noexcept = default;

std::optional<double> WinnerIndex::attainable_at(const Winner& winner) const {
  std::atomic<double>& known = attainable_us_[static_cast<std::size_t>(&winner - winners_.data())];
  double us = known.load(std::memory_order_relaxed);
  if (us == 0) {  // threads that find this at once compute the same
    const std::optional<DeviceSpec> device = modelled_device(winner.record.device);
    us = device ? attainable_us(winner.record.problem, *device).value_or(std::nan(""))
                : std::nan("");
    known.store(us, std::memory_order_relaxed);
  }
  return if_a_time(us);
}

const Record& WinnerIndex::row_of_cublas(const Winner& winner) const {
  return rows_of_cublas_[static_cast<std::size_t>(&winner - winners_.data())].get([&] {
    const Baseline& cublas = *winner.cublas;
    Record row = winner.record;
    row.config = to_string(library_choice().config());
    row.revision = cublas.library_version;
    row.outcome = {};
    row.outcome.timing = cublas.timing;
    row.outcome.error = cublas.error;
    return row;
  });
}

std::vector<Serving> WinnerIndex::beside_in_m(const DeviceKey& device,
                                              const Problem& problem) const {
  const auto group = groups_.find(ByGroupKey::Key(device.name, device.sm_count, problem.signature,
                                                  problem.layout, problem.epilogue));
  if (group == groups_.end()) return {};
  const LaunchProblem asked = launch_problem(problem);
  const auto sizes = group->second->by_m.find(sizes_but_m(asked));
  if (sizes == group->second->by_m.end()) return {};
  const auto above = sizes->second.upper_bound(asked.M), below = sizes->second.lower_bound(asked.M);
  if (above != below) return {};  // this very M was tuned, for other alignments
  if (above == sizes->second.end() || below == sizes->second.begin()) return {};
  const long long smaller = std::prev(below)->first, larger = above->first;
  if (!are_near(smaller, larger)) return {};
  std::vector<Serving> both;
  for (const long long m : {smaller, larger}) {
    const auto [first, last] = sizes->second.equal_range(m);
    for (auto one = first; one != last; ++one) {
      const Entry& entry = group->second->entries[one->second];
      const std::vector<KnownConfig>& variants = entry.variants->configs;
      const KnownConfig* const config = serving(variants, *entry.winner, problem, asked, false);
      if (config == nullptr) continue;
      both.push_back(
          {entry.winner, config, config != variants.data(), shape_distance(entry.tuned, asked),
           entry.correction,
           &entry.variants->modelled[static_cast<std::size_t>(config - variants.data())]});
      break;
    }
  }
  const bool is_whole =
      both.size() == 2 && both[0].winner->record.source == both[1].winner->record.source;
  if (!is_whole) return {};
  if (both[1].distance < both[0].distance) std::swap(both[0], both[1]);
  return both;
}

std::vector<Serving> WinnerIndex::nearest(const DeviceKey& device, Where where,
                                          const Problem& problem, std::size_t most, Of of) const {
  NearestServing<Entry> nearest(problem, most, of == Of::all && where == Where::on_the_device);
  for (const auto& [key, group] : groups_) {
    const auto& [name, sm_count, signature, layout, epilogue] = key;
    const bool is_here =
        device.name.empty() || (device.name == name && device.sm_count == sm_count);
    if (is_here != (where == Where::on_the_device)) continue;
    if (where == Where::on_a_twin && device.sm_count != sm_count) continue;
    if (signature != problem.signature || layout != problem.layout) continue;
    if (epilogue != problem.epilogue) continue;
    search(*group, problem, nearest);
  }
  return nearest.take();
}

}  // namespace gemm_tune

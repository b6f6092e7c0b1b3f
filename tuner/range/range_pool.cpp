// SPDX-License-Identifier: Apache-2.0
#include "tuner/range/range_pool.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "choose/choose.h"
#include "core/error.h"
#include "kernel_templates/registry/order_of_sums.h"
#include "kernel_templates/source/source.h"
#include "search/model/static_model.h"
#include "tuner/plan/budget.h"
#include "tuner/plan/candidates.h"
#include "tuner/plan/filter.h"
#include "tuner/plan/problem_results.h"

namespace gemm_tune {
namespace {

// Of earlier runs, at each problem.
constexpr std::size_t kMostKnown = 4;

// Of the program's own text: nobody knows in which order a text that was edited adds up.
std::optional<std::string> known_order(const TuneRequest& request, const KnownConfig& config) {
  if (request.kernels) {
    const auto source = request.kernels->find(config.family->name);
    if (source == request.kernels->end() || is_of_users_texts(source->second.revision)) return {};
  }
  return order_of_sums(config);
}

// The fastest kernels of earlier runs. orders: only of these; empty: of any.
std::vector<KnownConfig> known_best(const TuneRequest& request, const Problem& problem,
                                    Database& database, const Environment& environment,
                                    const std::set<std::string>& orders) {
  std::size_t stale = 0;
  std::vector<std::pair<double, std::string>> timed;
  for (const Record& record :
       ProblemResults(database, request, environment, problem).valid_rows(stale)) {
    const std::optional<double> us = record.outcome.deciding_us(request.rule.objective);
    if (record.outcome.disposition == Disposition::ok && us) timed.emplace_back(*us, record.config);
  }
  std::sort(timed.begin(), timed.end());
  std::vector<KnownConfig> best;
  for (const auto& [us, text] : timed) {
    KnownConfig config = check_config(parse_config(text));
    if (best.size() == kMostKnown) break;
    const bool may_be_tried =
        orders.empty() || orders.contains(known_order(request, config).value_or("none"));
    if (!config.family->is_library() && may_be_tried) best.push_back(std::move(config));
  }
  return best;
}

// What the static model expects of the configs of an order.
struct Modelled {
  std::vector<std::vector<KnownConfig>> best;  // lists, in each the best first
  double least_us = 0;
};

// Whether CTAs of a cluster share a tile along K. On the scale of the model's time such configs are
// a class of their own: of weights that lie in the L2 they are the fastest where it expects others
// to be so by a tenth (docs/notes/kernels/batch_invariant.md).
bool shares_in_cluster(const Traits& traits) {
  return traits.split_k > 1 && traits.cluster_ctas > 1;
}
constexpr double kMostBehind = 1.25;  // the best of one class, as the model's times

// Of a problem.
struct ModelledOrders {
  std::map<std::string, Modelled> by_order;
  bool has_config = false;  // of whatever order, known or not
};

// The static model's `most` best of each order of sums; in any order under one empty text. A list
// of those that share tiles in clusters, and one of others, but for a list that is far behind.
ModelledOrders modelled_best(const TuneRequest& request, const Problem& problem, std::size_t most,
                             SpaceMemory& memory) {
  const ConfigList points = candidates_for(request, problem, memory).points;
  using Timed = std::vector<std::pair<double, std::size_t>>;
  std::map<std::string, std::map<bool, Timed>> orders;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const KnownConfig config = points[i];
    const auto order =
        request.in_one_order ? known_order(request, config) : std::optional<std::string>("");
    if (!order) continue;
    orders[*order][shares_in_cluster(config.traits)].emplace_back(
        predict(config.traits, problem, request.device).time_us, i);
  }
  ModelledOrders found;
  found.has_config = points.size() > 0;
  for (auto& [order, classes] : orders) {
    Modelled& its = found.by_order[order];
    its.least_us = std::numeric_limits<double>::infinity();
    for (auto& [in_cluster, timed] : classes) {
      const auto end = timed.begin() + static_cast<std::ptrdiff_t>(std::min(most, timed.size()));
      std::partial_sort(timed.begin(), end, timed.end());
      its.least_us = std::min(its.least_us, timed.front().first);
    }
    for (const auto& [in_cluster, timed] : classes) {
      if (timed.front().first > kMostBehind * its.least_us) continue;
      std::vector<KnownConfig>& list = its.best.emplace_back();
      for (std::size_t i = 0; i < std::min(most, timed.size()); ++i) {
        list.push_back(points[timed[i].second]);
      }
    }
  }
  return found;
}

// The orders whose least times lose the least against those of all, on the average over the
// problems that they have a config for; first those that have one for the most problems.
std::set<std::string> promising_orders(const std::vector<ModelledOrders>& all) {
  constexpr std::size_t kMostOrders = 4;
  const double most_loss = std::log(1.1);                        // more than the best order
  std::map<std::string, std::pair<std::size_t, double>> losses;  // problems, sum of logarithms
  for (const ModelledOrders& one : all) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [order, its] : one.by_order) least = std::min(least, its.least_us);
    for (const auto& [order, its] : one.by_order) {
      auto& [problems, loss] = losses[order];
      ++problems;
      loss += std::log(its.least_us / least);
    }
  }
  std::vector<std::tuple<std::size_t, double, std::string>> ranks;  // problems that lack it first
  for (const auto& [order, sums] : losses) {
    ranks.emplace_back(all.size() - sums.first, sums.second / static_cast<double>(sums.first),
                       order);
  }
  std::sort(ranks.begin(), ranks.end());
  std::set<std::string> promising;
  for (const auto& [lacking, loss, order] : ranks) {
    const auto& [least_lacking, least_loss, best] = ranks.front();
    if (promising.size() == kMostOrders) break;
    if (lacking == least_lacking && loss <= least_loss + most_loss) promising.insert(order);
  }
  return promising;
}

// The config with the widest accesses beside which all else of it stays and that the device has
// (those of 2 bytes never are by cp.async): where rows are M long, M decides how wide they may be,
// and specialised_for() narrows them.
KnownConfig at_widest_access(const KnownConfig& config, const DeviceSpec& device) {
  if (!config.family->is_fastest_at_widest_vec || config.traits.vecs != 0) return config;
  Specialisation wide = config.specialisation();
  for (wide.vec = kWidestAccessBytes; wide.vec > config.traits.vec; wide.vec /= 2) {
    const std::vector<int> values = config.family->specialised(config.values, wide);
    if (config.family->reject(values)) continue;
    KnownConfig widened = specialised(config, wide);
    if (reject_on_device(widened, device) || reject_needless_on_device(widened, device)) continue;
    if (specialised(widened, config.specialisation()).values == config.values) return widened;
  }
  return config;
}

// Of the first configs of the lists some that serve all problems together, in one order of sums
// if asked, that one where it is given: by turns the one that serves the most of those that are
// left, of these the one that the static model expects to be the fastest.
std::vector<KnownConfig> serving_all(const std::vector<std::vector<KnownConfig>>& lists,
                                     const std::vector<Problem>& problems, const DeviceSpec& device,
                                     std::optional<std::string> order, bool in_one_order) {
  struct Head {
    KnownConfig config;
    std::vector<std::optional<double>> us;  // at each problem that it serves
  };
  std::vector<Head> heads;
  for (const auto& list : lists) {
    if (list.empty()) continue;
    Head& head = heads.emplace_back(Head{at_widest_access(list.front(), device), {}});
    for (const Problem& problem : problems) {
      const auto special = specialised_for(head.config, problem);
      head.us.push_back(special ? std::optional(predict(special->traits, problem, device).time_us)
                                : std::nullopt);
    }
  }
  std::vector<KnownConfig> chosen;
  std::vector<bool> is_served(problems.size(), false);
  while (std::count(is_served.begin(), is_served.end(), false) > 0) {
    const Head* best = nullptr;
    std::pair<std::size_t, double> most{0, 0};
    for (const Head& head : heads) {
      if (order && order_of_sums(head.config) != order) continue;
      std::pair<std::size_t, double> its{0, 0};
      for (std::size_t p = 0; p < problems.size(); ++p) {
        if (is_served[p] || !head.us[p]) continue;
        ++its.first;
        its.second -= std::log(*head.us[p]);
      }
      if (its.first == 0 || (best != nullptr && its <= most)) continue;
      best = &head;
      most = its;
    }
    if (best == nullptr) break;
    chosen.push_back(best->config);
    if (in_one_order) order = order_of_sums(best->config);
    for (std::size_t p = 0; p < problems.size(); ++p) {
      is_served[p] = is_served[p] || best->us[p].has_value();
    }
  }
  return chosen;
}

// Each config once, whatever specialisation it comes in, until there are enough.
class Pool {
 public:
  Pool(std::size_t most, const DeviceSpec& device) : most_(most), device_(device) {}

  bool is_full() const { return configs_.size() >= most_; }

  // Of each list the first config, then of each the second, and so on.
  void add_by_turns(const std::vector<std::vector<KnownConfig>>& lists) {
    std::size_t longest = 0;
    for (const auto& list : lists) longest = std::max(longest, list.size());
    for (std::size_t i = 0; i < longest; ++i) {
      for (const auto& list : lists) {
        if (i >= list.size() || is_full()) continue;
        KnownConfig config = at_widest_access(list[i], device_);
        if (texts_.insert(text_for_any_m(config)).second) configs_.push_back(std::move(config));
      }
    }
  }

  std::vector<KnownConfig> take() { return std::move(configs_); }

 private:
  std::size_t most_;
  const DeviceSpec& device_;
  std::set<std::string> texts_;
  std::vector<KnownConfig> configs_;
};

}  // namespace

std::string text_for_any_m(const KnownConfig& config) {
  Specialisation any = config.specialisation();
  any.predicated = true;
  const std::vector<int> values = config.family->specialised(config.values, any);
  return to_string(config.family->reject(values) ? config.config() : config.family->config(values));
}

std::vector<KnownConfig> range_pool(const TuneRequest& request,
                                    const std::vector<Problem>& problems, Database& database) {
  if (request.has_list()) {
    std::vector<KnownConfig> listed = request.only;
    std::erase_if(listed, [&](const KnownConfig& one) {
      return request.in_one_order && !known_order(request, one).has_value();
    });
    if (listed.empty()) throw NothingFound(kNoOrder);
    return listed;
  }
  const std::size_t most = request.budget.value_or(default_budget(request.measure));
  Pool pool(most, request.device);
  const Environment environment = environment_of(request);
  std::vector<ModelledOrders> modelled;
  SpaceMemory memory;
  for (const Problem& problem : problems) {
    if (request.interruption.requested()) return {};
    modelled.push_back(modelled_best(request, problem, most, memory));
  }
  std::set<std::string> orders = promising_orders(modelled);
  const OneOrder stored = request.in_one_order ? stored_orders(request, database) : OneOrder();
  const auto* const held = stored.order_for(device_key(request.device), problems.front());
  if (held != nullptr) orders.insert(*held);
  if (orders.empty()) {
    const bool has_config = std::any_of(modelled.begin(), modelled.end(),
                                        [](const auto& one) { return one.has_config; });
    if (has_config) throw NothingFound(kNoOrder);
    return {};
  }
  std::vector<std::vector<KnownConfig>> known, best;
  for (const Problem& problem : problems) {
    known.push_back(known_best(request, problem, database, environment,
                               request.in_one_order ? orders : std::set<std::string>()));
  }
  for (const std::string& order : orders) {
    for (auto& its : modelled) {
      std::vector<std::vector<KnownConfig>>& lists = its.by_order[order].best;
      std::move(lists.begin(), lists.end(), std::back_inserter(best));
    }
  }
  pool.add_by_turns(
      {serving_all(best, problems, request.device,
                   held != nullptr ? std::optional(*held) : std::nullopt, request.in_one_order)});
  pool.add_by_turns(known);
  pool.add_by_turns(best);
  return pool.take();
}

OneOrder stored_orders(const TuneRequest& request, const Database& database) {
  return OneOrder(load_ordered_winners(database, request.device.arch, revisions_of(request)));
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "choose/layered.h"

#include <set>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/text/printable.h"
#include "kernel_templates/registry/order_of_sums.h"

namespace gemm_tune {
namespace {

struct Rows {
  TunedRows tuned;
  std::vector<Winner> ordered;
};
using ByArch = std::map<std::string, Rows>;

ByArch rows_of(const Database& database, const std::optional<std::string>& arch,
               const KernelRevisions& revisions, const WinnerRule& rule, bool in_one_order) {
  ByArch rows;
  for (const DeviceKey& device : database.devices()) {
    const bool is_asked = !arch || device.arch == *arch;
    if (is_asked && !rows.contains(device.arch)) {
      Rows& its = rows[device.arch];
      its.tuned = load_rows(database, device.arch, revisions, rule);
      if (in_one_order) its.ordered = load_ordered_winners(database, device.arch, revisions, rule);
    }
  }
  return rows;
}

using Place = std::tuple<std::string, int, Problem>;  // device's name and SMs
using PlaceOfWinner = std::pair<Place, bool>;         // true: of a library's algorithm

Place place_of(const DeviceKey& device, const Problem& problem) {
  return {device.name, device.sm_count, problem};
}

PlaceOfWinner place_of(const Winner& winner) {
  return {place_of(winner.record.device, winner.record.problem),
          winner.config.family->is_library()};
}

// Measured before predicted, then the user's before a layer's, then the shortest time.
auto rank_among_layers(const Winner& winner, const WinnerRule& rule) {
  const std::optional<double> time_us = winner.record.outcome.deciding_us(rule.objective);
  return std::make_tuple(winner.record.source == Source::predicted, !winner.layer.empty(),
                         time_us.value_or(0));
}

// apart: of winners that are not compared.
template <class Apart>
void add_winners(std::vector<Winner>& all, std::vector<Winner> layer, const WinnerRule& rule,
                 const Apart& apart) {
  std::map<std::pair<PlaceOfWinner, std::string>, std::size_t> places;
  const auto place = [&](const Winner& one) { return std::pair(place_of(one), apart(one)); };
  for (std::size_t i = 0; i < all.size(); ++i) places.emplace(place(all[i]), i);
  for (Winner& winner : layer) {
    const auto [known, is_new] = places.try_emplace(place(winner), all.size());
    if (is_new) {
      all.push_back(std::move(winner));
    } else if (rank_among_layers(winner, rule) < rank_among_layers(all[known->second], rule)) {
      all[known->second] = std::move(winner);
    }
  }
}

void add_winners(std::vector<Winner>& all, std::vector<Winner> layer, const WinnerRule& rule) {
  add_winners(all, std::move(layer), rule, [](const Winner&) { return std::string(); });
}

// An algorithm of a library beats the kernels of its own database. One that ranks behind a kernel
// of another is no winner.
void leave_out_beaten(std::vector<Winner>& winners, const WinnerRule& rule) {
  std::map<Place, const Winner*> kernels;
  for (const Winner& one : winners) {
    const auto [place, is_library] = place_of(one);
    if (!is_library) kernels.emplace(place, &one);
  }
  std::set<PlaceOfWinner> beaten;
  for (const Winner& one : winners) {
    const PlaceOfWinner place = place_of(one);
    const auto kernel = kernels.find(place.first);
    if (place.second && kernel != kernels.end() && kernel->second->layer != one.layer &&
        rank_among_layers(*kernel->second, rule) < rank_among_layers(one, rule)) {
      beaten.insert(place);
    }
  }
  std::erase_if(winners, [&](const Winner& one) { return beaten.contains(place_of(one)); });
}

void add_timed(std::vector<TimedConfig>& all, std::vector<TimedConfig> layer) {
  std::set<std::pair<Place, std::string>> known;
  for (const TimedConfig& row : all) {
    known.emplace(place_of(row.device, row.problem), row.config);
  }
  for (TimedConfig& row : layer) {
    if (known.emplace(place_of(row.device, row.problem), row.config).second) {
      all.push_back(std::move(row));
    }
  }
}

void set_layer(std::vector<Winner>& winners, const std::filesystem::path& layer) {
  for (Winner& winner : winners) winner.layer = layer.string();
}

}  // namespace

std::vector<std::string> read_layers(
    const std::vector<std::filesystem::path>& layers,
    const std::function<void(const Database&, const std::filesystem::path&)>& read) {
  std::vector<std::string> notes;
  for (const std::filesystem::path& layer : layers) {
    try {
      read(Database(layer, Database::Mode::immutable), layer);
    } catch (const Error& error) {
      notes.push_back("left out: " + std::string(error.what()));
    }
  }
  return notes;
}

Layered load_layered(const Database* own, const std::vector<std::filesystem::path>& layers,
                     const std::optional<std::string>& arch, const KernelRevisions& revisions,
                     const WinnerRule& rule, bool in_one_order) {
  Layered all;
  ByArch rows = own == nullptr ? ByArch() : rows_of(*own, arch, revisions, rule, in_one_order);
  all.notes =
      read_layers(layers, [&](const Database& database, const std::filesystem::path& layer) {
        ByArch below = rows_of(database, arch, revisions, rule, in_one_order);
        for (auto& [name, found] : below) {
          set_layer(found.tuned.winners, layer);
          set_layer(found.ordered, layer);
          Rows& above = rows[name];
          add_winners(above.tuned.winners, std::move(found.tuned.winners), rule);
          add_winners(above.ordered, std::move(found.ordered), rule,
                      [](const Winner& one) { return order_of_sums(one.config).value_or(""); });
          add_timed(above.tuned.timed, std::move(found.tuned.timed));
        }
      });
  for (auto& [name, found] : rows) {
    leave_out_beaten(found.tuned.winners, rule);
    sort_by_preference(found.tuned.winners);
    Tuned tuned(std::move(found.tuned.winners), std::move(found.tuned.timed));
    tuned.ordered = OneOrder(std::move(found.ordered));
    all.tuned.emplace(name, std::move(tuned));
  }
  return all;
}

LayeredWinners load_layered_winners(const Database* own,
                                    const std::vector<std::filesystem::path>& layers,
                                    const std::string& arch, const KernelRevisions& revisions,
                                    Launches launches, const WinnerRule& rule) {
  LayeredWinners all;
  if (own != nullptr) all.winners = load_winners(*own, arch, revisions, launches, rule);
  all.notes =
      read_layers(layers, [&](const Database& database, const std::filesystem::path& layer) {
        std::vector<Winner> below = load_winners(database, arch, revisions, launches, rule);
        set_layer(below, layer);
        add_winners(all.winners, std::move(below), rule);
      });
  sort_by_preference(all.winners);
  return all;
}

}  // namespace gemm_tune

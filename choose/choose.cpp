// SPDX-License-Identifier: Apache-2.0
#include "choose/choose.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace gemm_tune {
namespace {

auto preference(const Record& record) {
  return std::make_tuple(to_string(record.problem), record.source == Source::predicted,
                         record.outcome.time_us().value(), record.device.name,
                         record.device.sm_count, record.config);
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

// Of the winner's served_variants(), the one to launch for the problem: where it would copy, one
// without copies whose accesses are as wide, or for which they are worth their time.
std::optional<LegalConfig> serving(const Winner& winner, const Problem& problem) {
  std::optional<LegalConfig> legal = legal_for(winner.config, problem);
  if (!legal || !legal->config.recipe.repack) return legal;
  for (KnownConfig& variant : served_variants(winner.config)) {
    if (variant.recipe.repack || why_illegal(variant.recipe, problem)) continue;
    if (variant.recipe.alignment < legal->config.recipe.alignment &&
        !copies_too_much(legal->config, winner.record.problem, problem)) {
      return legal;
    }
    return LegalConfig{std::move(variant), /*is_twin=*/true};
  }
  return legal;
}

struct Candidate {
  const Winner* winner = nullptr;
  LegalConfig legal;
  double distance = 0;
};

// The nearest legal winner that `eligible` accepts. At equal distance the winner of the very
// problem comes first, then the winners' order decides.
template <class F>
std::optional<Candidate> nearest(std::span<const Winner> winners, const Problem& problem,
                                 const F& eligible) {
  std::optional<Candidate> best;
  const Problem key = key_of(problem);
  const auto rank = [&](const Winner& winner) {
    const Problem& tuned = winner.record.problem;
    // A kernel serves one layout, so layouts are not part of the distance.
    return std::make_pair(shape_distance(launch_problem(tuned), launch_problem(problem)),
                          tuned != key);
  };
  for (const Winner& winner : winners) {
    if (!eligible(winner) || (best && rank(winner) >= rank(*best->winner))) continue;
    std::optional<LegalConfig> legal = serving(winner, problem);
    if (legal) best = Candidate{&winner, *std::move(legal), rank(winner).first};
  }
  return best;
}

std::string describe(const Candidate& candidate, const DeviceKey& device, const Problem& problem) {
  const Record& record = candidate.winner->record;
  const bool same_problem = record.problem == key_of(problem);
  std::string text = same_problem ? "the winner for this problem on " : "the nearest tuned size, ";
  if (!same_problem) text += to_string(record.problem) + " on ";
  text += record.device.name + " with " + std::to_string(record.device.sm_count) + " SMs";
  if (!device.name.empty() && record.device != device) text += ", another device of " + device.arch;
  text += record.source == Source::measured ? " (measured)" : " (predicted, not timed)";
  if (record.source == Source::measured && record.outcome.standing == Standing::search) {
    text += ", from a search that was stopped before its finals";
  }
  if (candidate.legal.is_twin) {
    text += "; its predicated twin serves, since " +
            why_illegal(candidate.winner->config.recipe, problem)
                .value_or("copies of A and B would not pay for this problem");
  }
  return text;
}

Choice builtin_or_none(const DeviceKey& device, const Problem& problem) {
  Choice choice;
  std::optional<KnownConfig> config = builtin_default(problem, device.arch);
  const std::optional<std::string> reason =
      config ? why_illegal(config->recipe, problem)
             : device.arch + " has no kernel of " + to_string(problem.signature);
  if (reason) {
    choice.explanation = "no kernel serves " + to_string(problem) + ": " + *reason;
    return choice;
  }
  choice.match = Match::builtin;
  choice.config = std::move(config);
  choice.explanation = "nothing tuned for " + device.arch +
                       " fits: the built-in default, predicated for any shape and not tuned";
  return choice;
}

}  // namespace

std::string_view to_string(Match match) {
  switch (match) {
    case Match::exact:
      return "exact";
    case Match::nearest:
      return "nearest";
    case Match::builtin:
      return "default";
    case Match::none:
      return "none";
  }
  throw Error("a match outside the closed list");
}

std::vector<Winner> load_winners(const Database& database, const std::string& arch,
                                 const KernelHashes& hashes, Launches launches) {
  const auto is_known = [launches](const std::string& config) {
    try {
      return !check_config(parse_config(config)).recipe.repack || launches == Launches::any;
    } catch (const UsageError&) {
      return false;
    }
  };
  std::vector<Winner> winners;
  for (Record& record : database.winners(arch, hashes, is_known)) {
    winners.push_back({check_config(parse_config(record.config)), std::move(record)});
  }
  std::sort(winners.begin(), winners.end(), [](const Winner& a, const Winner& b) {
    return preference(a.record) < preference(b.record);
  });
  return winners;
}

Choice choose(std::span<const Winner> winners, const DeviceKey& device, const Problem& problem) {
  const bool any_device = device.name.empty();
  const auto is_same = [&](const Winner& winner) {
    return any_device || winner.record.device == device;
  };
  const auto is_other = [&](const Winner& winner) { return !is_same(winner); };
  std::optional<Candidate> best = nearest(winners, problem, is_same);
  const bool measured = best && best->winner->record.source == Source::measured;
  if (!measured) {
    const std::optional<Candidate> other = nearest(winners, problem, is_other);
    // A measured winner replaces a predicted one only if it is no farther away.
    if (other && (!best || (other->winner->record.source == Source::measured &&
                            other->distance <= best->distance))) {
      best = other;
    }
  }
  if (!best) return builtin_or_none(device, problem);
  Choice choice;
  const Record& record = best->winner->record;
  const bool exact = record.problem == key_of(problem) && is_same(*best->winner);
  choice.match = exact ? Match::exact : Match::nearest;
  choice.config = best->legal.config;
  choice.is_twin = best->legal.is_twin;
  choice.winner = record;
  choice.explanation = describe(*best, device, problem);
  return choice;
}

Choice choose(const Database& database, const DeviceKey& device, const Problem& problem) {
  return choose(load_winners(database, device.arch), device, problem);
}

std::optional<KnownConfig> builtin_config(const Signature& signature, Layout layout,
                                          std::string_view arch) {
  for (const KernelFamily& family : families()) {
    if (!family.untuned) continue;
    if (auto values = family.untuned(signature, number_of_arch(arch))) {
      const KnownConfig config = known_config(family, *std::move(values));
      Specialisation specialisation = config.specialisation();
      specialisation.layout = layout;
      return specialised(config, specialisation);
    }
  }
  return std::nullopt;
}

std::optional<KnownConfig> builtin_default(const Problem& problem, std::string_view arch) {
  const auto config = builtin_config(problem.signature, problem.layout, arch);
  if (!config) return std::nullopt;
  const std::optional<LegalConfig> legal = legal_for(*config, problem);
  return legal ? legal->config : served_variants(*config).back();
}

}  // namespace gemm_tune

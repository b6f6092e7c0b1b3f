// SPDX-License-Identifier: Apache-2.0
#include "choose/choose.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "choose/builtin_config.h"
#include "choose/expected_time.h"
#include "choose/most_of_cublas.h"
#include "choose/near_winners.h"
#include "choose/no_kernel.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "core/text/words.h"
#include "kernel_templates/registry/library_families.h"
#include "kernel_templates/registry/order_of_sums.h"

namespace gemm_tune {
namespace {

// ", of '/usr/share/gemm-tune/a.db'" behind a row that is not the user's.
std::string of_layer(const std::string& layer) {
  return layer.empty() ? "" : ", of '" + excerpt(layer) + "'";
}

std::string text_of(const DeviceKey& device) {
  return printable(device.name) + " with " + std::to_string(device.sm_count) + " SMs";
}

// ", another device of sm_90" behind a device that is not the one asked about.
std::string unless_the_same(const DeviceKey& device, const DeviceKey& asked) {
  return asked.name.empty() || device == asked ? "" : ", another device of " + device.arch;
}

const char* const kGuess = "; a guess, for the sizes are far apart";

// What stays where it is.
template <class T>
std::shared_ptr<const T> lent(const T& value) {
  return {std::shared_ptr<const T>(), &value};
}

// Why a winner of another problem was taken.
enum class Because { it_is_nearest, it_is_expected_to_be_fastest, its_m_is_beside };

constexpr auto kReasons = words<Because>(
    {{Because::it_is_nearest, "the nearest tuned size, "},
     {Because::it_is_expected_to_be_fastest,
      "the near tuned size whose kernel is taken for the fastest here, "},
     {Because::its_m_is_beside, "the better of the winners for the tuned M on both sides, "}});

std::string describe(const Serving& serving, const DeviceKey& device, const Problem& problem,
                     Because because) {
  const Record& record = serving.winner->record;
  const Sameness same = sameness(record.problem, problem);
  std::string text(same == Sameness::full ? "the winner for this problem on "
                   : same == Sameness::by_class
                       ? "the winner where other operands are the least aligned ones, "
                       : word_of(kReasons, because));
  if (same != Sameness::full) text += to_string(record.problem) + " on ";
  text += text_of(record.device) + unless_the_same(record.device, device);
  text += record.source == Source::measured ? " (measured)" : " (predicted, not timed)";
  text += of_layer(serving.winner->layer);
  if (record.source == Source::measured && !record.outcome.ranking) {
    text += ", from a search that was stopped before its finals";
  }
  if (serving.is_specialisation) {
    text += "; its predicated specialisation serves, since " +
            why_illegal(serving.winner->config.recipe, problem)
                .value_or("copies of A and B would not pay for this problem");
  }
  if (serving.distance > kGuessDistance) text += kGuess;
  return text;
}

std::optional<double> spread_of(const Timing& timing) {
  std::vector<double> ratios;
  for (const double sample : timing.samples_us) ratios.push_back(sample / timing.median_us);
  return typical_factor(ratios);
}

// Exchanges a kernel for cuBLAS's own choice where that is faster, as far as is known.
void prefer_library(const WinnerIndex& winners, const LibraryTime& library, const std::string& arch,
                    const Problem& problem, Sentence sentence, Choice* choice) {
  if (!choice->expected_us) return;
  const double kernel_us = *choice->expected_us;
  const bool is_exact = choice->match == Match::exact;
  // Finals may have ranked a kernel before cuBLAS for its cold time (kReach).
  const bool is_judged = is_exact && sameness(choice->winner->problem, problem) == Sameness::full;
  const double distance =
      shape_distance(launch_problem(choice->winner->problem), launch_problem(problem));
  const double least =
      is_judged ? kClearlyFaster
                : 1 / most_of_cublas(
                          distance, choice->is_specialisation,
                          has_learned_times(choice->config->traits, machine_profile(arch).model));
  if (library.us >= least * kernel_us) return;
  const bool took = is_exact && choice->winner->outcome.timing;
  if (sentence == Sentence::made) {
    choice->explanation =
        std::string("cuBLAS, ") + (is_exact ? "timed at " : "expected to take ") +
        short_duration_text(library.us) + "; the best kernel " +
        (took ? "took " : "is expected to take ") + short_duration_text(kernel_us) +
        (kernel_us >= library.us ? "" : ", not clearly less") + ": " + choice->explanation;
  }
  choice->config = lent(library_choice());
  choice->is_specialisation = false;
  choice->expected_us = library.us;
  choice->within = std::nullopt;  // that of kernels
  choice->winner = lent(winners.row_of_cublas(*library.nearest));
  choice->layer = library.nearest->layer;
}

Choice of_winner(const NearWinners& near, const Expected& expected, const DeviceKey& device,
                 const Problem& problem, Because because, Sentence sentence) {
  const Serving& serving = near.servings[expected.index];
  Choice choice;
  choice.match = Match::nearest;
  choice.config = lent(*serving.config);
  choice.is_specialisation = serving.is_specialisation;
  choice.winner = lent(serving.winner->record);
  choice.layer = serving.winner->layer;
  choice.expected_us = expected.us;
  if (sentence == Sentence::made) {
    choice.explanation = describe(serving, device, problem, because);
  }
  return choice;
}

Choice of_near_winner(const NearWinners& near, const Expected& expected, const DeviceKey& device,
                      const Problem& problem, Sentence sentence) {
  return of_winner(
      near, expected, device, problem,
      expected.index == 0 ? Because::it_is_nearest : Because::it_is_expected_to_be_fastest,
      sentence);
}

// Where the problem's M lies between two that were tuned, not far apart: what was found for these.
// Other configs of their searches may be expected to be faster by a little, but who tunes a range
// wants few kernels.
std::optional<Choice> between_tuned_m(const Tuned& tuned, const DeviceKey& device,
                                      const Problem& problem, const NearWinners& nearest,
                                      Sentence sentence) {
  if (device.name.empty() || nearest.servings.front().winner->record.device != device) {
    return std::nullopt;
  }
  Problem with_winners = problem;
  with_winners.epilogue = nearest.servings.front().winner->record.problem.epilogue;
  const NearWinners beside{tuned.winners.beside_in_m(device, with_winners), nearest.device};
  if (beside.servings.empty()) return std::nullopt;
  return of_winner(beside, fastest(beside, problem), device, problem, Because::its_m_is_beside,
                   sentence);
}

TimedRow whole_row(const Tuned& tuned, const TimedConfig& row) {
  TimedRow whole;
  Record& record = whole.record;
  record.device = row.device;
  record.problem = row.problem;
  record.config = row.config;
  record.revision = row.revision;
  record.source = Source::measured;
  record.outcome.timing = Timing{row.median_us, {}, 1};
  for (const Serving& there : tuned.winners.nearest(row.device, WinnerIndex::Where::on_the_device,
                                                    row.problem, 1, WinnerIndex::Of::kernels)) {
    if (there.winner->record.problem == row.problem) {
      record.baseline = there.winner->record.baseline;
      if (there.winner->record.config == row.config) whole.layer = there.winner->layer;
    }
  }
  return whole;
}

Choice of_timed(const Tuned& tuned, const TimedCandidate& timed, const DeviceKey& device,
                Sentence sentence) {
  const TimedRow& row =
      tuned.timed.whole(*timed.row).get([&] { return whole_row(tuned, *timed.row); });
  Choice choice;
  choice.layer = row.layer;
  choice.winner = lent(row.record);
  choice.match = Match::nearest;
  choice.config = lent(*timed.config);
  choice.expected_us = timed.expected_us;
  if (sentence == Sentence::left_out) return choice;
  choice.explanation = "expected to take " + short_duration_text(timed.expected_us) +
                       ", the least of all configs that were verified on " +
                       text_of(timed.row->device) + unless_the_same(timed.row->device, device) +
                       "; timed nearest at " + to_string(timed.row->problem) + of_layer(row.layer);
  if (timed.distance > kGuessDistance) choice.explanation += kGuess;
  return choice;
}

// Of the configs that the near winners' device has timed.
std::vector<TimedCandidate> timed_beside(
    const Tuned& tuned, const NearWinners& near, const Problem& problem, std::size_t most,
    double below_us = std::numeric_limits<double>::infinity()) {
  if (!near.device || near.servings.empty()) return {};
  const DeviceKey& timed_on = near.servings.front().winner->record.device;
  return tuned.timed.fastest(timed_on, *near.device, problem, most, below_us);
}

// Exchanges a near winner for a config that is expected to be clearly faster.
void prefer_timed(const Tuned& tuned, const NearWinners& near, const DeviceKey& device,
                  const Problem& problem, Sentence sentence, Choice* choice) {
  if (!choice->expected_us) return;
  const ModelConstants& constants = machine_profile(device.arch).model;
  const double us = *choice->expected_us;
  const bool is_learned = has_learned_times(choice->config->traits, constants);
  // Beside a learned time the fastest may lack the margin, and a slower one not.
  const std::size_t most = is_learned ? 4 : 1;
  for (const TimedCandidate& timed :
       timed_beside(tuned, near, problem, most, kClearlyFaster * us)) {
    const bool of_it = has_learned_times(timed.config->traits, constants);
    if (timed.expected_us >= most_beside(of_it, timed.distance, is_learned) * us) continue;
    *choice = of_timed(tuned, timed, device, sentence);
    return;
  }
}

Choice builtin_or_none(const DeviceKey& device, const Problem& problem) {
  Choice choice;
  std::optional<KnownConfig> config = builtin_default(problem, device.arch);
  std::optional<std::string> reason = why_unserved(problem);
  if (!reason) {
    reason = config ? why_illegal(config->recipe, problem)
                    : device.arch + " has no kernel of " + to_string(problem.signature);
  }
  if (reason) {
    choice.explanation = kNoKernelServes + to_string(problem) + ": " + *reason;
    return choice;
  }
  choice.match = Match::builtin;
  choice.config = std::make_shared<const KnownConfig>(*std::move(config));
  choice.explanation = "nothing tuned for " + device.arch +
                       " fits: the built-in default, predicated for any shape and not tuned";
  return choice;
}

Choice without_winner(const DeviceKey& device, const Problem& problem, Allowed allowed) {
  const std::string untuned = "nothing tuned for " + device.arch + " fits " + to_string(problem);
  Choice choice = builtin_or_none(device, problem);
  // Where there is no kernel for the types on the architecture, cuBLAS may have none either.
  if (choice.match == Match::none) return choice;
  if (allowed.library) {
    choice.explanation = "cuBLAS, for " + untuned;
    choice.config = lent(library_choice());
  } else if (!allowed.untuned) {
    choice = {};
    choice.explanation = untuned;
  }
  return choice;
}

// Which winners may serve.
WinnerIndex::Of winners_for(const Allowed& allowed) {
  return allowed.library ? WinnerIndex::Of::all : WinnerIndex::Of::kernels;
}

// Among the kernels of the problem's own accuracy class.
Choice choose_in_class(const Tuned& tuned, const DeviceKey& device, const Problem& problem,
                       Allowed allowed, Sentence sentence) {
  NearWinners near = near_winners(tuned.winners, device, problem, winners_for(allowed));
  if (near.servings.empty()) return without_winner(device, problem, allowed);
  const auto is_exact = [&](const Serving& one) {
    return sameness_to(one, problem) != Sameness::none &&
           (device.name.empty() || one.winner->record.device == device);
  };
  const auto is_compared = [&](const Serving& one) {
    return !is_exact(one) && !decides(one, device, problem);
  };
  std::optional<Choice> between;
  if (is_compared(near.servings.front())) {
    between = between_tuned_m(tuned, device, problem, near, sentence);
    if (!between && allowed.twins) {
      if (auto twin = winners_of_a_twin(tuned.winners, device, problem)) near = *std::move(twin);
    }
  }
  const Serving& nearest = near.servings.front();
  const Record& record = nearest.winner->record;
  const bool exact = is_exact(nearest);
  const bool stays = !is_compared(nearest);
  const auto of_near = [&] {
    const Expected best = exact && !nearest.is_specialisation
                              ? Expected{0, record.outcome.time_us()}
                          : stays ? Expected{0, near.expected_us(0, problem)}
                                  : fastest(near, problem);
    return of_near_winner(near, best, device, problem, sentence);
  };
  Choice choice = between ? *between : of_near();
  if (exact) {
    choice.match = Match::exact;
    if (!nearest.is_specialisation && record.outcome.timing)
      choice.within = spread_of(*record.outcome.timing);
  } else {
    if (!between && !stays) prefer_timed(tuned, near, device, problem, sentence, &choice);
    if (choice.expected_us && choice.winner->device == device) {
      choice.within = tuned.timed.typical_error(device, problem);
    }
  }
  if (const auto library = time_of_library(tuned.winners, near, device, problem)) {
    choice.cublas_us = library->us;
    if (allowed.library) {
      prefer_library(tuned.winners, *library, device.arch, problem, sentence, &choice);
    }
  }
  return choice;
}

Choice none_in_order(const std::string& order, const Problem& problem) {
  Choice choice;
  choice.explanation = "no kernel of the order of sums " + order + ", which every M has, serves " +
                       to_string(problem);
  return choice;
}

// The first default config whose order is known, for every M: which of its specialisations serves
// does not change the order.
Choice default_in_one_order(const DeviceKey& device, const Problem& problem) {
  Choice choice;
  for (const KernelFamily& family : families()) {
    const auto config =
        untuned_config(family, problem.signature, problem.layout, device.arch, problem.batch_kind);
    const std::optional<std::string> order = config ? order_of_sums(*config) : std::nullopt;
    if (!order) continue;
    std::optional<LegalConfig> legal = legal_in_order(*config, *order, problem);
    if (!legal) return none_in_order(*order, problem);
    choice.match = Match::builtin;
    choice.config = std::make_shared<const KnownConfig>(std::move(legal->config));
    choice.explanation = "in the order of sums " + *order + " for every M, as nothing tuned for " +
                         device.arch + " fits: the default in that order, not tuned";
    return choice;
  }
  choice.explanation = "no kernel serves " + to_string(problem) + " on " + device.arch +
                       " in an order of sums that is known not to depend on M";
  return choice;
}

Choice choose_in_one_order(const Tuned& tuned, const DeviceKey& device, const Problem& problem,
                           bool allows_untuned) {
  const std::string* const order = tuned.ordered.order_for(device, problem);
  if (order == nullptr) {
    Choice choice = default_in_one_order(device, problem);
    if (allows_untuned || choice.match == Match::none) return choice;
    choice = {};
    choice.explanation = "nothing tuned for " + device.arch + " fits " + to_string(problem) +
                         " in one order of sums";
    return choice;
  }
  std::optional<OrderedServing> serving = tuned.ordered.nearest(device, problem);
  if (!serving) return none_in_order(*order, problem);
  Choice choice;
  const Record& record = serving->winner->record;
  const Sameness same = sameness(record.problem, problem);
  choice.match = same == Sameness::none ? Match::nearest : Match::exact;
  choice.is_specialisation = serving->is_specialisation;
  choice.winner = lent(record);
  choice.layer = serving->winner->layer;
  choice.explanation =
      "in the order of sums " + *order +
      " for every M: the winner for M = " + std::to_string(record.problem.M) + " on " +
      text_of(record.device) +
      (record.source == Source::measured ? " (measured)" : " (predicted, not timed)") +
      of_layer(serving->winner->layer);
  const std::optional<DeviceSpec> spec = modelled_device(device);
  const auto correction = correction_of(serving->winner->config, record);
  if (same == Sameness::full && !serving->is_specialisation) {
    choice.expected_us = record.outcome.time_us();
    if (record.outcome.timing) choice.within = spread_of(*record.outcome.timing);
  } else if (spec && correction) {
    choice.expected_us = expected_us(serving->config, *correction, problem, *spec);
  }
  choice.config = std::make_shared<const KnownConfig>(std::move(serving->config));
  return choice;
}

// As far as is known. A measured time gives way to a measured one only. A library that was not
// timed computes in fp32, too, whatever the class.
bool is_faster(const Choice& one, const Choice& other) {
  if (!one.expected_us) return false;
  if (!other.expected_us) {
    return one.match == Match::exact && other.config->family->is_library();
  }
  if (other.match == Match::exact && one.match != Match::exact) return false;
  return *one.expected_us < *other.expected_us;
}

constexpr auto kMatches = words<Match>({{Match::exact, "exact"},
                                        {Match::nearest, "nearest"},
                                        {Match::builtin, "default"},
                                        {Match::none, "none"}});

}  // namespace

std::string_view to_string(Match match) { return word_of(kMatches, match); }

Choice choose(const Tuned& tuned, const DeviceKey& device, const Problem& problem, Allowed allowed,
              Sentence sentence) {
  if (allowed.one_order) return choose_in_one_order(tuned, device, problem, allowed.untuned);
  Choice choice = choose_in_class(tuned, device, problem, allowed, sentence);
  const Accuracy asked = problem.signature.accuracy;
  if (asked == Accuracy::fp32 || info_of(asked).operands != OperandKind::f32) return choice;
  if (!is_served(problem.signature)) return choice;  // no family has the class
  Problem plain = problem;
  plain.signature.accuracy = Accuracy::fp32;
  Choice in_fp32 = choose_in_class(tuned, device, plain, allowed, sentence);
  if (choice.config ? !is_faster(in_fp32, choice) : !in_fp32.config) return choice;
  if (sentence == Sentence::left_out) return in_fp32;
  in_fp32.explanation =
      (choice.config
           ? "fp32, which satisfies the class and is faster: "
           : "fp32, which satisfies " + std::string(to_string(asked)) + ": on " + device.arch +
                 " kernels of that class serve where a search found them: ") +
      in_fp32.explanation;
  return in_fp32;
}

Choice choose(Tuned&& tuned, const DeviceKey& device, const Problem& problem, Allowed allowed) {
  const auto kept = std::make_shared<const Tuned>(std::move(tuned));
  Choice choice = choose(*kept, device, problem, allowed);
  choice.tuned = kept;
  return choice;
}

std::vector<Choice> likeliest(const Tuned& tuned, const DeviceKey& device, const Problem& problem,
                              Allowed allowed, std::size_t most) {
  Choice best = choose(tuned, device, problem, allowed);
  if (best.match == Match::exact || allowed.one_order) return {std::move(best)};
  Allowed kernels_alone = allowed;
  kernels_alone.library = false;
  Choice first = choose(tuned, device, problem, kernels_alone);
  std::vector<Choice> kernels;
  if (first.match == Match::nearest && !device.name.empty()) {
    const NearWinners near = near_winners(tuned.winners, device, problem, WinnerIndex::Of::kernels);
    for (std::size_t i = 0; i < near.servings.size(); ++i) {
      const Expected one{i, near.expected_us(i, problem)};
      if (one.us) kernels.push_back(of_near_winner(near, one, device, problem, Sentence::made));
    }
    const auto add_timed = [&](const std::vector<TimedCandidate>& all) {
      for (const TimedCandidate& timed : all) {
        kernels.push_back(of_timed(tuned, timed, device, Sentence::made));
      }
    };
    add_timed(timed_beside(tuned, near, problem, most));
    // They are timed, so that the clocks of two devices need not compare.
    const bool are_elsewhere =
        near.servings.empty() || near.servings.front().winner->record.device != device;
    if (near.device && are_elsewhere) {
      add_timed(tuned.timed.fastest(device, *near.device, problem, most));
    }
    std::stable_sort(kernels.begin(), kernels.end(), [](const Choice& a, const Choice& b) {
      return *a.expected_us < *b.expected_us;
    });
  }
  std::vector<Choice> answers;
  std::set<std::string> texts;
  const auto add = [&](Choice& kernel) {
    const bool is_new = kernel.config && texts.insert(to_string(kernel.config->config())).second;
    if (is_new && texts.size() <= most) answers.push_back(std::move(kernel));
  };
  if (allowed.library) {  // first: needs no compilation
    Choice& library = answers.emplace_back();
    library.match = Match::builtin;
    library.config = lent(library_choice());
    library.expected_us = first.cublas_us;
    library.explanation = "cuBLAS's own choice";
  }
  add(first);
  for (Choice& kernel : kernels) add(kernel);
  return answers;
}

Choice choose(const Database& database, const DeviceKey& device, const Problem& problem) {
  return choose(load_tuned(database, device.arch), device, problem);
}

}  // namespace gemm_tune

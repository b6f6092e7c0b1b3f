// SPDX-License-Identifier: Apache-2.0
// Chooses the config for a (device, problem) among the stored winners: a kernel or, for callers who
// can call one, an algorithm of a library.
//
// `gemm-tune best` and the runtime library use this function, so that they agree. The exported
// header agrees with it for a device without a name. The chosen kernel is legal for the very
// problem, and the choice says how it was found. A caller with many problems loads the winners
// once: choosing among loaded winners reads no disk. Pure but for the database; any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "choose/tuned.h"
#include "db/database.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

enum class Match {
  exact,    // a winner tuned for this device and problem, or for its alignment class (sameness())
  nearest,  // a winner of a near tuned size, or of this size on another device
  builtin,  // nothing tuned fits: the conservative default config ("default" to users)
  none,     // nothing can serve the problem
};

std::string_view to_string(Match match);

// Which answers a caller can use: unless told otherwise, every kernel and no library.
struct Allowed {
  bool library = false;  // the caller can call cuBLAS and cublasLt for the problem
  bool untuned = true;   // the default config serves where nothing tuned fits
  // The bits of a row of D must not depend on M: only kernels of one order of sums serve
  // (choose/one_order.h), and no library. What was tuned decides which order; without it that of
  // the default config.
  bool one_order = false;
  // Another device's winner for the very problem may serve before the device's own winners of
  // problems nearby. A caller that demands times of the device itself can use own ones alone.
  bool twins = true;
};

struct Choice {
  Match match = Match::none;
  // Empty iff nothing serves. It and the winner lie in what choose() was given, unless they are the
  // choice's own.
  std::shared_ptr<const KnownConfig> config;
  // The winner's predicated specialisation: the winner is not legal here.
  bool is_specialisation = false;
  // The row that config rests on; none for the default config. Of a config that is no winner the
  // device, problem, time, and the baseline beside the winner there.
  std::shared_ptr<const Record> winner;
  std::string layer;        // the file of the layer that the row is from; empty: the database
  std::string explanation;  // one sentence: what was chosen and why (Sentence)
  // Of what was chosen. A measured time for an exact match, else the model's, corrected by what was
  // measured (choose/expected_time.h). Nothing for the default config, and but for an exact match
  // for a device without a name and for an architecture that the model does not know.
  std::optional<double> expected_us;
  // By which factor such an expectation is typically off: half of the times are closer. From the
  // samples of an exact match, else from expectations among the tuned problems. Nothing where there
  // are too few.
  std::optional<double> within;
  std::optional<double> cublas_us;  // of cuBLAS's own choice, measured or expected in the same way
  std::shared_ptr<const Tuned> tuned = {};  // where nobody else keeps it
};

// Whether a choice has its sentence, which takes longer to write than the choice to find. Where
// nothing serves it has one in any case.
enum class Sentence { made, left_out };

// A distance from which on an answer calls itself a guess: with one of the sizes 16 times another,
// say. Chosen, not measured.
inline constexpr double kGuessDistance = 16;

// Chooses the winner for the problem on the device. For a problem that nobody has tuned, the
// nearest winner that is legal, itself or as its specialisation, unless another config that was
// verified on the winner's device is expected to be clearly faster: another near winner or one that
// a search has tried. Where M alone differs from tuned problems, one below and one above it and not
// far apart, one of these two winners serves: the nearer, unless the other is expected to be
// clearly faster. The winners of another device of the architecture take their place if there is
// none, or if the nearest of the other is measured and clearly nearer, or, where there are only
// predicted ones, no farther away (choose/near_winners.cpp); the explanation says so. A winner that
// another device of as many SMs has measured at the very problem comes before the device's own
// winners of other problems, unless M alone differs as above, and is not compared with other
// kernels. A device without a name stands for any device of its architecture; the nearest winner
// then serves. Where a library is allowed, its algorithm serves the problem that it won, and
// cuBLAS's own choice those where no kernel is expected to be as fast (choose/most_of_cublas.h).
// What is chosen for the class fp32 serves other classes of fp32 operands where it is faster: it
// satisfies them all.
//
// tuned: as load_tuned() gives it for the device's architecture; it must outlive the choice, unless
// it is given away.
Choice choose(const Tuned& tuned, const DeviceKey& device, const Problem& problem,
              Allowed allowed = {}, Sentence sentence = Sentence::made);
Choice choose(Tuned&& tuned, const DeviceKey& device, const Problem& problem, Allowed allowed = {});

// The same, but loads what the database knows for this one call.
Choice choose(const Database& database, const DeviceKey& device, const Problem& problem);

// For a caller who can time them: cuBLAS's own choice where a library is allowed, choose()'s
// kernel, and those kernels that are likeliest to be faster, `most` kernels at most. For a tuned
// problem its winner alone.
std::vector<Choice> likeliest(const Tuned& tuned, const DeviceKey& device, const Problem& problem,
                              Allowed allowed, std::size_t most);

}  // namespace gemm_tune

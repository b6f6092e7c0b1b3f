// The one function that chooses among winners for a (device, problem).
//
// `gemm-tune best`, the runtime library and the exported header all rest on it, so that they agree.
// What it returns is legal for that very problem, and says how it was found.
#pragma once

#include <optional>
#include <string>

#include "db/database.h"
#include "kernel_templates/registry.h"

namespace gemm_tune {

enum class Match {
  exact,    // a winner tuned for this device and problem
  nearest,  // a winner of the nearest tuned size
  builtin,  // nothing tuned fits: the conservative default config ("default" to users)
  none,     // no kernel can serve the problem
};

std::string_view to_string(Match match);

struct Choice {
  Match match = Match::none;
  std::optional<KnownConfig> config;  // empty iff match is none
  bool is_twin = false;          // the winner's predicated twin, since the winner is not legal here
  std::optional<Record> winner;  // the row it rests on, for exact and nearest
  std::string explanation;       // one sentence: what was chosen and why
};

// How unlike two shapes are: the product over M, N and K of larger over smaller, 1 for equal ones
// (K counts as at least 1). Cheap enough to be constexpr in the exported header.
double shape_distance(const Problem& a, const Problem& b);

// Candidates are rows of the same device, else of the same architecture (which the explanation then
// says); stale rows (config no longer known, or another kernel hash) are passed over. Ties in
// distance go to the smaller problem text.
Choice choose(const Database& database, const DeviceKey& device, const Problem& problem);

// The config that serves any problem where nothing was tuned.
KnownConfig builtin_default(const Problem& problem);

}  // namespace gemm_tune

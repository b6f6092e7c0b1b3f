// SPDX-License-Identifier: Apache-2.0
// The one function that chooses among winners for a (device, problem).
//
// `gemm-tune best`, the runtime library and the exported header all rest on it, so that they agree.
// What it returns is legal for that very problem, and says how it was found. Who asks often loads
// the winners once: choosing among them touches no disk. Pure but for the database; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"
#include "db/validity.h"
#include "kernel_templates/registry.h"

namespace gemm_tune {

enum class Match {
  exact,    // a winner tuned for this device and problem
  nearest,  // a winner of the nearest tuned size, or of this size on another device
  builtin,  // nothing tuned fits: the conservative default config ("default" to users)
  none,     // no kernel can serve the problem
};

std::string_view to_string(Match match);

// The best usable row of one (device, problem).
struct Winner {
  KnownConfig config;
  Record record;
};

// One winner for each (device, problem) of the architecture. Stale rows (db/validity.h) are passed
// over. In choose()'s order of preference among equally
// near ones: by problem text, then measured before predicted, then time, device and config.
std::vector<Winner> load_winners(const Database& database, const std::string& arch,
                                 const KernelHashes& hashes = current_kernel_hashes());

struct Choice {
  Match match = Match::none;
  std::optional<KnownConfig> config;  // empty iff match is none
  bool is_twin = false;          // the winner's predicated twin, since the winner is not legal here
  std::optional<Record> winner;  // the row it rests on, for exact and nearest
  std::string explanation;       // one sentence: what was chosen and why
};

// The nearest winner that is legal, itself or as its twin, among those of the same device; else, or
// where that is only predicted and a measured one is as near, among those of the architecture's
// other devices (the explanation says so). A device without a name stands for any of its
// architecture. winners: as load_winners() gives them for the device's architecture.
Choice choose(std::span<const Winner> winners, const DeviceKey& device, const Problem& problem);

// The same with the winners loaded for this one call.
Choice choose(const Database& database, const DeviceKey& device, const Problem& problem);

// The config that serves where nothing was tuned: as one of its served_variants(), any shape,
// alignment class and batch that a grid can hold, on every architecture.
KnownConfig builtin_config(Layout layout);

// The variant of it with accesses as wide as the problem allows.
KnownConfig builtin_default(const Problem& problem);

}  // namespace gemm_tune

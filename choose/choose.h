// SPDX-License-Identifier: Apache-2.0
// Chooses the kernel for a (device, problem) among the stored winners.
//
// `gemm-tune best`, the runtime library and the exported header all use this function, so that they
// agree. The chosen kernel is legal for the very problem, and the choice says how it was found. A
// caller with many problems loads the winners once: choosing among loaded winners reads no disk.
// Pure but for the database; any thread.
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

// How many launches a winner's call may take: one, or any number (REPACK takes two).
enum class Launches { one, any };

// One winner for each (device, problem) of the architecture, without stale rows (db/validity.h).
// Sorted by choose()'s preference among winners at equal distance: by problem text, then measured
// before predicted, then by time, device and config.
std::vector<Winner> load_winners(const Database& database, const std::string& arch,
                                 const KernelHashes& hashes = current_kernel_hashes(),
                                 Launches launches = Launches::any);

struct Choice {
  Match match = Match::none;
  std::optional<KnownConfig> config;  // empty iff match is none
  bool is_twin = false;               // the winner's predicated twin: the winner is not legal here
  std::optional<Record> winner;       // the winner's row, for exact and nearest
  std::string explanation;            // one sentence: what was chosen and why
};

// Chooses the nearest winner that is legal, itself or as its twin, among those of the same device.
// A winner of another device of the architecture takes its place if there is none, or if there is
// only a predicted one and the other is measured and no farther away; the explanation says so. A
// device without a name stands for any device of its architecture. winners: as load_winners() gives
// them for the device's architecture.
Choice choose(std::span<const Winner> winners, const DeviceKey& device, const Problem& problem);

// The same, but loads the winners for this one call.
Choice choose(const Database& database, const DeviceKey& device, const Problem& problem);

// The config for problems of these types and this layout that no winner serves, on an architecture.
// One of its served_variants() serves any shape, alignment class and batch that a grid can hold.
// Nothing where no kernel has these types on the architecture. All architectures have f32.
std::optional<KnownConfig> builtin_config(const Signature& signature, Layout layout,
                                          std::string_view arch);

// The variant of builtin_config() with accesses as wide as the problem allows.
std::optional<KnownConfig> builtin_default(const Problem& problem, std::string_view arch);

}  // namespace gemm_tune

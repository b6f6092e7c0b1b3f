// SPDX-License-Identifier: Apache-2.0
// What the user's database and the read-only layers below it (db/layers.h) know together.
//
// A problem on a device is won by the user's measured winner, else by the fastest measured winner
// of the layers, else by a predicted one, the user's first. A layer that cannot be read is left out
// whole: it may come with the system, and its owner may be another one. Any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "choose/tuned.h"

namespace gemm_tune {

// Calls read(database, path) for each layer. Returns a sentence for each that was left out because
// it, or `read`, threw an Error: a `read` that may throw midway keeps nothing of that layer.
std::vector<std::string> read_layers(
    const std::vector<std::filesystem::path>& layers,
    const std::function<void(const Database&, const std::filesystem::path&)>& read);

struct Layered {
  std::map<std::string, Tuned> tuned;  // by architecture
  std::vector<std::string> notes;      // a sentence for each layer that was left out
};

// own: nullptr where the user has none. arch: only that one; nullopt: all. revisions and rule: as
// for load_tuned(). Throws DatabaseError if `own` cannot be read.
// in_one_order: with Tuned::ordered.
Layered load_layered(const Database* own, const std::vector<std::filesystem::path>& layers,
                     const std::optional<std::string>& arch = std::nullopt,
                     const KernelRevisions& revisions = current_revisions(),
                     const WinnerRule& rule = {}, bool in_one_order = false);

// The winners of one architecture, as load_winners() sorts them.
struct LayeredWinners {
  std::vector<Winner> winners;
  std::vector<std::string> notes;
};

// As load_layered().
LayeredWinners load_layered_winners(const Database* own,
                                    const std::vector<std::filesystem::path>& layers,
                                    const std::string& arch, const KernelRevisions& revisions,
                                    Launches launches = Launches::any, const WinnerRule& rule = {});

}  // namespace gemm_tune

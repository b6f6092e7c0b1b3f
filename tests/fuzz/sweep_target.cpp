// SPDX-License-Identifier: Apache-2.0
// Recorded sweeps, which other programs write.
#include <cmath>
#include <vector>

#include "core/error.h"
#include "research/sweep/sweep.h"
#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"

namespace gemm_tune::fuzz {
namespace {

// What a search relies on.
void require_sound(const Sweep& sweep) {
  const std::size_t points = sweep.space.size();
  require(points > 0 && sweep.keys.size() == points && sweep.time_us.size() == points,
          "every point has a key and an outcome");
  require(sweep.predicted_us.empty() || sweep.predicted_us.size() == points,
          "all or none are predicted");
  bool any = false;
  for (const auto& time : sweep.time_us) {
    require(!time || (std::isfinite(*time) && *time > 0), "a time is one");
    any = any || time;
  }
  require(any, "something has a time");
  require(sweep.space.find(sweep.space.at(points - 1)).has_value(), "a point is found");
  require(prior_from(sweep, sweep).size() == points, "a sweep foretells itself");
  if (sweep.predicted_us.empty()) return;
  const std::vector<const Sweep*> itself = {&sweep};
  require(transferred_prior(sweep, itself).size() == points, "the model is corrected");
}

}  // namespace

void check_sweep(std::string_view input) {
  try {
    // Packed ones are files; an unpacked one is no more than its text.
    if (!input.starts_with("\x1f\x8b")) return require_sound(parse_sweep(std::string(input), "a"));
    static const TempFolder scratch;
    const std::string path = (scratch.path() / "a.json.gz").string();
    write_file(path, input);
    require_sound(read_sweeps(path).at(0));
  } catch (const UsageError&) {
  } catch (const DatabaseError&) {  // cannot be unpacked
  }
}

}  // namespace gemm_tune::fuzz

// SPDX-License-Identifier: Apache-2.0
#include "choose/near_winners.h"

#include <algorithm>
#include <cmath>

#include "choose/attainable_time.h"
#include "choose/expected_time.h"
#include "choose/most_of_cublas.h"

namespace gemm_tune {
namespace {

// How many near winners are compared by their expected times. At 57 random problems the choice
// among 8, 16, 24 and 96 has .894, .898, .906 and .908 of the speed of a search's best, by replay
// (docs/notes/running/untuned_problems.md).
constexpr std::size_t kCompared = 24;

Source source_of(const Serving& serving) { return serving.winner->record.source; }

// The device's own winners serve up to this distance: as far as the drop-in serves unless told
// otherwise, for it takes winners of its own device alone.
constexpr double kOwnReach = 4;

// Beyond, how many times as far away as another device's winner the device's own one may be and
// still be better evidence. The factor is small because most of what makes a kernel fast is the
// same on all devices of an architecture.
constexpr double kOtherDevice = 1.5;

// Of the device, or of the other one with the nearest winner if these are better evidence. Never of
// two devices: times at different clocks do not compare.
std::vector<Serving> here_or_elsewhere(const WinnerIndex& winners, const DeviceKey& device,
                                       const Problem& problem, WinnerIndex::Of of) {
  using Where = WinnerIndex::Where;
  const std::size_t most = device.name.empty() ? 1 : kCompared;
  std::vector<Serving> here = winners.nearest(device, Where::on_the_device, problem, most, of);
  const bool is_measured = !here.empty() && source_of(here.front()) == Source::measured;
  if (is_measured && here.front().distance <= kOwnReach) return here;
  const std::vector<Serving> elsewhere =
      winners.nearest(device, Where::elsewhere, problem, 1, WinnerIndex::Of::kernels);
  if (elsewhere.empty()) return here;
  const Serving& there = elsewhere.front();
  const DeviceKey& other = there.winner->record.device;
  if (!here.empty()) {
    if (source_of(there) != Source::measured) return here;
    // A measured winner replaces a predicted one if it is no farther away.
    const double reach = is_measured ? kOtherDevice * ratio(device.sm_count, other.sm_count) : 1;
    if (reach * there.distance > here.front().distance) return here;
  }
  return winners.nearest(other, Where::on_the_device, problem, most, WinnerIndex::Of::kernels);
}

bool counts_as_learned(const Serving& one) {
  return one.correction && one.modelled->is_learned() && source_of(one) == Source::measured;
}

// Draws the corrections of learned times to their median.
void draw_corrections(std::vector<Serving>& servings) {
  std::vector<double> logs;
  for (const Serving& one : servings) {
    if (counts_as_learned(one)) logs.push_back(std::log(*one.correction));
  }
  const std::optional<double> median = median_of(std::move(logs));
  for (Serving& one : servings) {
    if (!counts_as_learned(one)) continue;
    one.correction =
        std::exp(log_correction_at(one.distance, std::log(*one.correction), *median, true));
  }
}

}  // namespace

std::optional<double> NearWinners::expected_us(std::size_t index, const Problem& problem) const {
  const Serving& serving = servings[index];
  if (!device || !serving.correction) return std::nullopt;
  return serving.modelled->expected_us(*serving.correction, problem, *device);
}

Sameness sameness_to(const Serving& serving, const Problem& problem) {
  if (serving.distance > 1) return Sameness::none;  // the sizes differ
  return sameness(serving.winner->record.problem, problem);
}

bool decides(const Serving& serving, const DeviceKey& device, const Problem& problem) {
  return sameness_to(serving, problem) != Sameness::none &&
         source_of(serving) == Source::measured &&
         serving.winner->record.device.sm_count == device.sm_count;
}

std::optional<NearWinners> winners_of_a_twin(const WinnerIndex& winners, const DeviceKey& device,
                                             const Problem& problem) {
  using Where = WinnerIndex::Where;
  constexpr WinnerIndex::Of kKernels = WinnerIndex::Of::kernels;
  const std::vector<Serving> there =
      winners.nearest(device, Where::on_a_twin, problem, 1, kKernels);
  if (there.empty() || !decides(there.front(), device, problem)) return std::nullopt;
  const DeviceKey& twin = there.front().winner->record.device;
  NearWinners near{winners.nearest(twin, Where::on_the_device, problem, kCompared, kKernels),
                   modelled_device(device)};
  draw_corrections(near.servings);
  return near;
}

NearWinners near_winners(const WinnerIndex& winners, const DeviceKey& device,
                         const Problem& problem, WinnerIndex::Of of) {
  NearWinners near{here_or_elsewhere(winners, device, problem, of),
                   device.name.empty() ? std::nullopt : modelled_device(device)};
  if (near.servings.empty() && !problem.epilogue.is_none()) {
    // Any kernel has any epilogue: where none was tuned with this one, those without any serve.
    Problem plain = problem;
    plain.epilogue = {};
    near.servings = here_or_elsewhere(winners, device, plain, WinnerIndex::Of::kernels);
  }
  draw_corrections(near.servings);
  return near;
}

namespace {

// The fastest of those of the front's source whose times are learned, or of the others: the nearest
// of them unless another is clearly faster. Without a time where there is none.
Expected fastest_of(const NearWinners& near, const Problem& problem, bool learned) {
  Expected best;
  double least = 0;
  for (std::size_t i = 0; i < near.servings.size(); ++i) {
    const Serving& serving = near.servings[i];
    if (source_of(serving) != source_of(near.servings.front()) || !serving.correction) continue;
    if (counts_as_learned(serving) != learned) continue;
    if (best.us) {
      const double least_us = serving.modelled->least().us(problem, *near.device);
      if (*serving.correction * least_us > least) continue;
    }
    const std::optional<double> expected = near.expected_us(i, problem);
    if (!expected || (best.us && *expected >= least)) continue;
    least = best.us ? *expected : kClearlyFaster * *expected;
    best = {i, expected};
  }
  return best;
}

}  // namespace

double most_beside(bool is_learned, double distance, bool of_learned) {
  if (is_learned || !of_learned) return kClearlyFaster;
  return std::min(kClearlyFaster, most_of_cublas(distance));
}

Expected fastest(const NearWinners& near, const Problem& problem) {
  const Expected nearest{0, near.expected_us(0, problem)};
  if (!nearest.us) return nearest;
  const Expected learned = fastest_of(near, problem, true);
  const Expected other = fastest_of(near, problem, false);
  if (!learned.us) return other;
  if (!other.us) return learned;
  const Serving& one = near.servings[other.index];
  const bool is_far = one.distance >= 2;
  if (!is_far && other.index < learned.index) {  // the nearer stays unless it is clearly slower
    return *learned.us < kClearlyFaster * *other.us ? learned : other;
  }
  // Its own time where it was tuned is no evidence of a specialisation far away: a winner of 1024
  // products of 64x64x64 took twice its expected time at 49x49x32.
  if (is_far && one.is_specialisation) return learned;
  return *other.us < most_beside(false, one.distance, true) * *learned.us ? other : learned;
}

std::optional<LibraryTime> time_of_library(const WinnerIndex& winners, const NearWinners& near,
                                           const DeviceKey& device, const Problem& problem) {
  constexpr int kNearest = 3;
  int counted = 0;
  const std::optional<DeviceSpec>& spec = near.device;
  const Winner* nearest = nullptr;
  double sum = 0, weights = 0;
  for (const Serving& serving : near.servings) {
    const Winner& tuned = *serving.winner;
    if (!tuned.cublas) continue;
    const double there_us = tuned.cublas->timing.median_us;
    const bool is_same = sameness_to(serving, problem) != Sameness::none;
    if (is_same && tuned.record.device == device) return LibraryTime{there_us, &tuned};
    if (nearest == nullptr) nearest = &tuned;
    if (!spec) return std::nullopt;
    const std::optional<double> attainable = winners.attainable_at(tuned);
    if (!attainable) continue;
    const double weight = weight_at(serving.distance);
    sum += weight * std::log(there_us / *attainable);
    weights += weight;
    if (++counted == kNearest || is_same) break;  // a nearer one there cannot be
  }
  if (weights == 0) return std::nullopt;
  const std::optional<double> here = attainable_us(problem, *spec);
  const std::optional<double> us = here ? if_a_time(*here * std::exp(sum / weights)) : std::nullopt;
  return us ? std::optional(LibraryTime{*us, nearest}) : std::nullopt;
}

}  // namespace gemm_tune

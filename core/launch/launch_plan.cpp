// SPDX-License-Identifier: Apache-2.0
#include "core/launch/launch_plan.h"

#include <algorithm>
#include <bitset>
#include <cstddef>

#include "core/error.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kWordBytes = 8, kPairBytes = 2 * kWordBytes;

template <class Size>
Size rounded_up(Size size, Size multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// Where a GemmCall has the value; nothing for those that it has not in this form.
std::optional<std::size_t> place_in_call(CallValue value) {
  static_assert(std::is_standard_layout_v<GemmCall>);
  const int of_epilogue = static_cast<int>(value) - static_cast<int>(CallValue::first_operand);
  if (of_epilogue >= 0 && of_epilogue < kMostOperands) {
    return offsetof(GemmCall, operands) + static_cast<std::size_t>(of_epilogue) * sizeof(void*);
  }
  switch (value) {
    case CallValue::A:
      return offsetof(GemmCall, A);
    case CallValue::B:
      return offsetof(GemmCall, B);
    case CallValue::C:
      return offsetof(GemmCall, C);
    case CallValue::D:
      return offsetof(GemmCall, D);
    case CallValue::lda:
      return offsetof(GemmCall, lda);
    case CallValue::ldb:
      return offsetof(GemmCall, ldb);
    case CallValue::ldc:
      return offsetof(GemmCall, ldc);
    case CallValue::stride_a:
      return offsetof(GemmCall, stride_a);
    case CallValue::stride_b:
      return offsetof(GemmCall, stride_b);
    case CallValue::stride_c:
      return offsetof(GemmCall, stride_c);
    case CallValue::kept_a:
      return offsetof(GemmCall, kept_a);
    case CallValue::kept_b:
      return offsetof(GemmCall, kept_b);
    case CallValue::first_operand:
    case CallValue::alpha_beta:
    case CallValue::first_region:
      break;
  }
  return std::nullopt;
}

int region_of(CallValue value) {
  return static_cast<int>(value) - static_cast<int>(CallValue::first_region);
}

// An address or a number of elements.
std::uint64_t word_of(CallValue value, const GemmCall& call, const RegionAddresses& regions) {
  std::uint64_t word = 0;
  if (const auto place = place_in_call(value)) {
    std::memcpy(&word, reinterpret_cast<const char*>(&call) + *place, sizeof word);
    return word;
  }
  return reinterpret_cast<std::uintptr_t>(regions.at(static_cast<std::size_t>(region_of(value))));
}

}  // namespace

void Arguments::add_bytes(const void* parameter, std::size_t bytes, std::size_t alignment,
                          const std::vector<Slot>& slots) {
  const std::size_t begin = begin_parameter(bytes, alignment);
  std::memcpy(block_.data() + begin, parameter, bytes);
  std::bitset<kMostArgumentBytes> is_of_call;
  for (const Slot& slot : slots) {
    if (slot.at + kWordBytes > bytes) throw Error("a slot beyond its parameter");
    add_move(slot.value, begin + slot.at);
    for (std::size_t i = 0; i < kWordBytes; ++i) is_of_call.set(begin + slot.at + i);
  }
  for (std::size_t i = begin; i < begin + bytes; ++i) {
    if (is_of_call[i]) continue;
    const std::size_t pair = i / kPairBytes * kPairBytes;
    constants_.push_back(static_cast<std::uint16_t>(pair));
    i = pair + kPairBytes - 1;  // the rest of it is written, too
  }
  block_.resize(rounded_up(block_.size(), kPairBytes));
}

void Arguments::add_tensor_map(TensorMapSlot slot) {
  slot.at = static_cast<std::uint16_t>(begin_parameter(kTensorMapBytes, kTensorMapAlignment));
  maps_.push_back(slot);
}

std::size_t Arguments::begin_parameter(std::size_t bytes, std::size_t alignment) {
  const std::size_t at = rounded_up(block_.size(), alignment);
  if (at + rounded_up(bytes, kPairBytes) > kMostArgumentBytes ||
      parameters_.size() == kMostParameters) {
    throw Error("a kernel with more parameters than a launch plan holds");
  }
  block_.resize(at + bytes);
  parameters_.push_back(static_cast<std::uint16_t>(at));
  return at;
}

void Arguments::add_move(CallValue value, std::size_t at) {
  const auto move = [at](std::size_t from) {
    return Move{static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(at)};
  };
  if (value == CallValue::alpha_beta) return scales_.push_back(move(0));
  const std::optional<std::size_t> from = place_in_call(value);
  if (!from) return regions_.push_back(move(static_cast<std::size_t>(region_of(value))));
  if (!words_.empty()) {
    const Move last = words_.back();
    if (last.from + kWordBytes == *from && last.at + kWordBytes == at) {
      words_.pop_back();
      pairs_.push_back(last);
      return;
    }
  }
  words_.push_back(move(*from));
}

CallValue LaunchPlan::add_region(std::int64_t bytes, std::int64_t alignment) {
  if (regions.size() == kMostRegions) throw Error("a launch plan with too many regions");
  const bool is_zeroed = workspace_bytes < zeroed_bytes;
  const std::int64_t first =
      is_zeroed ? workspace_bytes : std::max<std::int64_t>(workspace_bytes, kWorkspaceCounterBytes);
  const std::int64_t offset = rounded_up(first, alignment);
  regions.push_back({offset, bytes});
  workspace_bytes = offset + bytes;
  return region(static_cast<int>(regions.size()) - 1);
}

const Step& LaunchPlan::product() const {
  for (const Step& step : steps) {
    if (step.entry == kProductEntry) return step;
  }
  throw Error("a launch plan without a product");
}

LaunchPlan LaunchPlan::without_overlap_before() const {
  LaunchPlan plan = *this;
  if (!plan.steps.empty()) plan.steps.front().overlaps = false;
  return plan;
}

std::int64_t LaunchPlan::workspace_bytes_of(const GemmCall& call) const {
  std::int64_t bytes = workspace_bytes;
  for (auto last = regions.rbegin(); last != regions.rend(); ++last) {
    if (last->kept_by(call) == nullptr) break;
    bytes = last->offset;
  }
  return bytes;
}

std::optional<LaunchPlan> LaunchPlan::that_makes(CallValue operand) const {
  const Copies copy = operand == CallValue::A ? Copies::of_a : Copies::of_b;
  LaunchPlan alone;
  const bool may_be_kept = std::any_of(regions.begin(), regions.end(), [&](const auto& region) {
    return region.may_be_kept && region.copy_of == operand;
  });
  for (const Step& step : steps) {
    if (step.makes != copy) continue;
    alone.steps = {step};
    alone.steps.front().makes = Copies::none;
  }
  if (alone.steps.empty() || !may_be_kept) return std::nullopt;
  alone.regions = regions;
  alone.zeroed_bytes = zeroed_bytes;
  for (const WorkspaceRegion& region : regions) {
    if (region.may_be_kept && region.copy_of == operand) alone.workspace_bytes = region.bytes;
  }
  for (WorkspaceRegion& region : alone.regions) {
    const bool is_zeroed = region.offset < zeroed_bytes;
    region.offset = is_zeroed ? alone.workspace_bytes + region.offset : 0;
  }
  alone.workspace_bytes += zeroed_bytes;
  return alone;
}

BoundTensorMap bound(const TensorMapSlot& slot, const GemmCall& call,
                     const RegionAddresses& regions) {
  BoundTensorMap map = slot.map;
  map.address = word_of(slot.address, call, regions);
  if (map.address == 0) return {};
  for (std::size_t i = 0; i < slot.strides.size(); ++i) {
    const auto [value, bytes] = slot.strides[i];
    if (bytes == 0) continue;
    map.stride_bytes[i] = static_cast<std::int64_t>(word_of(value, call, regions)) * bytes;
  }
  return map;
}

}  // namespace gemm_tune

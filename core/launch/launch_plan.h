// SPDX-License-Identifier: Apache-2.0
// What a kernel family answers for a config, a problem and a device: the launches of a call, one
// after the other, and the scratch memory that they share.
//
// A step's arguments lie in one block of bytes, as its kernel takes them. What the problem decides
// is written there when the plan is made. What a call brings (addresses, leading dimensions, alpha)
// has slots, which are patched for each call: run_plan() does it for everybody who launches, be it
// on a GPU or in the emulator. Values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/launch/launch_arithmetic.h"
#include "core/problem/gemm_call.h"

namespace gemm_tune {

// The values of a call, 64 bits each. Those that a GemmCall has lie there side by side, so that two
// of them often take one move.
enum class CallValue : std::uint8_t {
  A,  // addresses
  B,
  C,
  D,
  first_operand,  // the address of the epilogue's first operand; operand() names the others
  lda = first_operand + kMostOperands,  // in elements
  ldb,
  ldc,
  stride_a,
  stride_b,
  stride_c,
  kept_a,  // addresses, null where the call has no such copy
  kept_b,
  alpha_beta,    // two floats, one after the other
  first_region,  // the address of the first of LaunchPlan::regions; region() names the others
};

inline constexpr int kMostRegions = 4;

// The address of LaunchPlan::regions[index].
constexpr CallValue region(int index) {
  return static_cast<CallValue>(static_cast<int>(CallValue::first_region) + index);
}

// The address of GemmCall::operands[index].
constexpr CallValue operand(int index) {
  return static_cast<CallValue>(static_cast<int>(CallValue::first_operand) + index);
}

// The call's value goes to 8 bytes of a parameter.
struct Slot {
  CallValue value;
  std::size_t at;
};

// How shared memory's 16-byte chunks are exchanged within this many bytes.
enum class Swizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };

// What of an element matters to copies: its size; tf32: fp32 elements are rounded to tf32.
enum class TensorElement : std::uint8_t { bits_8, bits_16, bits_32, tf32 };

// Bytes that a miss brings into the L2.
enum class L2Promotion : std::uint8_t { none, bytes_64, bytes_128, bytes_256 };

inline constexpr int kMostTensorDims = 5;

// A tensor as TMA copies know it, for the addresses and strides of one call. Elements outside of
// it read as zero. All zero bytes where the address is null. The emulator's kernels get this struct
// where a GPU's get a CUtensorMap.
struct BoundTensorMap {
  std::uint64_t address;
  std::array<std::int64_t, kMostTensorDims> size;              // in elements, the innermost first
  std::array<std::int64_t, kMostTensorDims - 1> stride_bytes;  // of all but the innermost
  std::array<std::int32_t, kMostTensorDims> box;               // in elements
  std::uint8_t dims;
  TensorElement element;
  Swizzle swizzle;
  L2Promotion promotion;
};

// Of a CUtensorMap, which kernels take as `const __grid_constant__ CUtensorMap`.
inline constexpr std::size_t kTensorMapBytes = 128, kTensorMapAlignment = 128;
static_assert(sizeof(BoundTensorMap) <= kTensorMapBytes &&
              std::has_unique_object_representations_v<BoundTensorMap>);

// A tensor map among a step's arguments: a BoundTensorMap but for what a call brings.
struct TensorMapSlot {
  CallValue address;
  std::uint16_t at;  // a multiple of kTensorMapAlignment
  BoundTensorMap map;
  // Of each stride: the value of the call that it is a multiple of, and the bytes that are
  // multiplied, which are an element's. Where these are 0, map.stride_bytes stays.
  struct Stride {
    CallValue value = CallValue::lda;
    std::int32_t bytes = 0;
  };
  std::array<Stride, kMostTensorDims - 1> strides = {};
};

using RegionAddresses = std::array<void*, kMostRegions>;

inline constexpr std::size_t kMostArgumentBytes = 1024;
inline constexpr std::size_t kMostParameters = 16;

// The parameters of a kernel, laid out in a block.
class Arguments {
 public:
  // The next parameter: these bytes, with the call's values at offsets in it.
  template <class T>
  void add(const T& parameter, const std::vector<Slot>& slots = {}) {
    static_assert(std::is_trivially_copyable_v<T>);
    add_bytes(&parameter, sizeof parameter, alignof(T), slots);
  }

  // The next parameter: a tensor map. Its `at` is set here.
  void add_tensor_map(TensorMapSlot slot);

  std::size_t bytes() const { return block_.size(); }
  const std::vector<std::uint16_t>& parameters() const { return parameters_; }  // where each begins
  const std::vector<TensorMapSlot>& tensor_maps() const { return maps_; }

  // Writes the block for a call, but for the tensor maps.
  void write(std::byte* block, const GemmCall& call, const std::array<float, 2>& scales,
             const RegionAddresses& regions) const {
    const auto move = [block](std::size_t to, const void* from, auto bytes) {
      std::memcpy(block + to, from, bytes);
    };
    using Word = std::integral_constant<std::size_t, 8>;
    using Pair = std::integral_constant<std::size_t, 16>;
    const char* const of_call = reinterpret_cast<const char*>(&call);
    for (const std::uint16_t at : constants_) move(at, block_.data() + at, Pair());
    for (const Move& pair : pairs_) move(pair.at, of_call + pair.from, Pair());
    for (const Move& word : words_) move(word.at, of_call + word.from, Word());
    for (const Move& region : regions_) move(region.at, &regions[region.from], Word());
    for (const Move& both : scales_) move(both.at, scales.data(), Word());
  }

 private:
  // From a place in the call, or from a region.
  struct Move {
    std::uint16_t from, at;
  };

  void add_bytes(const void* parameter, std::size_t bytes, std::size_t alignment,
                 const std::vector<Slot>& slots);
  // Throws Error where the kernel has too many parameters.
  std::size_t begin_parameter(std::size_t bytes, std::size_t alignment);
  void add_move(CallValue value, std::size_t at);

  std::vector<std::byte> block_;
  std::vector<std::uint16_t> constants_;  // where 16 bytes begin that no call writes as a whole
  std::vector<std::uint16_t> parameters_;
  std::vector<Move> pairs_, words_;  // 16 and 8 bytes of the call
  std::vector<Move> regions_, scales_;
  std::vector<TensorMapSlot> maps_;
};

// The kernel that multiplies, of whatever family: its resources are the config's.
inline constexpr const char* kProductEntry = "gemm";

// CTAs that run at the same time, as the kernel was compiled.
struct ClusterShape {
  int x = 1, y = 1, z = 1;

  constexpr int ctas() const { return x * y * z; }
};

// Copies of operands, by the operands.
enum class Copies : std::uint8_t { none = 0, of_a = 1, of_b = 2, of_both = 3 };

// Those that the call does not keep from an earlier launch.
inline Copies lacking(const GemmCall& call) {
  return static_cast<Copies>((call.kept_a == nullptr ? 1 : 0) | (call.kept_b == nullptr ? 2 : 0));
}

// One launch.
struct Step {
  std::string entry = kProductEntry;  // an extern "C" kernel of the family's program
  Grid grid;                          // without piece_k
  int threads = 0;                    // of a CTA, one-dimensional
  int smem_bytes = 0;                 // dynamic shared memory of a CTA
  ClusterShape cluster;
  Arguments arguments;
  bool only_with_operands = false;  // left out where alpha is 0 and A and B are not read
  // Of copies that may be kept, those that the step makes: a call launches the one that makes
  // exactly those that it lacks. none: a step of every call.
  Copies makes = Copies::none;
  // May begin before the launch before it in the stream has ended, on SMs that this one leaves
  // (programmatic dependent launch): the kernel itself waits, by griddepcontrol, before it reads or
  // writes global memory.
  bool overlaps = false;
};

// Bytes of the workspace that have one use.
struct WorkspaceRegion {
  std::int64_t offset = 0, bytes = 0;
  std::optional<CallValue> copy_of = {};  // the operand that an earlier step copies there
  // The copy may outlive the call and serve others. Its bytes follow from the operand, its rows or
  // columns, K, the batch and the accuracy class alone, not from the layout, the config or the
  // family: every family of a class makes the same.
  bool may_be_kept = false;

  // The copy that the call keeps in its place, or null.
  const void* kept_by(const GemmCall& call) const {
    if (!may_be_kept) return nullptr;
    return *copy_of == CallValue::A ? call.kept_a : call.kept_b;
  }
};

struct LaunchPlan {
  std::vector<Step> steps;  // one after the other in a stream
  std::vector<WorkspaceRegion> regions;
  // Calls that may overlap need a workspace each.
  std::int64_t workspace_bytes = 0;
  // Of these, so many at the beginning are zero before each call and after it; at most
  // kWorkspaceCounterBytes.
  std::int64_t zeroed_bytes = 0;

  // Adds a region behind the last one, at a multiple of so many bytes: of the zeroed bytes while
  // these suffice, else behind kWorkspaceCounterBytes. There the counters of other plans lie, which
  // have the workspace in turn with this one and find them as they left them.
  CallValue add_region(std::int64_t bytes, std::int64_t alignment = 1);

  // The step of kProductEntry. Precondition: there is one.
  const Step& product() const;

  // The same plan, but the first step waits until all earlier work has ended: for times beside
  // kernels that do not overlap with what is before them.
  LaunchPlan without_overlap_before() const;

  // Of workspace_bytes, those that the call needs: copies that it keeps lie elsewhere.
  std::int64_t workspace_bytes_of(const GemmCall& call) const;

  // The plan that makes the copy of A or B alone, to be kept: the copy lies at the beginning of its
  // workspace, and behind it what is zeroed, which the launch need not leave zero and calls with
  // the copy read. Nothing where no copy of the operand may be kept.
  std::optional<LaunchPlan> that_makes(CallValue operand) const;
};

// The map for a call. regions: as in run_plan().
BoundTensorMap bound(const TensorMapSlot& slot, const GemmCall& call,
                     const RegionAddresses& regions);

// Calls launch(index, step, parameters) for each step that the call needs. region_at(i): the
// address of the plan's i-th region, unless the call keeps its copy. encode(map, index, i, to):
// writes kTensorMapBytes for the i-th tensor map of the step of this index.
template <class RegionAt, class Encode, class Launch>
void run_plan(const LaunchPlan& plan, const GemmCall& call, const RegionAt& region_at,
              const Encode& encode, const Launch& launch) {
  RegionAddresses regions;  // as many as there are
  for (std::size_t i = 0; i < plan.regions.size(); ++i) {
    const void* const kept = plan.regions[i].kept_by(call);
    regions[i] = kept == nullptr ? region_at(i) : const_cast<void*>(kept);  // it is not written
  }
  const std::array<float, 2> scales = {static_cast<float>(call.alpha),
                                       static_cast<float>(call.beta)};
  alignas(kTensorMapAlignment) std::byte block[kMostArgumentBytes];
  void* parameters[kMostParameters];
  std::size_t index = 0;
  for (const Step& step : plan.steps) {
    const std::size_t this_index = index++;
    if (step.only_with_operands && call.alpha == 0) continue;
    if (step.makes != Copies::none && step.makes != lacking(call)) continue;
    const Arguments& arguments = step.arguments;
    arguments.write(block, call, scales, regions);
    for (std::size_t i = 0; i < arguments.tensor_maps().size(); ++i) {
      const TensorMapSlot& slot = arguments.tensor_maps()[i];
      encode(bound(slot, call, regions), this_index, i, block + slot.at);
    }
    for (std::size_t i = arguments.parameters().size(); i-- > 0;) {
      parameters[i] = block + arguments.parameters()[i];
    }
    launch(this_index, step, parameters);
  }
}

}  // namespace gemm_tune

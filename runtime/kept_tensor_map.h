// SPDX-License-Identifier: Apache-2.0
// The last tensor map of a prepared call's argument, so that a call with the addresses of the one
// before does not encode it again. Any thread; nobody waits.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "core/launch/launch_plan.h"

namespace gemm_tune {

class KeptTensorMap {
 public:
  // Writes kTensorMapBytes to `to`. encode: makes them (encode_tensor_map()).
  void get(const BoundTensorMap& map, void* to, void (*encode)(const BoundTensorMap&, void*));

 private:
  template <std::size_t Words>
  using Shared = std::array<std::atomic<std::uint64_t>, Words>;

  bool load(const BoundTensorMap& map, void* to) const;
  void store(const BoundTensorMap& map, const void* encoded);

  // 0: nothing kept; odd: a thread writes.
  std::atomic<std::uint32_t> version_ = 0;
  Shared<sizeof(BoundTensorMap) / 8> map_ = {};
  Shared<kTensorMapBytes / 8> encoded_ = {};
};

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "runtime/kept_tensor_map.h"

#include <cstring>

namespace gemm_tune {
namespace {

template <class Shared>
using Words = std::array<std::uint64_t, std::tuple_size_v<Shared>>;

// Every load acquires and every store releases, so that who sees a new word also sees that the
// version has changed.
template <class Shared>
Words<Shared> read(const Shared& from) {
  Words<Shared> words;
  for (std::size_t i = 0; i < from.size(); ++i) words[i] = from[i].load(std::memory_order_acquire);
  return words;
}

template <class Shared>
void write(Shared& to, const void* from) {
  Words<Shared> words;
  std::memcpy(words.data(), from, sizeof words);
  for (std::size_t i = 0; i < to.size(); ++i) to[i].store(words[i], std::memory_order_release);
}

}  // namespace

void KeptTensorMap::get(const BoundTensorMap& map, void* to,
                        void (*encode)(const BoundTensorMap&, void*)) {
  if (load(map, to)) return;
  encode(map, to);
  store(map, to);
}

bool KeptTensorMap::load(const BoundTensorMap& map, void* to) const {
  const std::uint32_t version = version_.load(std::memory_order_acquire);
  if (version == 0 || version % 2 != 0) return false;
  const auto kept = read(map_);
  if (std::memcmp(kept.data(), &map, sizeof map) != 0) return false;
  const auto encoded = read(encoded_);
  if (version_.load(std::memory_order_acquire) != version) return false;
  std::memcpy(to, encoded.data(), sizeof encoded);
  return true;
}

void KeptTensorMap::store(const BoundTensorMap& map, const void* encoded) {
  std::uint32_t version = version_.load(std::memory_order_relaxed);
  if (version % 2 != 0) return;  // another thread keeps its own
  if (!version_.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) return;
  write(map_, &map);
  write(encoded_, encoded);
  version_.store(version + 2, std::memory_order_release);
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "runtime/kept_tensor_map.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace gemm_tune {
namespace {

std::atomic<int> encoded = 0;

// Every byte tells the address.
void encode(const BoundTensorMap& map, void* to) {
  ++encoded;
  std::memset(to, static_cast<int>(map.address), kTensorMapBytes);
}

BoundTensorMap map_at(std::uint64_t address) {
  BoundTensorMap map{};
  map.address = address;
  return map;
}

// The address that all bytes of the map tell, or 0.
int told(KeptTensorMap& kept, const BoundTensorMap& map) {
  unsigned char bytes[kTensorMapBytes];
  kept.get(map, bytes, encode);
  for (const unsigned char byte : bytes) {
    if (byte != bytes[0]) return 0;
  }
  return bytes[0];
}

TEST(KeptTensorMap, EncodesOnlyWhatDiffersFromTheOneBefore) {
  KeptTensorMap kept;
  encoded = 0;
  EXPECT_EQ(told(kept, map_at(7)), 7);
  EXPECT_EQ(told(kept, map_at(7)), 7);
  EXPECT_EQ(encoded, 1);
  EXPECT_EQ(told(kept, map_at(8)), 8);
  BoundTensorMap wider = map_at(8);
  wider.stride_bytes[0] = 16;
  EXPECT_EQ(told(kept, wider), 8);
  EXPECT_EQ(encoded, 3);
}

TEST(KeptTensorMap, GivesNoThreadAnothersMap) {
  KeptTensorMap kept;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int address = 1; address <= 4; ++address) {
    threads.emplace_back([&, address] {
      for (int i = 0; i < 20000; ++i) {
        const int asked = i % 16 == 0 ? 5 : address;
        if (told(kept, map_at(static_cast<std::uint64_t>(asked))) != asked) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace gemm_tune

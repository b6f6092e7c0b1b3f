// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/tensor_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

#include "tests/emulator/device/emulator.h"
#include "tests/emulator/device/under_way.h"

namespace gemm_tune::emulator {
namespace {

constexpr int kChunk = 16;  // bytes
constexpr int kDims = 3;
constexpr int kLongestBox = 256;
constexpr unsigned kBoxAlignment = 128;  // of a box in shared memory

int bytes_of(TensorElement element) {
  switch (element) {
    case TensorElement::bits_8:
      return 1;
    case TensorElement::bits_16:
      return 2;
    case TensorElement::bits_32:
      return 4;
    case TensorElement::tf32:
      break;
  }
  throw ExecutionError("copies a box of a tensor of tf32, which the emulator does not know");
}

int swizzle_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 0 : 16 << static_cast<int>(swizzle);
}

std::size_t row_bytes(const BoundTensorMap& map) {
  return static_cast<std::size_t>(map.box[0]) * static_cast<std::size_t>(bytes_of(map.element));
}

void check(const BoundTensorMap& map, unsigned address) {
  const auto fail = [](const char* what) {
    throw ExecutionError(std::string("copies a box of a tensor ") + what);
  };
  if (map.dims != kDims) fail("that has not three dimensions");
  if (map.address == 0) fail("whose address is null");
  if (map.address % kChunk != 0) fail("whose address is no multiple of 16 bytes");
  for (std::size_t i = 0; i < kDims; ++i) {
    if (map.box[i] < 1 || map.box[i] > kLongestBox) fail("with an extent beyond 1 to 256");
    if (i > 0 && map.stride_bytes[i - 1] % kChunk != 0) {
      fail("whose strides are no multiples of 16 bytes");
    }
  }
  const std::size_t row = row_bytes(map);
  if (row % kChunk != 0) fail("whose rows are no multiples of 16 bytes");
  const auto swizzle = static_cast<std::size_t>(swizzle_bytes(map.swizzle));
  if (swizzle != 0 && row != swizzle) fail("whose rows do not fill its swizzle");
  if (address % kBoxAlignment != 0) {
    fail("where shared memory's address is no multiple of 128 bytes");
  }
}

bool is_inside(std::int64_t at, std::int64_t size) { return at >= 0 && at < size; }

// Calls visit(offset in the image, address in global memory, elements of it that lie inside) for
// each chunk; of chunks outside the address is null.
template <class Visit>
void for_each_chunk(const BoundTensorMap& map, const BoxPlace& place, unsigned address,
                    Visit visit) {
  const int size = bytes_of(map.element), in_chunk = kChunk / size;
  unsigned offset = 0;
  for (int z = 0; z < map.box[2]; ++z) {
    for (int y = 0; y < map.box[1]; ++y) {
      const std::int64_t row = place[1] + y, matrix = place[2] + z;
      const bool exists = is_inside(row, map.size[1]) && is_inside(matrix, map.size[2]);
      for (int x = 0; x < map.box[0]; x += in_chunk, offset += kChunk) {
        const std::int64_t col = place[0] + x;
        const unsigned at = swizzled(map.swizzle, address + offset) - address;
        char* global = nullptr;
        std::int64_t inside = 0;
        if (exists && is_inside(col, map.size[0])) {
          global = reinterpret_cast<char*>(map.address) + matrix * map.stride_bytes[1] +
                   row * map.stride_bytes[0] + col * size;
          inside = std::min<std::int64_t>(in_chunk, map.size[0] - col);
        }
        visit(at, global, static_cast<std::size_t>(inside * size));
      }
    }
  }
}

void check_first(const BoundTensorMap& map, const BoxPlace& place) {
  if (place[0] * bytes_of(map.element) % kChunk != 0) {
    throw ExecutionError("copies a box whose rows begin inside of a chunk of 16 bytes");
  }
}

}  // namespace

unsigned swizzled(Swizzle swizzle, unsigned address) {
  if (swizzle == Swizzle::none) return address;
  const auto chunks = static_cast<unsigned>(swizzle_bytes(swizzle) / kChunk);
  return address ^ ((address >> 7 & (chunks - 1)) << 4);
}

std::size_t box_bytes(const BoundTensorMap& map) {
  return row_bytes(map) * static_cast<std::size_t>(map.box[1]) *
         static_cast<std::size_t>(map.box[2]);
}

std::vector<char> load_box(const BoundTensorMap& map, const BoxPlace& from, unsigned address) {
  check(map, address);
  check_first(map, from);
  std::vector<char> image(box_bytes(map));
  for_each_chunk(map, from, address, [&](unsigned at, const char* global, std::size_t bytes) {
    if (global != nullptr) std::memcpy(image.data() + at, global, bytes);
  });
  return image;
}

void store_box(const BoundTensorMap& map, const BoxPlace& to, unsigned address,
               const std::vector<char>& image) {
  for_each_chunk(map, to, address, [&](unsigned at, char* global, std::size_t) {
    if (global != nullptr) std::memcpy(global, image.data() + at, kChunk);
  });
}

void Transfers::begin(char* to, std::vector<char> image, Mbarrier& barrier) {
  for (std::size_t i = 0; i < image.size(); i += sizeof(kUnderWay)) {
    std::memcpy(to + i, &kUnderWay, sizeof(kUnderWay));
  }
  transfers_.push_back({to, std::move(image), &barrier});
}

bool Transfers::deliver(Mbarrier& barrier, std::size_t first) {
  std::vector<Transfer> of_barrier;
  std::erase_if(transfers_, [&](Transfer& transfer) {
    if (transfer.barrier != &barrier) return false;
    of_barrier.push_back(std::move(transfer));
    return true;
  });
  if (of_barrier.empty()) return false;
  std::rotate(of_barrier.begin(),
              of_barrier.begin() + static_cast<std::ptrdiff_t>(first % of_barrier.size()),
              of_barrier.end());
  const int phase = barrier.phase();
  auto next = of_barrier.begin();
  for (; next != of_barrier.end() && barrier.phase() == phase; ++next) {
    for (std::size_t i = 0; i < next->image.size(); i += sizeof(kUnderWay)) {
      if (std::memcmp(next->to + i, &kUnderWay, sizeof(kUnderWay)) != 0) {
        throw ExecutionError("is under way where something was written");
      }
    }
    std::copy(next->image.begin(), next->image.end(), next->to);
    barrier.deliver(static_cast<int>(next->image.size()));
  }
  std::move(next, of_barrier.end(), std::back_inserter(transfers_));
  return true;
}

std::size_t Transfers::bytes_to(const char* begin, const char* end) const {
  std::size_t bytes = 0;
  for (const Transfer& transfer : transfers_) {
    if (transfer.to >= begin && transfer.to < end) bytes += transfer.image.size();
  }
  return bytes;
}

void BoxStores::issue(const BoundTensorMap& map, const BoxPlace& to, unsigned address,
                      const char* from) {
  check(map, address);
  check_first(map, to);
  open_.push_back({map, {to[0], to[1], to[2]}, address, from, {from, from + box_bytes(map)}});
}

void BoxStores::commit() {
  std::move(open_.begin(), open_.end(), std::back_inserter(committed_));
  open_.clear();
}

void BoxStores::wait() {
  for (const Store& store : committed_) {
    if (!std::equal(store.image.begin(), store.image.end(), store.from)) {
      throw ExecutionError("waits for the store of a box that was written meanwhile");
    }
    store_box(store.map, store.to, store.address, store.image);
  }
  committed_.clear();
}

void BoxStores::end() const {
  if (!open_.empty()) throw ExecutionError("ends with stores of boxes that it did not commit");
  if (!committed_.empty()) throw ExecutionError("ends without waiting for its stores of boxes");
}

}  // namespace gemm_tune::emulator

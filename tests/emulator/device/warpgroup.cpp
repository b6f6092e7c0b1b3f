// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/warpgroup.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "tests/emulator/device/emulator.h"
#include "tests/emulator/device/tensor_copy.h"
#include "tests/emulator/device/under_way.h"

namespace gemm_tune::emulator {
namespace {

constexpr int kRows = 64;
constexpr unsigned kChunkBytes = 16, kDepthBytes = 32;

bool same(const Product& one, const Product& other) {
  return one.format == other.format && one.columns == other.columns &&
         one.left_is_mn == other.left_is_mn && one.right_is_mn == other.right_is_mn &&
         one.adds == other.adds && one.left == other.left && one.right == other.right;
}

// A field of a descriptor that holds an address or a distance, in bytes.
unsigned bytes_at(std::uint64_t descriptor, int bit) {
  return static_cast<unsigned>(descriptor >> bit & 0x3fff) << 4;
}

struct Descriptor {
  explicit Descriptor(std::uint64_t bits)
      : start(bytes_at(bits, 0)), leading(bytes_at(bits, 16)), stride(bytes_at(bits, 32)) {
    constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::bytes_128, Swizzle::bytes_64,
                                     Swizzle::bytes_32};
    swizzle = kSwizzles[bits >> 62];
    if (swizzle == Swizzle::none) {
      throw ExecutionError(
          "multiplies a matrix without a swizzle, which the emulator does not know");
    }
    if ((bits >> 49 & 7) != 0) {
      throw ExecutionError(
          "multiplies a matrix with a base offset, which the emulator does not know");
    }
    row_bytes = 16u << static_cast<int>(swizzle);
  }

  unsigned start, leading, stride;
  Swizzle swizzle;
  unsigned row_bytes;  // of a pattern
};

}  // namespace

void ProductQueue::issue(const Product& product, float* sums) {
  if (!is_fenced_) throw ExecutionError("multiplies without a fence before it");
  const auto count = static_cast<std::size_t>(product.columns / 2);
  auto known = std::find_if(in_flight_.begin(), in_flight_.end(),
                            [&](const Sums& each) { return each.at == sums; });
  if (known == in_flight_.end()) known = in_flight_.insert(known, {sums, {}});
  if (known->products == 0) {
    known->values.assign(sums, sums + count);
    std::fill_n(sums, count, std::bit_cast<float>(kUnderWay));
  }
  if (known->values.size() != count) throw ExecutionError("multiplies into other sums' registers");
  ++known->products;
  open_.push_back({product, static_cast<std::size_t>(known - in_flight_.begin())});
}

void ProductQueue::commit() {
  groups_.push_back(std::move(open_));
  open_.clear();
}

void ProductQueue::end() const {
  if (!open_.empty()) throw ExecutionError("ends with products that it did not commit");
  const auto is_empty = [](const auto& group) { return group.empty(); };
  if (!std::all_of(groups_.begin(), groups_.end(), is_empty)) {
    throw ExecutionError("ends without waiting for its products");
  }
}

void ProductQueue::check_sums() const {
  for (const Sums& sums : in_flight_) {
    if (sums.products == 0) continue;
    for (std::size_t i = 0; i < sums.values.size(); ++i) {
      if (std::memcmp(sums.at + i, &kUnderWay, sizeof kUnderWay) != 0) {
        throw ExecutionError("writes sums whose products are under way");
      }
    }
  }
}

void WarpgroupProducts::wait(std::span<ProductQueue* const> queues, int groups_left,
                             const TensorCore& core, const ReadChunk& read) {
  const ProductQueue& first = *queues[0];
  for (const ProductQueue* queue : queues) {
    queue->check_sums();
    bool agrees = queue->groups_.size() == first.groups_.size();
    for (std::size_t group = 0; agrees && group < first.groups_.size(); ++group) {
      agrees = std::equal(queue->groups_[group].begin(), queue->groups_[group].end(),
                          first.groups_[group].begin(), first.groups_[group].end(),
                          [](const auto& one, const auto& other) {
                            return one.sums == other.sums && same(one.product, other.product);
                          });
    }
    if (!agrees) throw ExecutionError("waits for other products than its warpgroup's first thread");
  }
  while (first.groups_.size() > static_cast<std::size_t>(groups_left)) {
    for (std::size_t i = 0; i < first.groups_.front().size(); ++i) multiply(queues, i, core, read);
    for (ProductQueue* queue : queues) queue->groups_.pop_front();
  }
  for (ProductQueue* queue : queues) {
    const auto ended = [](const auto& sums) { return sums.products == 0; };
    if (std::all_of(queue->in_flight_.begin(), queue->in_flight_.end(), ended)) {
      queue->in_flight_.clear();
      queue->is_fenced_ = false;
    }
  }
}

// Of the oldest group.
void WarpgroupProducts::multiply(std::span<ProductQueue* const> queues, std::size_t issued,
                                 const TensorCore& core, const ReadChunk& read) {
  const Product& product = queues[0]->groups_.front()[issued].product;
  const auto columns = static_cast<std::size_t>(product.columns);
  read_operand(product.left, product.format, product.left_is_mn, kRows, read, left_);
  read_operand(product.right, product.format, product.right_is_mn, product.columns, read, right_);
  sums_.assign(kRows * columns, 0.0f);
  // Calls move(the thread's sum, its place in sums_). A thread has of each 8 columns elements
  // 2 (t % 4) and the next one of rows 16 (t / 32) + t % 32 / 4 and that row + 8.
  const auto for_each_sum = [&](auto move) {
    for (std::size_t t = 0; t < queues.size(); ++t) {
      auto& sums = queues[t]->in_flight_[queues[t]->groups_.front()[issued].sums];
      const std::size_t row = t / 32 * 16 + t % 32 / 4, col = t % 4 * 2;
      for (std::size_t i = 0; i < sums.values.size(); ++i) {
        move(sums.values[i], sums_[(row + i / 2 % 2 * 8) * columns + i / 4 * 8 + col + i % 2]);
      }
    }
  };
  if (product.adds) for_each_sum([](float& own, float& sum) { sum = own; });
  multiply_add(core, product.format, left_, right_, sums_);
  for_each_sum([](float& own, float& sum) { own = sum; });
  for (ProductQueue* queue : queues) {
    auto& sums = queue->in_flight_[queue->groups_.front()[issued].sums];
    if (--sums.products == 0) std::copy(sums.values.begin(), sums.values.end(), sums.at);
  }
}

// The operand's lines, rows of left or columns of right, an instruction's k of each.
void WarpgroupProducts::read_operand(std::uint64_t bits, const OperandFormat& format, bool is_mn,
                                     int lines, const ReadChunk& read,
                                     std::vector<std::uint32_t>& operand) {
  const Descriptor descriptor(bits);
  const auto bytes = static_cast<unsigned>(format.bytes), in_chunk = kChunkBytes / bytes;
  const auto depth = static_cast<unsigned>(format.depth()), count = static_cast<unsigned>(lines);
  operand.resize(static_cast<std::size_t>(count) * depth);
  // The elements of the chunk at an address.
  const auto for_each_of = [&](unsigned address, auto take) {
    const char* const chunk = read(swizzled(descriptor.swizzle, address));
    for (unsigned i = 0; i < in_chunk; ++i) {
      std::uint32_t element = 0;
      std::memcpy(&element, chunk + i * bytes, bytes);
      take(i, element);
    }
  };
  const unsigned row_bytes = descriptor.row_bytes;
  if (!is_mn) {
    for (unsigned line = 0; line < count; ++line) {
      for (unsigned at = 0; at < kDepthBytes; at += kChunkBytes) {
        for_each_of(
            descriptor.start + line / 8 * descriptor.stride + line % 8 * row_bytes + at,
            [&](unsigned i, std::uint32_t x) { operand[line * depth + at / bytes + i] = x; });
      }
    }
    return;
  }
  if (bytes != 2) throw ExecutionError("multiplies elements across K that are not of 16 bits");
  const unsigned in_row = row_bytes / bytes;
  for (unsigned k = 0; k < depth; ++k) {
    for (unsigned line = 0; line < count; line += in_chunk) {
      for_each_of(descriptor.start + line / in_row * descriptor.leading + line % in_row * bytes +
                      k / 8 * descriptor.stride + k % 8 * row_bytes,
                  [&](unsigned i, std::uint32_t x) { operand[(line + i) * depth + k] = x; });
    }
  }
}

}  // namespace gemm_tune::emulator

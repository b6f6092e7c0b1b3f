// SPDX-License-Identifier: Apache-2.0
// wgmma: what the 128 threads of a warpgroup multiply, as late as their waits allow.
//
// A thread's sums are NaN from the first product on until it has waited for the last one; shared
// memory is read only then. The products are rounded as the tensor core rounds mma.sync: nobody has
// published a difference. They throw ExecutionError without the name of the thread. PTX ISA 9.0,
// section "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions". Use from one
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "tests/emulator/device/tensor_core.h"

namespace gemm_tune::emulator {

inline constexpr int kWarpgroup = 128;

// An instruction: sums[64, columns] += left[64, k] * right[columns, k]^T, k of format.depth(), or =
// where it does not add. left, right: matrix descriptors; is_mn: an operand's elements of one k are
// neighbours, of 16 bits only.
struct Product {
  OperandFormat format;
  int columns = 8;
  bool left_is_mn = false, right_is_mn = false, adds = true;
  std::uint64_t left = 0, right = 0;
};

// A thread's part of the instructions of its warpgroup.
class ProductQueue {
 public:
  // The thread's registers may be used by the products that follow.
  void fence() { is_fenced_ = true; }

  // sums: columns / 2 of them.
  void issue(const Product& product, float* sums);
  void commit();

  // The thread ends: throws where a product was not committed or not waited for.
  void end() const;

 private:
  friend class WarpgroupProducts;

  struct Issued {
    Product product;
    std::size_t sums;  // which of in_flight_
  };
  // Sums that products under way use; `values` are what they hold in truth.
  struct Sums {
    float* at;
    std::vector<float> values;
    int products = 0;
  };

  void check_sums() const;

  bool is_fenced_ = false;
  std::vector<Issued> open_;
  std::deque<std::vector<Issued>> groups_;
  std::vector<Sums> in_flight_;
};

// 16 bytes of shared memory from an address on.
using ReadChunk = std::function<const char*(unsigned address)>;

// Ends all groups but the last `groups_left` of the warpgroup, whose threads' queues these are.
// Throws where the threads issued different products.
class WarpgroupProducts {
 public:
  void wait(std::span<ProductQueue* const> queues, int groups_left, const TensorCore& core,
            const ReadChunk& read);

 private:
  void multiply(std::span<ProductQueue* const> queues, std::size_t issued, const TensorCore& core,
                const ReadChunk& read);
  static void read_operand(std::uint64_t descriptor, const OperandFormat& format, bool is_mn,
                           int lines, const ReadChunk& read, std::vector<std::uint32_t>& operand);

  std::vector<std::uint32_t> left_, right_;
  std::vector<float> sums_;
};

}  // namespace gemm_tune::emulator

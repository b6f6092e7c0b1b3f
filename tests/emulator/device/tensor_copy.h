// SPDX-License-Identifier: Apache-2.0
// Boxes of a tensor as the copy engine moves them, and the copies that are under way.
//
// A box in shared memory is an image: its bytes in the order in which they lie there, swizzled.
// Global memory is read when a load is issued (a kernel's operands do not change); shared memory is
// a signalling NaN from then on and gets the values as late as possible. What a store reads must
// stay the same until it is waited for. They throw ExecutionError without the name of the thread.
// PTX ISA 9.0, sections "Tensors" and "cp.async.bulk.tensor". Use from one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "core/launch/launch_plan.h"
#include "tests/emulator/device/barriers.h"

namespace gemm_tune::emulator {

// Where the byte of an unswizzled pattern lies. The patterns begin at addresses 0 of shared memory.
unsigned swizzled(Swizzle swizzle, unsigned address);

// Elements of the innermost dimension, of the next one, and so on.
using BoxPlace = int[3];

// The image, to lie from `address` of shared memory on: zeros for what is outside of the tensor.
std::vector<char> load_box(const BoundTensorMap& map, const BoxPlace& from, unsigned address);

std::size_t box_bytes(const BoundTensorMap& map);

// Writes the tensor's elements of an image: whole chunks of 16 bytes, of which the first byte lies
// inside of the tensor.
void store_box(const BoundTensorMap& map, const BoxPlace& to, unsigned address,
               const std::vector<char>& image);

// What comes to shared memory from outside of the CTA, and counts at an mbarrier.
class Transfers {
 public:
  // From now on the bytes there are a signalling NaN.
  void begin(char* to, std::vector<char> image, Mbarrier& barrier);

  // Those that count at the barrier arrive, one after the other, beginning with a certain one of
  // them, until its phase ends. False where there are none.
  bool deliver(Mbarrier& barrier, std::size_t first);

  // Bytes under way to these.
  std::size_t bytes_to(const char* begin, const char* end) const;

 private:
  struct Transfer {
    char* to;
    std::vector<char> image;
    Mbarrier* barrier;
  };
  std::vector<Transfer> transfers_;
};

// The stores of one thread.
class BoxStores {
 public:
  void issue(const BoundTensorMap& map, const BoxPlace& to, unsigned address, const char* from);
  void commit();

  // Ends all groups.
  void wait();

  // The thread ends: throws ExecutionError where a store was not committed or not waited for.
  void end() const;

 private:
  struct Store {
    BoundTensorMap map;
    int to[3];
    unsigned address;
    const char* from;
    std::vector<char> image;
  };
  std::vector<Store> open_, committed_;
};

}  // namespace gemm_tune::emulator

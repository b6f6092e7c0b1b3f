// SPDX-License-Identifier: Apache-2.0
// The shapes that a program has called for: what is done with each, and how often it was.
//
// A shape is found and counted without a lock. Entries are never removed and never move, so that
// the counts may be read at any time, also while the process exits. Any number of threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "dispatch/preload/cublas/cublas_call.h"

namespace gemm_tune::preload {

// What tells calls apart in the report. The alignment of an operand, which kernels depend on, is
// the least of its address, leading dimension and stride, in bytes (of arrays of addresses, of the
// leading dimension); C's is the least of C and D.
struct ShapeKey {
  std::int64_t m = 0, n = 0, k = 0, batch = 0, lda = 0, ldb = 0, ldc = 0;
  std::int16_t function = 0, batch_kind = 0;
  std::int32_t op_a = 0, op_b = 0, type_a = 0, type_b = 0, type_c = 0;
  std::int32_t compute_type = 0, algorithm = 0, epilogue = 0, separate_c = 0;
  std::int16_t device = 0, accuracy = 0;  // gt_accuracy, where GEMM_TUNE_BLAS_ACCURACY names one
  std::int32_t alignment_a = 0, alignment_b = 0, alignment_c = 0;

  friend bool operator==(const ShapeKey&, const ShapeKey&) = default;
};

// device: the ordinal, -1 for none. reads_c: whether a separate C counts, as for the library; one
// that is not read (beta is 0) does not.
ShapeKey key_of(const CublasCall& call, int device, bool reads_c = true);

struct Shape {
  // Of a look-up: kUnknown before it, then a Reason, or kServed; kUnknown again once there are
  // other winners.
  static constexpr int kUnknown = -2, kServed = -1;

  ShapeKey key;
  std::atomic<int> verdict = kUnknown;
  std::atomic<std::uint64_t> served = 0;
  std::array<std::atomic<std::uint64_t>, kReasons> declined = {};
  std::atomic<std::uint64_t> calls = 0;  // that may be timed, where a report is asked for
  std::atomic<std::uint64_t> timed = 0, timed_ns = 0;  // calls that were timed, and their GPU time
  // What the database expects of a call: the winner's time and cuBLAS's; 0 for none.
  std::atomic<double> expected_us = 0, cublas_us = 0;

  explicit Shape(const ShapeKey& key) : key(key) {}

  void add_time(std::uint64_t ns) {
    timed.fetch_add(1, std::memory_order_relaxed);
    timed_ns.fetch_add(ns, std::memory_order_relaxed);
  }
  void count_served() { served.fetch_add(1, std::memory_order_relaxed); }
  void count_declined(Reason reason) {
    declined[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
};

class Counts;

class ShapeTable {
 public:
  // The shapes lie in the memory of `counts`, which is longer there.
  explicit ShapeTable(Counts& counts) : counts_(counts) {}

  // The key's shape, made where it is new; nullptr where the table is full.
  Shape* find(const ShapeKey& key);

  // In no order.
  void for_each(const std::function<void(Shape&)>& visit) const;

 private:
  static constexpr std::size_t kSlots = 16384;  // a power of two

  Counts& counts_;
  std::array<std::atomic<Shape*>, kSlots> slots_ = {};
};

}  // namespace gemm_tune::preload

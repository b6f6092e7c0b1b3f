// SPDX-License-Identifier: Apache-2.0
// The memory of a process's counts: a file, so that they outlive a process that a signal or _exit()
// ends before it can report.
//
// Written by any number of threads; read by another process meanwhile, or once the first has ended.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "dispatch/preload/report/shape_table.h"

namespace gemm_tune::preload {

// What the file holds. Zeros are a process without calls.
struct CountsContent {
  static constexpr std::size_t kShapes = 16384;

  std::atomic<std::uint64_t> layout;  // of this struct; another version of the drop-in may have
                                      // another. 0 until the next two are there
  std::int64_t pid;
  std::array<char, 1024> program;  // with a zero at its end, as `error`
  std::array<char, 1024> error;
  std::atomic<bool> has_error;
  std::atomic<std::uint64_t> beyond_table;
  std::atomic<std::size_t> used;  // places that have been given out, and more
  struct Place {
    std::atomic<bool> is_counted;  // a shape is there, and in the table
    alignas(Shape) std::array<std::byte, sizeof(Shape)> shape;
  };
  std::array<Place, kShapes> places;
};

class Counts {
 public:
  // A new file in the folder. Memory of the process alone where the folder is empty or has no room.
  // Throws std::bad_alloc.
  explicit Counts(const std::string& folder);
  ~Counts();
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;

  // A shape that no table has yet; nullptr where no room is left.
  Shape* make(const ShapeKey& key);
  // It is in the table now, and counts.
  void publish(const Shape* shape);

  void add_beyond_table() { content_->beyond_table.fetch_add(1, std::memory_order_relaxed); }
  // Only the first is kept, until it is forgotten.
  void set_error(const std::string& sentence);
  void forget_error();

  // The lines of the report.
  std::string report() const;

  // The counts have been reported elsewhere.
  void remove_file() const;

 private:
  CountsContent* content_ = nullptr;
  std::string file_;  // empty for none
};

// The same of the file of a process; empty where the file is none, nothing where another version of
// the drop-in has written it.
std::optional<std::string> report_of(const std::string& file);

}  // namespace gemm_tune::preload

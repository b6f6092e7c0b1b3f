// SPDX-License-Identifier: Apache-2.0
// Runs a kernel's CTAs, their threads as fibers that meet at barriers and shuffles.
//
// The CTAs of a cluster run at the same time, one as far as it gets before the next one; the others
// see a CTA's shared memory poisoned once it has ended. Where all resident threads wait for
// something, further CTAs begin as far as there is room.
//
// Strict where a GPU is forgiving: shared memory is signalling NaNs before each CTA, with poisoned
// red zones between the arrays; threads run in the given order up to each barrier, so that a
// missing one shows; a barrier that not every thread reaches is an error, and so is a shuffle, a
// matrix load or store or a matrix product that not every lane of the warp reaches; asynchronous
// copies end as late as they may (copy_queue.h), boxes come when nobody can go on without them
// (tensor_copy.h), and products of a warpgroup are computed when they are waited for (warpgroup.h);
// what the copy engine or a product reads must have been published to it. Lanes do not run in
// lockstep otherwise. Memory is never seen out of order: what a missing __threadfence does is not
// emulated. Use from one thread.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/launch/launch_recipe.h"
#include "tests/emulator/device/cta.h"

namespace gemm_tune::emulator {

// The order in which threads run between two barriers, and in which CTAs run: one after the other,
// or, shuffled, all that are resident in turns of a few threads each; clusters likewise.
enum class Order { forward, reversed, shuffled };

const char* to_string(Order order);

// The kernel broke a rule of CUDA's execution model.
class ExecutionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Launch {
  Grid grid;
  Order order = Order::forward;
  unsigned seed = 1;  // of Order::shuffled
  int cluster = 1;    // neighbours along the grid's y that form a cluster
  TensorCore tensor_core = tensor_core_of(90);
  // The end of the launch before, where this one may begin earlier: it comes when no thread can go
  // on without.
  std::function<void()> earlier_end = {};
};

// A place where CTAs of one size run; its fibers are kept between launches.
class Emulator {
 public:
  // What the launch recipe grants to every CTA, and how many CTAs may be resident at once: more
  // than one where CTAs of a launch depend on each other, at least those of a cluster.
  Emulator(int block_threads, int smem_bytes, int resident_ctas = 1);
  ~Emulator();

  // Runs `thread` for every thread of the grid. Throws ExecutionError if threads of a CTA meet at
  // different barriers or leave while others wait, likewise lanes of a warp at what they do
  // together (warp.h), or if these do not agree on it; if they
  // take more shared memory than granted or disagree on its arrays; if they misuse asynchronous
  // copies, mbarriers, boxes or products; if all wait and nothing will happen: then it says where
  // each thread stands. The emulator is of no use after that.
  void run(const Launch& launch, const std::function<void(Cta&)>& thread);

 private:
  class Grid;
  std::unique_ptr<Grid> grid_;
};

}  // namespace gemm_tune::emulator

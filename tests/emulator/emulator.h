// Runs a kernel's CTAs one after the other, their threads as fibers that meet at barriers.
//
// Strict where a GPU is forgiving: shared memory is signalling NaNs before each CTA, with poisoned
// red zones between the arrays; threads run in the given order up to each barrier, so that a
// missing one shows; a barrier that not every thread reaches is an error. It knows nothing of
// warps: instructions that rely on lockstep are not emulated. Use from one thread.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/emulator/cta.h"

namespace gemm_tune::emulator {

// The order in which threads run between two barriers, and in which CTAs run.
enum class Order { forward, reversed, shuffled };

const char* to_string(Order order);

// The kernel broke a rule of CUDA's execution model.
class ExecutionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Launch {
  int grid_ctas = 1;
  Order order = Order::forward;
  unsigned seed = 1;  // of Order::shuffled
};

// A place where CTAs of one size run; its fibers are kept between launches.
class Emulator {
 public:
  // What the launch recipe grants to every CTA.
  Emulator(int block_threads, int smem_bytes);
  ~Emulator();

  // Runs `thread` for every thread of the grid. Throws ExecutionError if threads of a CTA meet at
  // different barriers or leave while others wait, or if they take more shared memory than granted
  // or disagree on its arrays; the emulator is of no use after that.
  void run(const Launch& launch, const std::function<ThreadFunction>& thread, const GemmArgs& args);

 private:
  class Grid;
  std::unique_ptr<Grid> grid_;
};

}  // namespace gemm_tune::emulator

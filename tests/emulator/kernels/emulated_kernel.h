// SPDX-License-Identifier: Apache-2.0
// A kernel's shared object, run on a case and held against fp64.
//
// Knows the config by its canonical text: what it launches is the plan that every other user of the
// config gets. Reports the first wrong thing as text; memory errors end the process, with
// AddressSanitizer's report. Use from one thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/launch/launch_plan.h"
#include "kernel_templates/registry/registry.h"
#include "tests/emulator/device/emulator.h"
#include "tests/emulator/kernels/cases.h"

namespace gemm_tune::emulator {

class EmulatedKernel {
 public:
  // Throws Error where the object cannot be loaded, UsageError where the config is not known.
  EmulatedKernel(const std::filesystem::path& object, const std::string& config);

  const KnownConfig& config() const { return config_; }

  // What went wrong, or nothing. A kernel for in-place products has C in D in every case, and one
  // with an epilogue has operands in every case, with nothing behind their last elements. C must be
  // exact for integers, rounded once to a D of 16 bits; else within the bound of its accuracy class
  // (core/types/error_bound.h). A and B are NaN where alpha is 0, C is where beta is 0. Where CTAs
  // share tiles, in every order of CTAs instead of the case's own: C must be bitwise the same in
  // all, the partial sums are NaN at first, and the counters must be zero in the end.
  std::optional<std::string> check(const Case& any_case);

  // Launches a call on tensor cores that round like this one. Throws Error where the kernels leave
  // counters or write beside the workspace.
  void run(const GemmCall& call, const TensorCore& core, Order order = Order::forward);

  // The copy of A or B that may be kept for later calls (LaunchPlan::that_makes()).
  std::vector<char> copy_of(CallValue operand, const GemmCall& call, const TensorCore& core);

 private:
  struct CloseObject {
    void operator()(void* object) const;
  };

  struct Operands;
  class Workspace;

  // A kernel of the object, and where its CTAs run.
  struct Entry {
    Entry(ThreadFunction* thread, std::unique_ptr<Emulator> emulator)
        : thread(thread), emulator(std::move(emulator)) {}

    ThreadFunction* thread;
    std::unique_ptr<Emulator> emulator;
  };

  std::optional<std::string> check_on(const Case& c, const Operands& operands);
  // known: D of the same operands, found right before; empty for none.
  std::optional<std::string> check_once(const Case& c, const Operands& operands, Order order,
                                        const std::vector<float>& known,
                                        std::vector<float>& result);
  // Throws Error where the object lacks it.
  void* symbol(const std::string& name) const;
  Entry& entry_of(const Step& step);
  // What happens before the plan in the stream: its begin, and its end, which comes as late as it
  // may.
  struct Before {
    std::function<void()> begin, end;
  };
  // order_seed: of Order::shuffled.
  void launch(const GemmCall& call, const LaunchPlan& plan, const TensorCore& core, Order order,
              unsigned order_seed, Workspace& workspace, const Before& before);

  KnownConfig config_;
  std::unique_ptr<void, CloseObject> object_;
  bool in_place_only_ = false;  // compiled for in-place products
  Epilogue epilogue_;
  std::map<std::tuple<std::string, int, int>, Entry> entries_;  // by name, threads, shared memory
};

}  // namespace gemm_tune::emulator

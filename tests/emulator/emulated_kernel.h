// SPDX-License-Identifier: Apache-2.0
// A kernel's shared object, run on a case and held against fp64.
//
// Knows the config by its canonical text: what it launches is the recipe that every other user of
// the config gets. Reports the first wrong thing as text; memory errors end the process, with
// AddressSanitizer's report. Use from one thread.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel_templates/registry.h"
#include "tests/emulator/cases.h"
#include "tests/emulator/emulator.h"

namespace gemm_tune::emulator {

class EmulatedKernel {
 public:
  // Throws Error where the object cannot be loaded, UsageError where the config is not known.
  EmulatedKernel(const std::filesystem::path& object, const std::string& config);

  const KnownConfig& config() const { return config_; }

  // What went wrong, or nothing. A kernel for in-place products has C in D in every case, and one
  // with an epilogue has a bias in every case, with nothing behind its last element. C must be
  // exact for integers, rounded once to a D of 16 bits; else within the bound of its accuracy class
  // (core/error_bound.h). A and B are NaN where alpha is 0, C is where beta is 0. Where CTAs
  // share tiles, in every order of CTAs instead of the case's own: C must be bitwise the same in
  // all, the partial sums are NaN at first, and the counters must be zero in the end.
  std::optional<std::string> check(const Case& any_case);

  // Launches a call, CTAs forward, on tensor cores that round like this one.
  void run(const GemmCall& call, const TensorCore& core);

 private:
  struct CloseObject {
    void operator()(void* object) const;
  };

  struct Operands;
  struct Workspace;

  std::optional<std::string> check_on(const Case& c, const Operands& operands);
  // known: D of the same operands, found right before; empty for none.
  std::optional<std::string> check_once(const Case& c, const Operands& operands, Order order,
                                        const std::vector<float>& known,
                                        std::vector<float>& result);
  std::optional<Workspace> workspace_of(const Problem& problem) const;
  // order_seed: of Order::shuffled.
  void launch(const GemmCall& call, const TensorCore& core, Order order, unsigned order_seed,
              std::optional<Workspace>& workspace);

  KnownConfig config_;
  std::unique_ptr<void, CloseObject> object_;
  ThreadFunction* thread_ = nullptr;
  RepackThreadFunction* repack_thread_ = nullptr;  // where the config has REPACK
  ThreadFunction* reduce_thread_ = nullptr;        // where the config has REDUCE
  bool in_place_only_ = false;                     // compiled with TUNED_IN_PLACE
  Epilogue epilogue_ = Epilogue::none;
  Emulator emulator_;
  Emulator repack_emulator_;
  Emulator reduce_emulator_;
};

}  // namespace gemm_tune::emulator

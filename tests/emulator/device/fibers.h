// SPDX-License-Identifier: Apache-2.0
// A fixed set of fibers on ucontext, known to AddressSanitizer: the threads of an emulated CTA.
//
// A fiber runs when it is resumed and gives control back when it suspends itself. Its stack ends at
// an inaccessible page. Fibers are never finished: the body is called again and again, and what is
// suspended at destruction is dropped without unwinding. Use from one thread.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace gemm_tune::emulator {

class Fibers {
 public:
  // body(i) runs on fiber i from its first resume on, and again whenever it returns.
  Fibers(int count, std::function<void(int)> body);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // Runs fiber i until it suspends. Not from a fiber.
  void resume(int i);

  // Gives control back to resume()'s caller. Only from a fiber.
  void suspend();

 private:
  using Place = void* [5];  // of __builtin_setjmp()

  struct Fiber {
    ucontext_t context{};  // where it begins
    bool started = false;
    Place place{};               // while suspended
    void* fake_stack = nullptr;  // AddressSanitizer's, while suspended
  };

  void switch_to(Fiber& fiber);
  void switch_to_caller(Fiber& self);
  static void enter(unsigned self_high, unsigned self_low);
  char* stack(int i) const;

  std::function<void(int)> body_;
  std::vector<Fiber> fibers_;
  char* stacks_ = nullptr;
  Place caller_{};
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
  int running_ = 0;
};

}  // namespace gemm_tune::emulator

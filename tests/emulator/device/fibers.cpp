// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/fibers.h"

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace gemm_tune::emulator {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kStackBytes = 124 * 1024;  // room for 128 accumulators with red zones
constexpr std::size_t kStrideBytes = kGuardBytes + kStackBytes;

// For what jumps between stacks: not instrumented and, where clang compiles it, not optimised:
// optimised by clang 14, it jumps to address 0.
#ifdef __clang__
#define GT_JUMPS __attribute__((noinline, optnone, no_sanitize("address", "undefined")))
#else
#define GT_JUMPS __attribute__((noinline, no_sanitize("address", "undefined")))
#endif

// Not longjmp(): AddressSanitizer takes the red zones off the stack that it leaves. A function of
// its own, because the compiler allows no jump to the function that jumps.
[[noreturn]] GT_JUMPS void jump(void** to) { __builtin_longjmp(to, 1); }

}  // namespace

Fibers::Fibers(int count, std::function<void(int)> body)
    : body_(std::move(body)), fibers_(static_cast<std::size_t>(count)) {
  void* const stacks = mmap(nullptr, fibers_.size() * kStrideBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  stacks_ = static_cast<char*>(stacks);
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  for (int i = 0; i < count; ++i) {
    mprotect(stack(i) - kGuardBytes, kGuardBytes, PROT_NONE);
    ucontext_t& context = fibers_[static_cast<std::size_t>(i)].context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack(i);
    context.uc_stack.ss_size = kStackBytes;
    // makecontext passes integers only.
    makecontext(&context, reinterpret_cast<void (*)()>(&Fibers::enter), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    // Else AddressSanitizer takes the red zones off the whole stack at every switch to it.
    context.uc_stack.ss_size = 0;
  }
}

Fibers::~Fibers() {
  const std::size_t bytes = fibers_.size() * kStrideBytes;
  ASAN_UNPOISON_MEMORY_REGION(stacks_, bytes);
  munmap(stacks_, bytes);
}

char* Fibers::stack(int i) const {
  return stacks_ + static_cast<std::size_t>(i) * kStrideBytes + kGuardBytes;
}

void Fibers::resume(int i) {
  running_ = i;
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack(i), kStackBytes);
  switch_to(fibers_[static_cast<std::size_t>(i)]);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

void Fibers::suspend() {
  Fiber& self = fibers_[static_cast<std::size_t>(running_)];
  __sanitizer_start_switch_fiber(&self.fake_stack, caller_stack_, caller_stack_bytes_);
  switch_to_caller(self);
  __sanitizer_finish_switch_fiber(self.fake_stack, &caller_stack_, &caller_stack_bytes_);
}

// swapcontext() would do for every switch, at the price of a system call each.
GT_JUMPS void Fibers::switch_to(Fiber& fiber) {
  if (__builtin_setjmp(caller_) != 0) return;
  if (fiber.started) jump(fiber.place);
  fiber.started = true;
  setcontext(&fiber.context);
}

GT_JUMPS void Fibers::switch_to_caller(Fiber& self) {
  if (__builtin_setjmp(self.place) == 0) jump(caller_);
}

void Fibers::enter(unsigned self_high, unsigned self_low) {
  auto* const self =
      reinterpret_cast<Fibers*>(static_cast<std::uintptr_t>(self_high) << 32 | self_low);
  __sanitizer_finish_switch_fiber(nullptr, &self->caller_stack_, &self->caller_stack_bytes_);
  for (;;) self->body_(self->running_);
}

}  // namespace gemm_tune::emulator

// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/signals.h"

#include <signal.h>

#include <atomic>

namespace gemm_tune {
namespace {

std::atomic<bool> flag = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void on_signal(int) { flag = true; }

}  // namespace

Interruption watch_for_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: poll() must return
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction on_hangup {};
  sigaction(SIGHUP, nullptr, &on_hangup);
  if (on_hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup's wish
  return Interruption(flag);
}

}  // namespace gemm_tune

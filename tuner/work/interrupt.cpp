// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/interrupt.h"

namespace gemm_tune {
namespace {

volatile sig_atomic_t flag = 0;

void on_signal(int) { flag = 1; }

}  // namespace

void watch_for_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: poll() must return
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction on_hangup {};
  sigaction(SIGHUP, nullptr, &on_hangup);
  if (on_hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup's wish
}

bool interrupted() { return flag != 0; }

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace gemm_tune

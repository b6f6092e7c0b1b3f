// SPDX-License-Identifier: Apache-2.0
// What threads of an emulated CTA meet at: mbarriers, and the CTA's barriers by number.
//
// They count; who waits is the emulator's affair. They throw ExecutionError without the name of the
// thread. PTX ISA 9.0, sections "mbarrier" and "bar, barrier". Use from one thread.
#pragma once

#include <string>
#include <vector>

namespace gemm_tune::emulator {

// A phase ends when so many threads have arrived and all bytes that they expect were delivered.
class Mbarrier {
 public:
  explicit Mbarrier(int count);

  // A thread arrives; the phase waits for so many bytes more.
  void arrive(int expected_bytes = 0);
  void deliver(int bytes);

  // Whether the phase of this parity that was last under way has ended.
  bool has_ended(int parity) const { return phase_ % 2 != parity; }

  int phase() const { return phase_; }
  bool is_idle() const { return pending_ == count_ && bytes_ == 0; }

  // Which phase is under way, and what it lacks, as a phrase.
  std::string text() const;

  // Its initialisation is known to the copy engine and to the cluster.
  bool is_published = false;

 private:
  void end_phase();

  int count_, pending_;
  int bytes_ = 0;  // expected and not delivered; below 0 where they came first
  int phase_ = 0;
};

// One of the 16 barriers of a CTA.
class NamedBarrier {
 public:
  // A thread of the CTA comes as one of so many. The number of the meeting that it counts for.
  int come(int thread, int threads);

  // Meetings that have taken place: a thread that waits goes on when its own has.
  int meetings() const { return meetings_; }

  bool is_idle() const { return came_.empty(); }
  std::string text() const;

 private:
  std::vector<int> came_;  // threads
  int threads_ = 0;
  int meetings_ = 0;
};

}  // namespace gemm_tune::emulator

// SPDX-License-Identifier: Apache-2.0
// Messages over MPI, between rank 0 and each other rank: point to point only.
//
// With an MPI that has ULFM's extensions and was started with them (mpirun --with-ft ulfm), a rank
// that dies is a lost peer; without them, MPI ends the job. MPI has no descriptor to wait for, so
// that receive() is called often. Use from the thread that made MpiSession.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "tuner/agents/transport.h"

namespace gemm_tune {

// MPI from its start to its end. After the loss of a rank, MPI's orderly end waits for ever: the
// process then ends at once, with what it has printed.
class MpiSession {
 public:
  // Throws Error where MPI does not start.
  MpiSession(int& argc, char**& argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Of the process, should its end have to be abrupt.
  void set_exit_code(int code) { exit_code_ = code; }
  void note_lost_rank() { has_lost_ = true; }

 private:
  int rank_ = 0, size_ = 1;
  int exit_code_ = 1;
  bool has_lost_ = false;
};

class MpiTransport : public Transport {
 public:
  // Rank 0's peers are all other ranks; theirs is rank 0.
  explicit MpiTransport(MpiSession& session);
  ~MpiTransport() override;

  std::vector<int> peers() const override;
  void send(int peer, std::string message) override;
  std::optional<Event> receive() override;
  int fd() const override { return -1; }
  void flush(std::chrono::milliseconds timeout) override;

 private:
  struct Unsent;  // MPI's header is for mpi_transport.cpp alone

  void send_on();
  void look_for_lost();
  void lose(int peer);

  MpiSession& session_;
  const int rank_, size_;
  std::list<Unsent> unsent_;
  std::set<int> lost_;
  std::vector<Event> events_;  // of lost peers
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace gemm_tune

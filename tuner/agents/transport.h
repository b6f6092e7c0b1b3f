// SPDX-License-Identifier: Apache-2.0
// Messages between the leader of a job and its agents, whatever carries them.
//
// A message is a string of bytes; those from one peer to another arrive in their order. Nothing
// blocks. Use from one thread.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gemm_tune {

class Transport {
 public:
  struct Event {
    int peer = 0;
    std::optional<std::string> message;  // nothing: the peer is lost
  };

  virtual ~Transport() = default;

  // The numbers of the peers that may be sent to.
  virtual std::vector<int> peers() const = 0;

  // What is sent to a lost peer is thrown away.
  virtual void send(int peer, std::string message) = 0;

  // The next event, if there is one.
  virtual std::optional<Event> receive() = 0;

  // Readable while there may be events; -1 where only receive() tells, which is then called every
  // kPollInterval.
  virtual int fd() const = 0;
  static constexpr std::chrono::milliseconds kPollInterval{1};

  // Waits until what was sent has left, or the timeout.
  virtual void flush(std::chrono::milliseconds timeout) = 0;
};

// Two ends of one line inside a process. Each end is used from one thread; the two may differ.
std::pair<std::unique_ptr<Transport>, std::unique_ptr<Transport>> in_process_line();

}  // namespace gemm_tune

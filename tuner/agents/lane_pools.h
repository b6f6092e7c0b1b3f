// SPDX-License-Identifier: Apache-2.0
// The two threads of a search whose workers are agents: the lane, which submits tasks and gets
// their results from wait(), and the broker, which alone talks with the agents. Private to
// tuner/agents.
//
// What crosses is a value in a mailbox, and a bell that poll() hears.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "tuner/cluster/scheduler.h"
#include "tuner/work/bell.h"
#include "tuner/work/task_pool.h"

namespace gemm_tune {

// What the threads of a group's lanes know of it.
struct GroupState {
  std::atomic<std::size_t> agents = 0, compilers = 0, gpus = 0;
  std::atomic<std::size_t> searching = 0;  // lanes
  std::atomic<std::size_t> compilers_busy = 0, gpus_busy = 0;
  std::atomic<double> compilers_s = 0, gpus_s = 0;  // spent on tasks that have ended
};

using TaskNumber = std::uint64_t;  // within a lane

// From a lane to the broker.
struct Submitted {
  TaskNumber number;
  std::string verb;
  nlohmann::json request;  // without what Task::update adds
  std::chrono::milliseconds limit;
  bool fresh, is_updated;
};
struct Updated {
  std::uint64_t lease;
  nlohmann::json request;
};
struct Abandoned {
  TaskNumber number;
};
struct LaneEnded {};
using FromLane = std::variant<Submitted, Updated, Abandoned, LaneEnded>;

// From the broker to a lane.
struct Wanted {  // the request as it is to be sent now
  TaskNumber number;
  std::uint64_t lease;
};
struct Finished {
  TaskNumber number;
  TaskResult result;
};
using ToLane = std::variant<Wanted, Finished>;

template <class Message>
class Mailbox {
 public:
  void put(Message message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
  }
  std::deque<Message> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }

 private:
  std::mutex mutex_;
  std::deque<Message> messages_;
};

class LanePools;
using ToBroker = Mailbox<std::pair<LanePools*, FromLane>>;

// The pools of one lane, for its thread. What crosses goes through the mailboxes.
class LanePools : public TaskPools {
 public:
  LanePools(ToBroker& to_broker, Bell& broker_bell, std::shared_ptr<GroupState> group)
      : to_broker_(to_broker), broker_bell_(broker_bell), group_(std::move(group)) {}

  TaskPool& compilers() override { return compilers_; }
  TaskPool& measurers() override { return measurers_; }

  void wait(std::chrono::milliseconds timeout, int also) override;

  void set_searching(bool searches) override {
    if (std::exchange(is_searching_, searches) == searches) return;
    searches ? ++group_->searching : --group_->searching;
  }

  void finished() override {
    set_searching(false);
    if (!std::exchange(is_finished_, true)) tell(LaneEnded{});
  }

  // For the broker's thread.
  void put(ToLane message) {
    from_broker_.put(std::move(message));
    bell_.ring();
  }
  void ring() { bell_.ring(); }

 private:
  class Pool : public TaskPool {
   public:
    Pool(LanePools& lane, bool compiles) : lane_(lane), compiles_(compiles) {}

    void submit(Task task) override { lane_.submit(*this, std::move(task)); }
    std::size_t pending() const override { return pending_; }
    std::size_t size() const override {
      const GroupState& group = *lane_.group_;
      const Capacity all{group.agents, group.compilers, group.gpus};
      const Capacity share = share_of(all, group.searching);
      return std::max<std::size_t>(compiles_ ? share.compilers : share.gpus, 1);
    }
    WorkersLoad load() const override {
      const GroupState& group = *lane_.group_;
      return compiles_ ? WorkersLoad{group.compilers_busy, group.compilers, group.compilers_s}
                       : WorkersLoad{group.gpus_busy, group.gpus, group.gpus_s};
    }
    void abandon() override {
      lane_.abandon(*this, [](const Task&) { return true; });
    }
    void abandon(std::uint64_t number) override {
      lane_.abandon(*this, [number](const Task& task) { return task.number == number; });
    }

   private:
    friend LanePools;
    LanePools& lane_;
    const bool compiles_;
    std::size_t pending_ = 0;
  };

  struct Open {
    Pool* pool;
    Task task;
  };

  void tell(FromLane message) {
    to_broker_.put({this, std::move(message)});
    broker_bell_.ring();
  }

  void submit(Pool& pool, Task task);
  void update(const Wanted& wanted);
  void finish(Finished& finished);
  void abandon(Pool& pool, const std::function<bool(const Task&)>& which);

  ToBroker& to_broker_;
  Bell& broker_bell_;
  Bell bell_;
  std::shared_ptr<GroupState> group_;
  Mailbox<ToLane> from_broker_;
  std::map<TaskNumber, Open> open_;
  TaskNumber next_ = 1;
  bool is_searching_ = false, is_finished_ = false;
  Pool compilers_{*this, true}, measurers_{*this, false};
};

}  // namespace gemm_tune

#include "tuner/worker_pool.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "tuner/protocol.h"

namespace gemm_tune {

using Clock = std::chrono::steady_clock;

WorkerPool::WorkerPool(std::size_t workers, std::vector<std::string> argv)
    : argv_(std::move(argv)), workers_(std::max<std::size_t>(workers, 1)) {}

void WorkerPool::submit(Task task) {
  queue_.push_back(std::move(task));
  start_tasks();
}

std::size_t WorkerPool::pending() const {
  const auto running =
      std::count_if(workers_.begin(), workers_.end(), [](const Slot& s) { return !!s.task; });
  return queue_.size() + static_cast<std::size_t>(running);
}

void WorkerPool::start_tasks() {
  for (Slot& slot : workers_) {
    if (queue_.empty()) return;
    if (slot.task) continue;
    // One that was killed from outside since its last reply is not the next task's fault.
    if (slot.process && slot.process->receive() == WorkerProcess::Status::died) {
      slot.process.reset();
    }
    if (!slot.process) slot.process.emplace(argv_);
    slot.task = std::move(queue_.front());
    queue_.pop_front();
    slot.process->send(slot.task->verb, slot.task->request);
  }
}

void WorkerPool::finish(Slot& slot, TaskResult result) {
  const Task task = *std::exchange(slot.task, std::nullopt);
  start_tasks();
  task.done(std::move(result));
}

void WorkerPool::collect(Slot& slot) {
  switch (slot.process->receive()) {
    case WorkerProcess::Status::reply: {
      const nlohmann::json reply = slot.process->reply();
      if (reply.contains(kLeavingKey)) slot.process.reset();
      if (reply.contains(kErrorKey)) {
        return finish(slot, {TaskResult::Status::refused, {}, reply.at(kErrorKey)});
      }
      return finish(slot, {TaskResult::Status::reply, reply, {}});
    }
    case WorkerProcess::Status::died: {
      const std::string epitaph = slot.process->epitaph();
      slot.process.reset();
      return finish(slot, {TaskResult::Status::died, {}, "its worker " + epitaph});
    }
    case WorkerProcess::Status::partial:
      break;
  }
  if (Clock::now() - slot.process->busy_since() >= slot.task->limit) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(slot.task->limit);
    slot.process.reset();
    finish(slot, {TaskResult::Status::timed_out,
                  {},
                  "not done after " + std::to_string(seconds.count()) + " s"});
  }
}

void WorkerPool::wait(std::initializer_list<WorkerPool*> pools, std::chrono::milliseconds timeout) {
  std::vector<pollfd> descriptors;
  Clock::time_point wake = Clock::now() + timeout;
  for (WorkerPool* pool : pools) {
    for (const Slot& slot : pool->workers_) {
      if (!slot.task) continue;
      descriptors.push_back({slot.process->fd(), POLLIN, 0});
      wake = std::min(wake, slot.process->busy_since() + slot.task->limit);
    }
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now()).count();
  poll(descriptors.data(), descriptors.size(), static_cast<int>(std::max<long>(left, 0)));
  for (WorkerPool* pool : pools) {
    for (Slot& slot : pool->workers_) {
      if (slot.task) pool->collect(slot);
    }
  }
}

nlohmann::json WorkerPool::call(const std::string& verb, nlohmann::json request,
                                std::chrono::milliseconds limit) {
  std::optional<TaskResult> result;
  submit({verb, std::move(request), limit, [&](TaskResult r) { result = std::move(r); }});
  while (!result) wait({this}, limit);
  if (result->status == TaskResult::Status::reply) return std::move(result->reply);
  throw DeviceError(result->status == TaskResult::Status::refused
                        ? result->detail
                        : "the '" + verb + "' request failed: " + result->detail);
}

void WorkerPool::abandon() {
  queue_.clear();
  for (Slot& slot : workers_) slot = Slot{};
}

}  // namespace gemm_tune

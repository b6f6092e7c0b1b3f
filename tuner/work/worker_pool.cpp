// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/worker_pool.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

using Clock = RunningClock;

constexpr std::chrono::seconds kStartLimit{120};  // a driver may take long to wake its GPUs
constexpr int kMaxFailedStarts = 3;
constexpr std::chrono::milliseconds kStartInterval{500};  // where the system starts no process
constexpr std::chrono::milliseconds kLeavingInterval{5};
// For a task that nobody waits for, of a worker that takes as long to start.
constexpr std::chrono::seconds kUnwantedLimit{1};

}  // namespace

WorkerPool::WorkerPool(std::vector<WorkerCommand> commands, bool warm_spares, WorkerClock clock,
                       GpuShare share)
    : clock_(std::move(clock)),
      share_(std::move(share)),
      slots_(commands.size()),
      warm_spares_(warm_spares) {
  for (std::size_t i = 0; i < commands.size(); ++i) slots_[i].command = std::move(commands[i]);
}

// All are told before any is waited for.
WorkerPool::~WorkerPool() {
  for (Slot& slot : slots_) {
    if (slot.process) slot.process->let_go();
    if (slot.spare) slot.spare->let_go();
  }
}

void WorkerPool::submit(Task task) {
  queue_.push_back(std::move(task));
  start_tasks();
}

std::size_t WorkerPool::pending() const {
  const auto running = std::count_if(slots_.begin(), slots_.end(),
                                     [](const Slot& slot) { return slot.task.has_value(); });
  return queue_.size() + static_cast<std::size_t>(running);
}

// False where the system has no room for one more process: others may end.
bool WorkerPool::start(std::optional<WorkerProcess>& place, const WorkerCommand& command) {
  try {
    place.emplace(command, clock_);
    why_no_process_.clear();
  } catch (const Error& error) {
    why_no_process_ = error.what();
    next_start_ = Clock::now() + kStartInterval;
  }
  return place.has_value();
}

// Where no worker is left and none can be started, whoever waits next learns why.
void WorkerPool::start_again() {
  if (why_no_process_.empty() || queue_.empty() || Clock::now() < next_start_) return;
  const bool alone = std::none_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.process || !slot.leaving.empty();
  });
  next_start_ = Clock::now() + kStartInterval;
  if (!alone || ++failed_starts_ < kMaxFailedStarts) return start_tasks();
  failed_starts_ = 0;
  refuse_next(std::string(why_no_process_));
}

// A worker at hand or on its way, and its spare once it needs the start's resources no more.
void WorkerPool::prepare(Slot& slot) {
  // One that was killed from outside while it waited is not the next task's fault.
  if (slot.spare && slot.spare->ready() && slot.spare->receive() == WorkerProcess::Status::died) {
    slot.spare.reset();
  }
  if (!slot.process && slot.spare) slot.process = std::exchange(slot.spare, std::nullopt);
  if (!slot.process && !start(slot.process, slot.command)) return;
  if (warm_spares_ && !slot.spare && !slot.spare_failed && slot.process->ready()) {
    slot.spare_failed = !start(slot.spare, slot.command);
  }
}

void WorkerPool::discard(Slot& slot) {
  slot.process->let_go();
  slot.leaving.push_back(*std::exchange(slot.process, std::nullopt));
}

bool WorkerPool::rests(const Slot& slot) const {
  return !share_.is_whole() && share_.now() < slot.rests_until;
}

void WorkerPool::start_tasks() {
  for (Slot& slot : slots_) {
    if (queue_.empty()) return;
    if (slot.task || !slot.leaving.empty() || rests(slot)) continue;
    if (slot.process && slot.process->idle()) {
      // One that was killed from outside since its last reply is not the next task's fault.
      const bool gone = slot.process->receive() == WorkerProcess::Status::died;
      if (gone || (queue_.front().fresh && slot.process->served() > 0)) discard(slot);
    }
    prepare(slot);
    // The greeting of one that starts comes back here, and so does the next try to start one.
    if (!slot.leaving.empty() || !slot.process || !slot.process->idle()) continue;
    slot.task = std::move(queue_.front());
    queue_.pop_front();
    if (slot.task->update) slot.task->update(slot.task->request);
    slot.process->send(slot.task->verb, slot.task->request);
  }
}

void WorkerPool::finish(Slot& slot, TaskResult result) {
  const Task task = *std::exchange(slot.task, std::nullopt);
  start_tasks();
  task.done(std::move(result));
}

// No worker of this pool can start: whoever waits next learns why.
void WorkerPool::refuse_next(const std::string& detail) {
  if (queue_.empty()) return;
  const Task task = std::move(queue_.front());
  queue_.pop_front();
  task.done({TaskResult::Status::refused, {}, detail});
}

void WorkerPool::greet(Slot& slot) {
  const WorkerProcess::Status status = slot.process->receive();
  const bool greeted = status == WorkerProcess::Status::greeting;
  const bool refused = greeted && slot.process->reply().contains(kErrorKey);
  if (greeted && !refused) {
    failed_starts_ = 0;
    return start_tasks();
  }
  std::string why = "a worker process cannot start: ";
  if (refused) {
    why = slot.process->reply().at(kErrorKey).get<std::string>();
  } else if (status == WorkerProcess::Status::died) {
    why += "it " + slot.process->ending().text;
  } else {
    if (slot.process->busy_for() < kStartLimit) return;
    why += "not ready after " + std::to_string(kStartLimit.count()) + " s";
  }
  discard(slot);
  // What a worker says of its environment will not change by itself.
  if (!refused && ++failed_starts_ < kMaxFailedStarts) return start_tasks();
  failed_starts_ = 0;
  refuse_next(why);
}

void WorkerPool::tend_spare(Slot& slot) {
  if (!slot.spare || slot.spare->ready()) return;
  const WorkerProcess::Status status = slot.spare->receive();
  const bool refused =
      status == WorkerProcess::Status::greeting && slot.spare->reply().contains(kErrorKey);
  const bool late = slot.spare->busy_for() >= kStartLimit;
  if (status != WorkerProcess::Status::died && !refused && !late) return;
  slot.spare.reset();
  slot.spare_failed = true;
}

void WorkerPool::collect(Slot& slot) {
  const bool fresh = slot.process->served() == 0;
  const Clock::duration spent = slot.process->busy_for();
  const auto finish = [&](TaskResult result) {
    if (!share_.is_whole()) slot.rests_until = share_.now() + share_.rest_after(spent);
    result.seconds = std::chrono::duration<double>(spent).count();
    this->finish(slot, std::move(result));
  };
  switch (slot.process->receive()) {
    case WorkerProcess::Status::greeting:
    case WorkerProcess::Status::reply: {
      const nlohmann::json reply = slot.process->reply();
      if (reply.contains(kLeavingKey)) discard(slot);
      if (reply.contains(kNoMemoryKey)) {
        return finish({TaskResult::Status::died, {}, "its worker had no memory", fresh, true});
      }
      if (reply.contains(kErrorKey)) {
        return finish({TaskResult::Status::refused, {}, reply.at(kErrorKey), fresh});
      }
      return finish({TaskResult::Status::reply, reply, {}, fresh});
    }
    case WorkerProcess::Status::died: {
      const WorkerProcess::Ending ending = slot.process->ending();
      slot.process.reset();
      return finish(
          {TaskResult::Status::died, {}, "its worker " + ending.text, fresh, ending.from_outside});
    }
    case WorkerProcess::Status::partial:
      break;
  }
  if (spent >= slot.task->limit) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(slot.task->limit);
    const bool stopped = slot.process->was_stopped();
    discard(slot);
    finish({TaskResult::Status::timed_out,
            {},
            "not done after " + std::to_string(seconds.count()) + " s" +
                (stopped ? ", in which somebody stopped its worker" : ""),
            fresh,
            stopped});
  }
}

// One look at everything that the slot waits for.
void WorkerPool::tend(Slot& slot) {
  tend_spare(slot);
  if (!slot.leaving.empty()) {
    std::erase_if(slot.leaving, [](WorkerProcess& process) { return process.is_gone(); });
    if (slot.leaving.empty()) start_tasks();
  }
  if (slot.task) return collect(slot);
  if (slot.process && !slot.process->ready()) greet(slot);
}

void WorkerPool::wait(std::span<WorkerPool* const> pools, std::chrono::milliseconds timeout,
                      int also) {
  std::vector<pollfd> descriptors = {{also, POLLIN, 0}};  // poll() passes over a negative one
  Clock::time_point wake = Clock::now() + timeout;
  for (WorkerPool* pool : pools) {
    if (!pool->why_no_process_.empty() && !pool->queue_.empty()) {
      wake = std::min(wake, pool->next_start_);
    }
    for (const Slot& slot : pool->slots_) {
      const auto watch = [&](const WorkerProcess& process, std::chrono::milliseconds limit) {
        const int events = process.is_sending() ? POLLIN | POLLOUT : POLLIN;
        descriptors.push_back({process.fd(), static_cast<short>(events), 0});
        wake = std::min(wake, Clock::now() + (limit - process.busy_for()));
      };
      if (slot.task) {
        watch(*slot.process, slot.task->limit);
      } else if (slot.process && !slot.process->ready()) {
        watch(*slot.process, kStartLimit);
      }
      if (slot.spare && !slot.spare->ready()) watch(*slot.spare, kStartLimit);
      if (!slot.leaving.empty()) wake = std::min(wake, Clock::now() + kLeavingInterval);
      if (!pool->queue_.empty() && pool->rests(slot)) {
        wake = std::min(wake, Clock::now() + (slot.rests_until - pool->share_.now()));
      }
    }
  }
  int ready = 0;
  for (auto left = Clock::duration::max(); ready == 0 && left.count() > 0;) {
    left = wake - Clock::now();
    const auto pause =
        std::max(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(0));
    ready = poll(descriptors.data(), descriptors.size(), static_cast<int>(pause.count()));
  }
  for (WorkerPool* pool : pools) {
    for (Slot& slot : pool->slots_) pool->tend(slot);
    pool->start_again();
    if (!pool->share_.is_whole() && pool->why_no_process_.empty()) pool->start_tasks();
  }
}

nlohmann::json WorkerPool::call(const std::string& verb, nlohmann::json request,
                                std::chrono::milliseconds limit) {
  std::optional<TaskResult> result;
  submit({verb, std::move(request), limit, false, [&](TaskResult r) { result = std::move(r); }});
  while (!result) wait({this}, limit);
  return reply_of(verb, *std::move(result));
}

nlohmann::json WorkerPool::reply_of(const std::string& verb, TaskResult result) {
  if (result.status == TaskResult::Status::reply) return std::move(result.reply);
  throw DeviceError(result.status == TaskResult::Status::refused
                        ? result.detail
                        : "the '" + verb + "' request failed: " + result.detail);
}

void WorkerPool::hurry(std::uint64_t number) {
  for (Slot& slot : slots_) {
    if (!slot.task || slot.task->number != number) continue;
    const auto more = warm_spares_ ? kUnwantedLimit : std::chrono::seconds(0);
    const auto limit =
        std::chrono::ceil<std::chrono::milliseconds>(slot.process->busy_for() + more);
    slot.task->limit = std::min(slot.task->limit, limit);
  }
  const auto queued = std::find_if(queue_.begin(), queue_.end(),
                                   [&](const Task& task) { return task.number == number; });
  if (queued == queue_.end()) return;
  const Task task = std::move(*queued);
  queue_.erase(queued);
  task.done({TaskResult::Status::died, {}, "nobody waits for it"});
}

}  // namespace gemm_tune

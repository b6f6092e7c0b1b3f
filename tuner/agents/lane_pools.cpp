// SPDX-License-Identifier: Apache-2.0
#include "tuner/agents/lane_pools.h"

#include <poll.h>

namespace gemm_tune {

void LanePools::wait(std::chrono::milliseconds timeout, int also) {
  pollfd descriptors[] = {{bell_.fd(), POLLIN, 0}, {also, POLLIN, 0}};
  poll(descriptors, 2, static_cast<int>(timeout.count()));
  bell_.quiet();
  for (ToLane& message : from_broker_.take()) {
    if (Wanted* const wanted = std::get_if<Wanted>(&message)) update(*wanted);
    if (Finished* const finished = std::get_if<Finished>(&message)) finish(*finished);
  }
}

void LanePools::submit(Pool& pool, Task task) {
  const TaskNumber number = next_++;
  tell(Submitted{number, task.verb, task.request, task.limit, task.fresh, !task.update});
  ++pool.pending_;
  open_.emplace(number, Open{&pool, std::move(task)});
}

void LanePools::update(const Wanted& wanted) {
  const auto open = open_.find(wanted.number);
  if (open == open_.end()) return;  // abandoned; the broker will hear of it
  nlohmann::json request = open->second.task.request;
  open->second.task.update(request);
  tell(Updated{wanted.lease, std::move(request)});
}

void LanePools::finish(Finished& finished) {
  const auto entry = open_.extract(finished.number);
  if (entry.empty()) return;
  Pool& pool = *entry.mapped().pool;
  --pool.pending_;
  entry.mapped().task.done(std::move(finished.result));
}

void LanePools::abandon(Pool& pool, const std::function<bool(const Task&)>& which) {
  for (auto open = open_.begin(); open != open_.end();) {
    if (open->second.pool != &pool || !which(open->second.task)) {
      ++open;
      continue;
    }
    tell(Abandoned{open->first});
    open = open_.erase(open);
    --pool.pending_;
  }
}

}  // namespace gemm_tune

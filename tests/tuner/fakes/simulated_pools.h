// SPDX-License-Identifier: Apache-2.0
// Compilers and a GPU that exist by a clock of their own only: a task takes as long as it is said
// to, and no real time. Every candidate is sound; its times are fake_candidates.h's.
//
// A strategy's choice takes no time by this clock, so that a run does the same on any machine.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "tests/tuner/fakes/fake_candidates.h"
#include "tuner/work/protocol.h"
#include "tuner/work/task_pool.h"

namespace gemm_tune::fake {

class SimulatedPools : public TaskPools {
 public:
  using Time = std::chrono::milliseconds;  // since the pools were made

  static constexpr Time kCompilation{1000}, kMeasurement{10}, kFinals{100};

  explicit SimulatedPools(
      std::size_t compilers, std::function<Time(const std::string& config)> compile_time =
                                 [](const std::string&) { return kCompilation; })
      : compile_time_(std::move(compile_time)),
        compilers_(*this, compilers),
        measurers_(*this, 1) {}

  TaskPool& compilers() override { return compilers_; }
  TaskPool& measurers() override { return measurers_; }

  // Ends the task that is the first to end, unless a strategy is to be heard first.
  void wait(std::chrono::milliseconds, int also) override {
    if (also >= 0) {
      pollfd answer = {also, POLLIN, 0};
      poll(&answer, 1, -1);
      return;
    }
    Pool* const first = compilers_.ends_at() <= measurers_.ends_at() ? &compilers_ : &measurers_;
    if (first->ends_at() == Time::max()) return;
    now_ = first->ends_at();
    first->end_one();
  }

  Time now() const { return now_; }
  // When the latest finals were over.
  Time finals_ended_at() const { return finals_ended_at_; }
  // Tasks that were abandoned one by one.
  std::size_t abandoned() const { return abandoned_; }

 private:
  class Pool : public TaskPool {
   public:
    Pool(SimulatedPools& all, std::size_t size) : all_(all), size_(size) {}

    void submit(Task task) override {
      queued_.push_back(std::move(task));
      begin();
    }
    std::size_t pending() const override { return queued_.size() + running_.size(); }
    std::size_t size() const override { return size_; }
    WorkersLoad load() const override { return {running_.size(), size_, 0}; }
    void abandon() override {
      queued_.clear();
      running_.clear();
    }
    void abandon(std::uint64_t number) override {
      const auto is_it = [number](const Task& task) { return task.number == number; };
      all_.abandoned_ += std::erase_if(queued_, is_it);
      all_.abandoned_ +=
          std::erase_if(running_, [&](const auto& one) { return is_it(one.second); });
      begin();
    }

    Time ends_at() const { return running_.empty() ? Time::max() : running_.begin()->first; }

    void end_one() {
      const Task task = std::move(running_.extract(running_.begin()).mapped());
      if (task.verb == "finals") all_.finals_ended_at_ = all_.now_;
      begin();
      TaskResult result;
      result.reply = answer(task);
      task.done(result);
    }

   private:
    void begin() {
      for (; running_.size() < size_ && !queued_.empty(); queued_.pop_front()) {
        Task& task = queued_.front();
        if (task.update) task.update(task.request);
        running_.emplace(all_.now_ + all_.duration(task), std::move(task));
      }
    }

    SimulatedPools& all_;
    const std::size_t size_;
    std::deque<Task> queued_;
    std::multimap<Time, Task> running_;  // by their ends
  };

  Time duration(const Task& task) const {
    if (task.verb == "compile") return compile_time_(task.request.at("config"));
    return task.verb == "finals" ? kFinals : kMeasurement;
  }

  static nlohmann::json answer(const Task& task) {
    if (task.verb == "compile") return compiled(task.request.get<CompileRequest>());
    if (task.verb == "measure") return measured(task.request.get<MeasureRequest>());
    return timed(task.request.get<FinalsRequest>());
  }

  static nlohmann::json compiled(const CompileRequest& request) {
    CompileReply reply;
    reply.config = request.config;
    reply.epilogue = request.epilogue;
    reply.ok = true;
    reply.cubin = cubin_of(request.config, request.epilogue);
    reply.cubin_key = cubin_key_of(request.config, request.epilogue);
    reply.resources.registers = 64;
    return reply;
  }

  static nlohmann::json measured(const MeasureRequest& request) {
    MeasureReply reply;
    reply.outcome.timing = timing(request.candidate.config);
    reply.outcome.error = error_of(request.candidate.config);
    return reply;
  }

  static nlohmann::json timed(const FinalsRequest& request) {
    FinalsReply reply;
    for (const CompiledConfig& finalist : request.finalists) {
      reply.finalists.push_back(timing(finalist.config));
      reply.errors.push_back(error_of(finalist.config));
    }
    reply.baselines = {{"cublasSgemm", "0.0", {120, {120, 120, 120}, 10}, kCublasError}};
    return reply;
  }

  // The slower with hot operands, the faster with cold ones.
  static Timing timing(const std::string& config) {
    const double us = time_us_of(config);
    return {us, {us, us, us, us, us, us}, 10, 1000 - us};
  }

  const std::function<Time(const std::string& config)> compile_time_;
  Time now_{0}, finals_ended_at_{0};
  std::size_t abandoned_ = 0;
  Pool compilers_, measurers_;
};

}  // namespace gemm_tune::fake

// SPDX-License-Identifier: Apache-2.0
// A job's progress on stderr: on a terminal a table of its nodes that is rewritten, elsewhere a
// plain line now and then, with --quiet nothing. Use from one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "tuner/agents/broker.h"

namespace gemm_tune {

// How far the job is.
struct JobProgress {
  std::size_t finished = 0, problems = 0;
  std::chrono::milliseconds elapsed{};
};

// A heading, a line for each node, and one of the whole; at most `rows` lines of at most `columns`:
// of more nodes, the busiest are left out. Pure.
std::vector<std::string> node_table(const std::vector<NodeStatus>& nodes,
                                    const JobProgress& progress, std::size_t rows,
                                    std::size_t columns);

// "12/40 problems, 5 nodes, GPU 4/5, compile 9/10, 1234 measured, 3:20 left". Pure.
std::string job_line(const std::vector<NodeStatus>& nodes, const JobProgress& progress);

class NodeTable {
 public:
  explicit NodeTable(bool quiet);
  ~NodeTable();  // clears the terminal's table
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  void show(const std::vector<NodeStatus>& nodes, std::size_t finished, std::size_t problems);

  // Clears the terminal's table, so that a result can be printed.
  void clear();

 private:
  const bool quiet_, terminal_;
  std::size_t lines_ = 0;  // shown on the terminal
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_shown_ = start_;
};

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "tuner/mpi/node_table.h"

#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tuner/report/progress.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {
namespace {

using std::chrono::milliseconds;

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t taken = columns_of(text);
  return text + std::string(taken < columns ? columns - taken : 0, ' ');
}

std::size_t terminal_rows() {
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return is_known ? size.ws_row : 24;
}

// Whether the job measures: on a GPU that serves, or did.
bool measures(const std::vector<NodeStatus>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.gpus > 0; });
}

std::string name_of(const NodeStatus& node) {
  return node.host.empty() ? ranks_text({node.peer}) : node.host;
}

bool is_idle(const NodeStatus& node) { return node.compilers_busy + node.gpus_busy == 0; }

}  // namespace

std::string job_line(const std::vector<NodeStatus>& nodes, const JobProgress& progress) {
  NodeStatus all;
  std::size_t lost = 0;
  for (const NodeStatus& node : nodes) {
    all.measured += node.measured;
    all.compiled += node.compiled;
    if (!node.gone.empty()) {
      ++lost;
      continue;
    }
    all.compilers_busy += node.compilers_busy;
    all.compilers += node.compilers;
    all.gpus_busy += node.gpus_busy;
    all.gpus += node.gpus;
  }
  std::string line = fmt::format("{}/{} problems, {} node{}", progress.finished, progress.problems,
                                 nodes.size() - lost, nodes.size() - lost == 1 ? "" : "s");
  if (lost > 0) line += fmt::format(" ({} lost)", lost);
  if (all.gpus > 0) line += fmt::format(", GPU {}/{}", all.gpus_busy, all.gpus);
  line += fmt::format(", compile {}/{}, ", all.compilers_busy, all.compilers);
  line += measures(nodes) ? fmt::format("{} measured", all.measured)
                          : fmt::format("{} compiled", all.compiled);
  const std::string left = time_left(progress.finished, progress.problems, progress.elapsed);
  return left.empty() ? line : line + ", " + left;
}

std::vector<std::string> node_table(const std::vector<NodeStatus>& nodes,
                                    const JobProgress& progress, std::size_t rows,
                                    std::size_t columns) {
  std::vector<NodeStatus> shown = nodes;
  const std::size_t room = rows > 3 ? rows - 3 : 1;  // heading, nodes left out, the whole
  const std::size_t left_out = shown.size() > room ? shown.size() - room : 0;
  if (left_out > 0) {
    // What needs attention comes first: lost nodes, then idle ones.
    std::stable_sort(shown.begin(), shown.end(), [](const NodeStatus& a, const NodeStatus& b) {
      const auto rank = [](const NodeStatus& node) {
        return !node.gone.empty() ? 0 : is_idle(node) ? 1 : 2;
      };
      return rank(a) < rank(b);
    });
    shown.resize(room);
  }
  std::size_t host = 4, device = 6;
  for (const NodeStatus& node : shown) {
    host = std::max(host, columns_of(name_of(node)));
    device = std::max(device, columns_of(node.device));
  }
  const auto line = [&](const std::string& first, const std::string& second, const std::string& gpu,
                        const std::string& compile, const std::string& done) {
    return cut_to_columns(padded(first, host) + "  " + padded(second, device) + "  " +
                              fmt::format("{:>5}  {:>9}  {}", gpu, compile, done),
                          columns);
  };
  const bool measures = gemm_tune::measures(nodes);
  std::vector<std::string> lines = {
      line("node", "device", "GPU", "compile", measures ? "measured" : "compiled")};
  for (const NodeStatus& node : shown) {
    const std::string done = !measures       ? fmt::format("{}", node.compiled)
                             : node.gpus > 0 ? fmt::format("{}", node.measured)
                                             : "-";
    lines.push_back(line(name_of(node), node.device,
                         node.gpus > 0 ? fmt::format("{}/{}", node.gpus_busy, node.gpus) : "-",
                         fmt::format("{}/{}", node.compilers_busy, node.compilers),
                         node.gone.empty() ? done : done + "; lost: " + node.gone));
  }
  if (left_out > 0) lines.push_back(fmt::format("and {} more nodes at work", left_out));
  lines.push_back(cut_to_columns(job_line(nodes, progress), columns));
  return lines;
}

NodeTable::NodeTable(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

NodeTable::~NodeTable() { clear(); }

void NodeTable::clear() {
  if (lines_ > 0) fmt::print(stderr, "\033[{}A\r\033[J", lines_);
  lines_ = 0;
}

void NodeTable::show(const std::vector<NodeStatus>& nodes, std::size_t finished,
                     std::size_t problems) {
  if (quiet_) return;
  const auto now = std::chrono::steady_clock::now();
  const JobProgress progress{finished, problems,
                             std::chrono::duration_cast<milliseconds>(now - start_)};
  if (!terminal_) {
    if (now - last_shown_ < plain_interval(progress.elapsed)) return;
    last_shown_ = now;
    fmt::print(stderr, "{}\n", job_line(nodes, progress));
    return;
  }
  const std::vector<std::string> lines =
      node_table(nodes, progress, terminal_rows() - 1, terminal_columns(STDERR_FILENO) - 1);
  clear();
  for (const std::string& line : lines) fmt::print(stderr, "{}\n", line);
  lines_ = lines.size();
}

}  // namespace gemm_tune

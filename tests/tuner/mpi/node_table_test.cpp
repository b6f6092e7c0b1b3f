// SPDX-License-Identifier: Apache-2.0
#include "tuner/mpi/node_table.h"

#include "tests/matchers.h"

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;

NodeStatus node(const std::string& host, std::size_t measured, const std::string& gone = "") {
  return {host, "NVIDIA H100", 7, 15, 1, 2, measured, 4000, gone};
}

TEST(NodeTableTest, HasALineForEachNodeAndOneOfTheWhole) {
  const std::vector<NodeStatus> nodes = {node("a", 12), node("node2", 345, "the agent is lost")};
  EXPECT_THAT(node_table(nodes, {2, 6, 60s}, 24, 100),
              ElementsAre("node   device         GPU    compile  measured",
                          "a      NVIDIA H100    1/2       7/15  12",
                          "node2  NVIDIA H100    1/2       7/15  345; lost: the agent is lost",
                          "2/6 problems, 1 node (1 lost), GPU 1/2, compile 7/15, 357 measured, "
                          "2:00 left"));
}

TEST(NodeTableTest, FitsTheTerminalAndLeavesOutNodesAtWorkFirst) {
  std::vector<NodeStatus> nodes;
  for (int i = 0; i < 100; ++i) nodes.push_back(node("n" + std::to_string(i), 1));
  nodes[70].gpus_busy = nodes[70].compilers_busy = 0;
  nodes[80].gone = "the agent is lost";
  const std::vector<std::string> lines = node_table(nodes, {0, 6, 60s}, 7, 40);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_TRUE(lines[1].starts_with("n80 ") && lines[2].starts_with("n70 ")) << lines[1] << lines[2];
  EXPECT_EQ(lines[5], "and 96 more nodes at work");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 40u) << line;
}

TEST(NodeTableTest, ALineOfAJobWithoutGpusSaysWhatWasCompiled) {
  NodeStatus cpu{"a", "NVIDIA A10", 2, 2, 0, 0, 0, 9, ""};
  EXPECT_EQ(job_line({cpu}, {0, 6, 1s}), "0/6 problems, 1 node, compile 2/2, 9 compiled");
  EXPECT_THAT(node_table({cpu}, {0, 6, 1s}, 24, 100),
              ElementsAre("node  device        GPU    compile  compiled",
                          "a     NVIDIA A10      -        2/2  9", testing::_));
}

TEST(NodeTableTest, CompilationsOfANodeWithoutAGpuAreNotMeasurements) {
  const NodeStatus compiler{"b", "NVIDIA H100", 2, 2, 0, 0, 0, 900, ""};
  NodeStatus lost;
  lost.peer = 3;
  lost.gone = "the agent is lost";
  EXPECT_THAT(node_table({node("a", 12), compiler, lost}, {0, 6, 1s}, 24, 100),
              ElementsAre("node    device         GPU    compile  measured",
                          "a       NVIDIA H100    1/2       7/15  12",
                          "b       NVIDIA H100      -        2/2  -",
                          "rank 3                   -        0/0  -; lost: the agent is lost",
                          "0/6 problems, 2 nodes (1 lost), GPU 1/2, compile 9/17, 12 measured"));
}

}  // namespace
}  // namespace gemm_tune

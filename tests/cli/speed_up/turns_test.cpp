// SPDX-License-Identifier: Apache-2.0
#include "cli/speed_up/turns.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;

WantedProblem wanted(const std::string& text, double cost) {
  WantedProblem one;
  one.text = text;
  one.cost = cost;
  return one;
}

std::string products(const Turn& turn) {
  std::string all;
  for (const WantedProblem& one : turn.products) all += one.text;
  return all;
}

TEST(TurnsTest, TheCostliestComeFirstAndThenThoseThatHadFewerTurns) {
  const std::vector<WantedProblem> all = {wanted("a", 5), wanted("b", 4), wanted("c", 3),
                                          wanted("d", 2), wanted("e", 1)};
  Turns turns;
  EXPECT_EQ(products(turns.next(all, 600s)), "abc");
  EXPECT_EQ(products(turns.next(all, 600s)), "dea");
  EXPECT_EQ(products(turns.next(all, 600s)), "bcd");
}

TEST(TurnsTest, AFinishedProductHasNoFurtherTurn) {
  const std::vector<WantedProblem> all = {wanted("a", 5), wanted("b", 4)};
  Turns turns;
  turns.finish("a");
  EXPECT_EQ(products(turns.next(all, 600s)), "b");
  turns.finish("b");
  EXPECT_EQ(products(turns.next(all, 600s)), "");
  EXPECT_EQ(products(turns.next({wanted("a", 5), wanted("b", 4), wanted("c", 1)}, 600s)), "c");
}

TEST(TurnsTest, ATurnHasItsShareOfTheTimeByCostButHalfOfItAtMost) {
  const std::vector<WantedProblem> all = {wanted("a", 1), wanted("b", 1), wanted("c", 1),
                                          wanted("d", 1), wanted("e", 6)};
  Turns turns;
  EXPECT_EQ(turns.next(all, 1000s).time, 500s);
  turns.finish("e");
  Turns of_equals;
  std::vector<WantedProblem> ten(10, wanted("x", 1));
  for (std::size_t i = 0; i < ten.size(); ++i) ten[i].text += std::to_string(i);
  EXPECT_EQ(of_equals.next(ten, 1000s).time, 300s);
  EXPECT_EQ(of_equals.next(ten, 100s).time, 60s);  // less would find little
  EXPECT_EQ(of_equals.next(ten, 40s).time, 40s);
  EXPECT_EQ(of_equals.next({wanted("free", 0)}, 1000s).time, 500s);
}

}  // namespace
}  // namespace gemm_tune

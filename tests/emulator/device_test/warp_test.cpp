// SPDX-License-Identifier: Apache-2.0
// ldmatrix and mma.sync as the lanes of an emulated warp see them.
#include "tests/emulator/device/warp.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/emulator/device/emulator.h"
#include "tests/matchers.h"

namespace gemm_tune::emulator {
namespace {

using Thread = std::function<void(Cta&)>;
constexpr Order kOrders[] = {Order::forward, Order::reversed, Order::shuffled};

void run(const Thread& thread, const Launch& launch = {}, int threads = kWarp) {
  Emulator emulator(threads, 2048);
  emulator.run(launch, thread);
}

std::string error_of(const Thread& thread, int threads = kWarp) {
  try {
    run(thread, {}, threads);
  } catch (const ExecutionError& error) {
    return error.what();
  }
  return "no error";
}

int lane_of(const Cta& cta) { return static_cast<int>(cta.thread.x) % kWarp; }

// Four matrices of 8 x 8 one after the other; an element's number is 100 matrix + 10 row + column.
std::uint16_t* stored_matrices(Cta& cta) {
  auto* const memory = reinterpret_cast<std::uint16_t*>(cta.take(0, 4 * 64 / 2));
  const int lane = lane_of(cta);
  for (int column = 0; column < 8; ++column) {
    memory[lane * 8 + column] = static_cast<std::uint16_t>(lane / 8 * 100 + lane % 8 * 10 + column);
  }
  cta.barrier(false, "kernel", 1);
  return memory;
}

// Each matrix's two elements of each lane, the first as it is.
struct Loaded {
  unsigned first, second;
  friend bool operator==(const Loaded&, const Loaded&) = default;
};
std::vector<std::vector<Loaded>> load(int matrices, bool transposed, Order order) {
  std::vector<std::vector<Loaded>> loaded(kWarp);
  run(
      [&](Cta& cta) {
        const std::uint16_t* const memory = stored_matrices(cta);
        const int lane = lane_of(cta);
        unsigned fragments[4] = {};
        // Lanes beyond the last row bring an address that nobody may read.
        const void* row = lane < 8 * matrices ? memory + lane * 8 : nullptr;
        cta.load_matrices(row, matrices, transposed, fragments, "kernel", 2);
        for (int m = 0; m < matrices; ++m) {
          loaded[static_cast<std::size_t>(lane)].push_back(
              {fragments[m] & 0xffff, fragments[m] >> 16});
        }
      },
      {{1}, order, 1});
  return loaded;
}

TEST(LoadMatrices, GivesEachLaneTwoNeighboursOfARow) {
  for (const Order order : kOrders) {
    for (const int matrices : {1, 2, 4}) {
      const auto loaded = load(matrices, false, order);
      for (unsigned lane = 0; lane < kWarp; ++lane) {
        for (unsigned m = 0; m < loaded[lane].size(); ++m) {
          const unsigned first = m * 100 + lane / 4 * 10 + lane % 4 * 2;
          EXPECT_EQ(loaded[lane][m], (Loaded{first, first + 1})) << lane;
        }
      }
    }
  }
  EXPECT_EQ(load(4, false, Order::forward)[13][2], (Loaded{232, 233}));
}

TEST(LoadMatrices, TransposedGivesEachLaneTwoNeighboursOfAColumn) {
  for (const int matrices : {1, 2, 4}) {
    const auto loaded = load(matrices, true, Order::shuffled);
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      for (unsigned m = 0; m < loaded[lane].size(); ++m) {
        const unsigned first = m * 100 + lane % 4 * 2 * 10 + lane / 4;
        EXPECT_EQ(loaded[lane][m], (Loaded{first, first + 10})) << lane;
      }
    }
  }
  EXPECT_EQ(load(4, true, Order::forward)[13][2], (Loaded{223, 233}));
}

TEST(LoadMatrices, ReportsAnAddressThatIsNotAligned) {
  EXPECT_THAT(error_of([](Cta& cta) {
                unsigned fragments[1];
                const std::uint16_t* const row = stored_matrices(cta) + lane_of(cta) % 8 * 8;
                cta.load_matrices(row + (lane_of(cta) == 3 ? 4 : 0), 1, false, fragments, "kernel",
                                  2);
              }),
              AllOf(HasSubstr("thread 3 of CTA 0"), HasSubstr("not aligned to 16 bytes")));
}

TEST(LoadMatrices, GiveNanWhereNothingWasStored) {
  run([](Cta& cta) {
    const auto* const memory = reinterpret_cast<const std::uint16_t*>(cta.take(0, 128));
    unsigned fragments[4];
    cta.load_matrices(memory + lane_of(cta) * 8, 4, true, fragments, "kernel", 1);
    for (const unsigned fragment : fragments) {
      for (const Float16Format format : {kF16, kBf16}) {
        EXPECT_TRUE(std::isnan(to_float(format, static_cast<std::uint16_t>(fragment))));
        EXPECT_TRUE(std::isnan(to_float(format, static_cast<std::uint16_t>(fragment >> 16))));
      }
    }
  });
}

TEST(LoadMatrices, DieOutsideTheArrays) {
  EXPECT_DEATH(run([](Cta& cta) {
                 const auto* const memory = reinterpret_cast<const std::uint16_t*>(cta.take(0, 32));
                 unsigned fragments[2];
                 cta.load_matrices(memory + lane_of(cta) * 8, 2, false, fragments, "kernel", 1);
               }),
               "AddressSanitizer: .*-poison");
}

// What another lane stores is sure to be there only after a warp barrier.
TEST(LoadMatrices, DoNotSeeWhatIsStoredWithoutABarrier) {
  for (const bool with_barrier : {false, true}) {
    int stale = 0;
    run([&](Cta& cta) {
      auto* const memory = reinterpret_cast<std::uint16_t*>(cta.take(0, 32));
      const int lane = lane_of(cta);
      memory[2 * lane] = memory[2 * lane + 1] = static_cast<std::uint16_t>(lane);
      if (with_barrier) cta.shuffle_xor(0xffffffff, 0, 0, "kernel", 1);
      unsigned fragment = 0;
      cta.load_matrices(memory + lane % 8 * 8, 1, false, &fragment, "kernel", 2);
      if ((fragment & 0xffff) != static_cast<unsigned>(lane)) ++stale;
    });
    EXPECT_EQ(stale > 0, !with_barrier);
  }
}

// Operands by rows and columns, and the fragments that PTX's formulas give a lane of them.
struct Operands {
  OperandFormat format;
  int k;
  float a[16][16], b[16][8], c[16][8];

  MmaOperands of_lane(int lane) const {
    const int group = lane >> 2, in_group = lane % 4;
    MmaOperands operands{format, k, {}, {}};
    if (format == kOperandTf32) {
      for (int i = 0; i < 4; ++i) {  // a0, a1, ...
        const float element = a[group + i % 2 * 8][in_group + i / 2 * 4];
        operands.a[static_cast<std::size_t>(i)] = std::bit_cast<unsigned>(element);
      }
      for (int i = 0; i < 2; ++i) {  // b0, b1
        const float element = b[in_group + i * 4][group];
        operands.b[static_cast<std::size_t>(i)] = std::bit_cast<unsigned>(element);
      }
      return operands;
    }
    const Float16Format of_16_bits = format == kOperandF16 ? kF16 : kBf16;
    const auto put = [&](unsigned& reg, int half, float value) {
      reg |= static_cast<unsigned>(from_float(of_16_bits, value)) << (16 * half);
    };
    for (int i = 0; i < k / 2; ++i) {  // a0, a1, ...
      const int row =
          k == 16 ? (i < 2 || (4 <= i && i < 6) ? group : group + 8) : (i < 2 ? group : group + 8);
      const int col = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      put(operands.a[static_cast<std::size_t>(i / 2)], i % 2, a[row][col]);
    }
    for (int i = 0; i < k / 4; ++i) {  // b0, b1, ...
      const int row = in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
      put(operands.b[static_cast<std::size_t>(i / 2)], i % 2, b[row][group]);
    }
    return operands;
  }
};

Operands whole_numbers(const OperandFormat& format, int k) {
  Operands o{format, k, {}, {}, {}};
  for (int row = 0; row < 16; ++row) {
    for (int i = 0; i < k; ++i) o.a[row][i] = static_cast<float>((row * 7 + i * 3) % 11 - 5);
    for (int col = 0; col < 8; ++col) o.c[row][col] = static_cast<float>(row - 10 * col);
  }
  for (int i = 0; i < k; ++i) {
    for (int col = 0; col < 8; ++col) o.b[i][col] = static_cast<float>((i * 5 + col * 2) % 13 - 6);
  }
  return o;
}

void expect_product(const Operands& o, const Launch& launch) {
  float d[16][8] = {};
  run(
      [&](Cta& cta) {
        const int lane = lane_of(cta), group = lane >> 2, in_group = lane % 4;
        float sums[4];
        const auto place = [&](auto& matrix, int i) -> auto& {
          return matrix[i < 2 ? group : group + 8][in_group * 2 + (i & 1)];
        };
        for (int i = 0; i < 4; ++i) sums[i] = place(o.c, i);
        cta.multiply_add(o.of_lane(lane), sums, "kernel", 1);
        for (int i = 0; i < 4; ++i) place(d, i) = sums[i];
      },
      launch);
  for (int row = 0; row < 16; ++row) {
    for (int col = 0; col < 8; ++col) {
      float want = o.c[row][col];
      for (int i = 0; i < o.k; ++i) want += o.a[row][i] * o.b[i][col];
      EXPECT_EQ(d[row][col], want) << row << " " << col;
    }
  }
}

TEST(MultiplyAdd, IsTheProductOfFragmentsAsThePtxIsaDealsThemOut) {
  for (const Order order : kOrders) {
    for (const int k : {8, 16}) {
      expect_product(whole_numbers(kOperandF16, k), {{1}, order, 1});
      expect_product(whole_numbers(kOperandBf16, k), {{1}, order, 1});
    }
    expect_product(whole_numbers(kOperandTf32, 8), {{1}, order, 1});
  }
}

// A step rounds its sum to f16, to nearest and ties to even.
TEST(MultiplyAdd, RoundsSumsOfF16InEachStep) {
  const auto sum_of = [](float so_far, float added, int sm) {
    Operands o{kOperandF16, 16, {}, {}, {}};
    o.a[9][1] = o.a[9][12] = added;
    o.b[1][5] = o.b[12][5] = 1;
    float sum = 0;
    run(
        [&](Cta& cta) {
          const int lane = lane_of(cta);
          float sums[4] = {};
          if (lane == 6) sums[3] = so_far;  // row 9, column 5
          MmaOperands operands = o.of_lane(lane);
          operands.sums_in_f16 = true;
          cta.multiply_add(operands, sums, "kernel", 1);
          if (lane == 6) sum = sums[3];
        },
        {{1}, Order::forward, 1, 1, tensor_core_of(sm)});
    return sum;
  };
  EXPECT_EQ(sum_of(100, 1, 90), 102);
  EXPECT_EQ(sum_of(2048, 1, 90), 2050);  // 16 products a step
  EXPECT_EQ(sum_of(2048, 1, 80), 2048);  // 8 a step
  EXPECT_EQ(sum_of(2048, 3, 80), 2056);  // 2051 and 2055 to the even neighbours
  EXPECT_EQ(sum_of(60000, 5000, 80), std::numeric_limits<float>::infinity());
  EXPECT_EQ(sum_of(0x1p-24f, -0x1p-24f, 80), -0x1p-24f);
}

TEST(MultiplyAdd, RoundsAsTheArchitectureOfTheLaunch) {
  Operands o{kOperandF16, 16, {}, {}, {}};
  o.c[9][5] = 1;
  o.a[9][1] = o.a[9][12] = o.b[1][5] = o.b[12][5] = 0x1p-12f;
  for (const int sm : {80, 90}) {
    float sum = 0;
    run(
        [&](Cta& cta) {
          const int lane = lane_of(cta);
          float sums[4] = {};
          if (lane == 6) sums[3] = 1;  // row 9, column 5
          cta.multiply_add(o.of_lane(lane), sums, "kernel", 1);
          if (lane == 6) sum = sums[3];
        },
        {{1}, Order::forward, 1, 1, tensor_core_of(sm)});
    EXPECT_EQ(sum, sm == 80 ? 1 : 1 + 0x1p-23f);
  }
}

TEST(MultiplyAdd, ReportsALaneThatIsMissing) {
  const auto error = error_of([](Cta& cta) {
    float sums[4] = {};
    if (lane_of(cta) != 5) cta.multiply_add({kOperandF16, 16, {}, {}}, sums, "kernel.cuh", 7);
  });
  EXPECT_THAT(error, AllOf(HasSubstr("thread 4 of CTA 0 waits at the mma in kernel.cuh:7"),
                           HasSubstr("thread 5 of CTA 0 has left")));
}

TEST(MultiplyAdd, ReportsLanesWithAnotherInstruction) {
  const auto error = error_of([](Cta& cta) {
    float sums[4] = {};
    unsigned fragments[4];
    const void* const row = stored_matrices(cta);
    if (lane_of(cta) < 20) {
      cta.load_matrices(row, 4, false, fragments, "kernel.cuh", 7);
    } else {
      cta.multiply_add({kOperandF16, 16, {}, {}}, sums, "kernel.cuh", 7);
    }
  });
  EXPECT_THAT(error, AllOf(HasSubstr("thread 19 of CTA 0 waits at the ldmatrix in kernel.cuh:7"),
                           HasSubstr("thread 20 of CTA 0 waits at the mma in kernel.cuh:7")));
  EXPECT_THAT(
      error_of([](Cta& cta) {
        float sums[4] = {};
        cta.multiply_add({kOperandF16, lane_of(cta) == 9 ? 8 : 16, {}, {}}, sums, "kernel", 1);
      }),
      HasSubstr("comes with another instruction than others"));
  EXPECT_THAT(error_of([](Cta& cta) {
                float sums[4] = {};
                cta.multiply_add({lane_of(cta) == 9 ? kOperandF16 : kOperandBf16, 16, {}, {}}, sums,
                                 "kernel", 1);
              }),
              HasSubstr("comes with another instruction than others"));
}

TEST(MultiplyAdd, ReportsAWarpOfFewerLanes) {
  EXPECT_THAT(error_of(
                  [](Cta& cta) {
                    float sums[4] = {};
                    cta.multiply_add({kOperandF16, 16, {}, {}}, sums, "kernel.cuh", 7);
                  },
                  40),
              AllOf(HasSubstr("thread 32 of CTA 0"), HasSubstr("mma in kernel.cuh:7"),
                    HasSubstr("fewer than 32 lanes")));
}

}  // namespace
}  // namespace gemm_tune::emulator

// SPDX-License-Identifier: Apache-2.0
// Hopper's barriers, copy engine and wgmma as an emulated kernel sees them, on kernels written
// here.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/launch/launch_plan.h"
#include "tests/emulator/device/emulator.h"
// Last: its macros are CUDA's names.
#include "tests/emulator/device/cuda_on_cpu.h"
#include "tests/matchers.h"

namespace gemm_tune::wgmma {
namespace {

using emulator::current;
using emulator::ExecutionError;
using emulator::Launch;
using emulator::Order;

constexpr Order kOrders[] = {Order::forward, Order::reversed, Order::shuffled};
constexpr int kSmemBytes = 32 * 1024;
constexpr int kGroup = emulator::kWarpgroup;

int thread_id() { return static_cast<int>(threadIdx.x); }

void run(int threads, const std::function<void()>& kernel, const Launch& launch = {},
         int resident_ctas = 1) {
  emulator::Emulator emulator(threads, kSmemBytes, resident_ctas);
  emulator.run(launch, [&](emulator::Cta& cta) {
    current = &cta;
    await_earlier_launch();
    kernel();
  });
}

std::string error_of(int threads, const std::function<void()>& kernel, const Launch& launch = {},
                     int resident_ctas = 1) {
  try {
    run(threads, kernel, launch, resident_ctas);
  } catch (const ExecutionError& error) {
    return error.what();
  }
  return "no error";
}

// Two CTAs along y as a cluster.
Launch cluster_of_two(Order order = Order::forward) { return {{1, 2, 1}, order, 1, 2}; }

Barrier* barrier_at(int address) { return reinterpret_cast<Barrier*>(shared_memory() + address); }

// Thread 0 initialises the barrier at the end of shared memory, before all meet.
Barrier* initialised(int count, int threads) {
  Barrier* const barrier = barrier_at(kSmemBytes - 8);
  if (thread_id() == 0) {
    init_barrier(barrier, count);
    publish_barriers();
  }
  meet(1, threads);
  return barrier;
}

// --- barriers -----------------------------------------------------------------------------------

TEST(Mbarrier, LetsWaitersGoOnWhenAllHaveArrivedThatCount) {
  for (const Order order : kOrders) {
    int arrived = 0;
    std::vector<int> seen;
    run(32,
        [&] {
          Barrier* const barrier = initialised(3, 32);
          if (thread_id() < 3) {
            ++arrived;
            arrive(barrier);
          } else if (thread_id() < 6) {
            wait(barrier, 0);
            seen.push_back(arrived);
          }
        },
        {{1}, order, 1});
    EXPECT_THAT(seen, ElementsAre(3, 3, 3)) << to_string(order);
  }
}

TEST(Mbarrier, CountsItsPhasesByParity) {
  EXPECT_EQ(error_of(32,
                     [] {
                       Barrier* const barrier = initialised(1, 32);
                       if (thread_id() != 0) return;
                       wait(barrier, 1);  // the phase before the first one
                       arrive(barrier);
                       wait(barrier, 0);
                       arrive(barrier);
                       wait(barrier, 1);
                     }),
            "no error");
}

TEST(Mbarrier, ReportsAWaitThatNobodyEnds) {
  const std::string error = error_of(32, [] {
    Barrier* const barrier = initialised(2, 32);
    if (thread_id() == 0) arrive(barrier);
    if (thread_id() > 29) wait(barrier, 0);
  });
  EXPECT_THAT(
      error,
      AllOf(StartsWith("nobody can go on: thread 0 of CTA 0 has left the kernel"),
            HasSubstr("but thread 30 of CTA 0 waits at the mbarrier in "),
            HasSubstr("hopper_test.cpp:"), HasSubstr("at address 32760, for parity 0"),
            HasSubstr("phase 0 lacks 1 of 2 arrivals and 0 bytes"), EndsWith("as the 1 after it")));
}

TEST(Mbarrier, ReportsAParityOneTooFar) {
  EXPECT_THAT(error_of(32,
                       [] {
                         Barrier* const barrier = initialised(1, 32);
                         if (thread_id() != 0) return;
                         arrive(barrier);
                         wait(barrier, 1);
                       }),
              AllOf(HasSubstr("nobody can go on"), HasSubstr("phase 1 lacks 1 of 1 arrivals")));
}

TEST(Mbarrier, ReportsUsesThatAreUndefined) {
  const auto error_of_first = [](const std::function<void(Barrier*)>& use) {
    return error_of(32, [&] {
      if (thread_id() == 0) use(barrier_at(64));
    });
  };
  EXPECT_THAT(error_of_first([](Barrier* b) { arrive(b); }),
              HasSubstr("thread 0 of CTA 0 uses a barrier that is not initialised"));
  EXPECT_THAT(error_of_first([](Barrier* b) { wait(b, 0); }), HasSubstr("not initialised"));
  EXPECT_THAT(error_of_first([](Barrier* b) { init_barrier(b, 0); }), HasSubstr("for no thread"));
  EXPECT_THAT(error_of_first([](Barrier* b) {
                init_barrier(b, 1);
                init_barrier(b, 1);
              }),
              HasSubstr("initialises a barrier again"));
  EXPECT_THAT(error_of_first([](Barrier* b) {
                init_barrier(b, 1);
                arrive_expecting(b, 16);
                arrive(b);
              }),
              HasSubstr("arrives where all have arrived that count"));
}

TEST(Mbarrier, DiesWhereItIsOverwritten) {
  EXPECT_DEATH(run(32,
                   [] {
                     if (thread_id() != 0) return;
                     init_barrier(barrier_at(64), 1);
                     *barrier_at(64) = 0;
                   }),
               "AddressSanitizer: use-after-poison");
}

TEST(Mbarrier, OfAPeerTakesArrivalsOfTheWholeCluster) {
  for (const Order order : kOrders) {
    int passed = 0;
    run(
        32,
        [&] {
          Barrier* const barrier = initialised(2, 32);
          meet_cluster();
          if (thread_id() < 2) arrive_at_peer(barrier, thread_id());
          if (thread_id() == 2) {
            wait(barrier, 0);
            ++passed;
          }
          meet_cluster();
        },
        cluster_of_two(order), 2);
    EXPECT_EQ(passed, 2) << to_string(order);
  }
}

TEST(Mbarrier, OfAPeerMustBePublishedAndThePeerThere) {
  EXPECT_THAT(error_of(
                  32,
                  [] {
                    if (thread_id() == 0) init_barrier(barrier_at(64), 1);
                    meet_cluster();
                    if (thread_id() == 0) arrive_at_peer(barrier_at(64), 1 - cluster_rank());
                    meet_cluster();
                  },
                  cluster_of_two(), 2),
              HasSubstr("CTA 0,1,0, that is not initialised and published"));
  EXPECT_THAT(error_of(
                  32,
                  [] {
                    Barrier* const barrier = initialised(1, 32);
                    meet_cluster();
                    if (cluster_rank() == 0) return;
                    meet(2, 32);  // lets the other CTA end
                    if (thread_id() == 0) arrive_at_peer(barrier, 0);
                  },
                  cluster_of_two(), 2),
              HasSubstr("thread 0 of CTA 0,1,0 uses a barrier of a CTA that has ended"));
}

TEST(NamedBarrier, LetsSomeThreadsMeetAndOthersOnlyCount) {
  for (const Order order : kOrders) {
    int came = 0;
    std::vector<int> seen;
    run(96,
        [&] {
          if (thread_id() >= 64) return;
          ++came;
          if (thread_id() < 32) return announce(3, 64);
          meet(3, 64);
          seen.push_back(came);
        },
        {{1}, order, 1});
    EXPECT_EQ(seen, std::vector<int>(32, 64)) << to_string(order);
  }
}

TEST(NamedBarrier, ReportsWhatAGpuLeavesUndefined) {
  EXPECT_THAT(error_of(64, [] { meet(1, thread_id() < 32 ? 64 : 32); }),
              HasSubstr("thread 32 of CTA 0 comes as one of 32 threads to a barrier of 64"));
  EXPECT_THAT(error_of(32, [] { meet(1, 16); }), HasSubstr("no whole warps"));
  EXPECT_THAT(error_of(32, [] { meet(16, 32); }), HasSubstr("a barrier that is none"));
  EXPECT_THAT(error_of(64,
                       [] {
                         if (thread_id() >= 32) return;
                         announce(2, 64);
                         announce(2, 64);
                       }),
              HasSubstr("comes again to a barrier before the others have come: 1 of 64"));
  EXPECT_THAT(error_of(64,
                       [] {
                         if (thread_id() < 32) announce(2, 64);
                       }),
              HasSubstr("CTA 0 ends while its barrier 2 waits: 32 of 64 threads have come"));
  EXPECT_THAT(error_of(64,
                       [] {
                         if (thread_id() < 32) meet(2, 64);
                       }),
              AllOf(HasSubstr("nobody can go on: thread 0 of CTA 0 waits at the barrier in "),
                    HasSubstr("thread 32 of CTA 0 has left the kernel, as the 31 after it")));
}

TEST(EarlierLaunch, EndsOnlyWhereSomebodyWaitsForIt) {
  for (const Order order : {Order::forward, Order::reversed}) {
    int result = 1, before = 0, after = 0;
    Launch launch = {{3}, order};
    launch.earlier_end = [&] { result = 2; };
    emulator::Emulator(64, kSmemBytes, 2).run(launch, [&](emulator::Cta& cta) {
      current = &cta;
      if (blockIdx.x == 0) before += result;
      __syncthreads();
      await_earlier_launch();
      after += result;
    });
    EXPECT_EQ(before, order == Order::reversed ? 2 * 64 : 64) << to_string(order);
    EXPECT_EQ(after, 3 * 2 * 64) << to_string(order);
  }
}

TEST(EarlierLaunch, EndsAfterALaunchThatDoesNotWait) {
  int result = 1;
  Launch launch;
  launch.earlier_end = [&] { result = 2; };
  emulator::Emulator(32, kSmemBytes).run(launch, [&](emulator::Cta& cta) {
    current = &cta;
    result = 3;
  });
  EXPECT_EQ(result, 2);
}

TEST(Uniform, GivesAllLanesTheFirstOnesValue) {
  int wrong = 0;
  run(64, [&] { wrong += uniform(thread_id() + 1) != thread_id() / 32 * 32 + 1; });
  EXPECT_EQ(wrong, 0);
}

// --- boxes --------------------------------------------------------------------------------------

// A batch of 16-bit matrices whose elements are their numbers, with room behind each row.
struct Tensor {
  static constexpr int kCols = 40, kRows = 12, kMatrices = 2, kLd = 48;
  alignas(16) std::uint16_t x[kMatrices][kRows][kLd];

  Tensor() {
    std::uint16_t next = 1;
    for (auto& matrix : x) {
      for (auto& row : matrix) {
        for (std::uint16_t& element : row) element = next++;
      }
    }
  }

  // cols: of the tensor that the map knows.
  TensorMap map(int box_cols, int box_rows, Swizzle swizzle, int cols = kCols) {
    BoundTensorMap bound{};
    bound.address = reinterpret_cast<std::uint64_t>(x);
    bound.size = {cols, kRows, kMatrices};
    bound.stride_bytes = {kLd * 2, kRows * kLd * 2};
    bound.box = {box_cols, box_rows, 1};
    bound.dims = 3;
    bound.element = TensorElement::bits_16;
    bound.swizzle = swizzle;
    TensorMap as_passed;
    std::memcpy(&as_passed, &bound, sizeof bound);
    return as_passed;
  }

  std::uint16_t at(int matrix, int row, int col) const {
    const bool exists =
        0 <= matrix && matrix < kMatrices && 0 <= row && row < kRows && 0 <= col && col < kCols;
    return exists ? x[matrix][row][col] : std::uint16_t{0};
  }
};

std::uint16_t smem_element(int address) {
  std::uint16_t element = 0;
  std::memcpy(&element, shared_memory() + address, sizeof element);
  return element;
}
bool is_nan(std::uint16_t bits) { return std::isnan(to_float(kBf16, bits)); }

TEST(LoadBox, BringsElementsSwizzledAndZerosForWhatIsOutside) {
  struct Pattern {
    Swizzle swizzle;
    int cols, mask;  // of 16-byte chunks, exchanged by the address' bits from 7 on
  };
  for (const auto& [swizzle, cols, mask] :
       {Pattern{Swizzle::none, 24, 0}, Pattern{Swizzle::bytes_32, 16, 1},
        Pattern{Swizzle::bytes_64, 32, 3}, Pattern{Swizzle::bytes_128, 64, 7}}) {
    Tensor tensor;
    const TensorMap map = tensor.map(cols, 8, swizzle);
    for (const Box from : {Box{0, 0, 0}, Box{24, 7, 1}, Box{-8, -3, 0}, Box{0, 0, 2}}) {
      int wrong = 0;
      run(32, [&, cols = cols, mask = mask] {
        Barrier* const barrier = initialised(1, 32);
        if (thread_id() != 0) return;
        arrive_expecting(barrier, cols * 8 * 2);
        load_box(shared_memory() + 1024, map, barrier, from, 0);
        wrong += !is_nan(smem_element(1024));
        wait(barrier, 0);
        for (int row = 0; row < 8; ++row) {
          for (int col = 0; col < cols; ++col) {
            const int address = 1024 + (row * cols + col) * 2;
            const int at = address ^ ((address >> 7 & mask) << 4);
            wrong += smem_element(at) != tensor.at(from.batch, from.y + row, from.x + col);
          }
        }
      });
      EXPECT_EQ(wrong, 0) << cols << " " << from.x;
    }
  }
}

// Two boxes of 512 bytes, of which the barrier expects so many bytes.
std::string loaded_expecting(int bytes, Order order = Order::forward) {
  Tensor tensor;
  const TensorMap map = tensor.map(32, 8, Swizzle::bytes_64);
  return error_of(32,
                  [&] {
                    Barrier* const barrier = initialised(1, 32);
                    if (thread_id() != 0) return;
                    arrive_expecting(barrier, bytes);
                    load_box(shared_memory(), map, barrier, {0, 0, 0}, 0);
                    load_box(shared_memory() + 512, map, barrier, {0, 4, 0}, 0);
                    wait(barrier, 0);
                  },
                  {{1}, order, 1});
}

TEST(LoadBox, MustBringTheBytesThatAreExpected) {
  for (const Order order : kOrders) {
    EXPECT_EQ(loaded_expecting(1024, order), "no error");
    EXPECT_THAT(loaded_expecting(1008, order), HasSubstr("brings more bytes than are expected"));
    EXPECT_THAT(loaded_expecting(512, order), HasSubstr("ends while 512 bytes are under way"));
    EXPECT_THAT(loaded_expecting(1040, order),
                AllOf(HasSubstr("nobody can go on"), HasSubstr("0 of 1 arrivals and 16 bytes")));
  }
}

TEST(LoadBox, ReportsWhatIsWrongAboutIt) {
  Tensor tensor;
  const auto error = [&](const TensorMap& map, int address, Box from, bool writes = false) {
    return error_of(32, [&] {
      Barrier* const barrier = initialised(1, 32);
      if (thread_id() != 0) return;
      arrive_expecting(barrier, 512);
      load_box(shared_memory() + address, map, barrier, from, 0);
      if (writes) shared_memory()[address] = 0;
      wait(barrier, 0);
    });
  };
  const TensorMap map = tensor.map(32, 8, Swizzle::bytes_64);
  EXPECT_EQ(error(map, 0, {0, 0, 0}), "no error");
  EXPECT_THAT(error(map, 64, {0, 0, 0}), HasSubstr("no multiple of 128 bytes"));
  EXPECT_THAT(error(map, kSmemBytes - 256, {0, 0, 0}), HasSubstr("reaches 512 bytes at address"));
  EXPECT_THAT(error(map, 0, {4, 0, 0}), HasSubstr("inside of a chunk"));
  EXPECT_THAT(error(map, 0, {0, 0, 0}, true), HasSubstr("under way where something was written"));
  EXPECT_THAT(error(tensor.map(32, 8, Swizzle::bytes_128), 0, {0, 0, 0}),
              HasSubstr("do not fill its swizzle"));
  EXPECT_THAT(error(TensorMap{}, 0, {0, 0, 0}), HasSubstr("not three dimensions"));
}

TEST(LoadBox, WaitsForEarlierLaunches) {
  Tensor tensor;
  const TensorMap map = tensor.map(32, 8, Swizzle::bytes_64);
  emulator::Emulator emulator(32, kSmemBytes);
  EXPECT_THROW(emulator.run({},
                            [&](emulator::Cta& cta) {
                              current = &cta;
                              Barrier* const barrier = initialised(1, 32);
                              if (thread_id() == 0)
                                load_box(shared_memory(), map, barrier, {0, 0, 0}, 0);
                            }),
               ExecutionError);
}

TEST(LoadBox, ForSeveralCtasCountsAtTheBarrierOfEach) {
  for (const Order order : kOrders) {
    Tensor tensor;
    const TensorMap map = tensor.map(32, 8, Swizzle::bytes_64);
    int wrong = 0;
    run(
        32,
        [&] {
          Barrier* const barrier = initialised(1, 32);
          meet_cluster();
          const int rank = cluster_rank();
          if (thread_id() == 0) {
            arrive_expecting(barrier, 2 * 512);
            load_box_for(3, shared_memory() + rank * 512, map, barrier, {0, rank * 4, 0}, 0);
            wait(barrier, 0);
            for (int i = 0; i < 2; ++i) {
              wrong += smem_element(i * 512) != tensor.at(0, i * 4, 0);
            }
          }
          meet_cluster();
        },
        cluster_of_two(order), 2);
    EXPECT_EQ(wrong, 0) << to_string(order);
  }
}

TEST(StoreAtPeer, CountsItsBytesAtThePeersBarrier) {
  for (const Order order : kOrders) {
    int right = 0;
    run(
        32,
        [&] {
          Barrier* const barrier = initialised(1, 32);
          auto* const x = reinterpret_cast<float*>(shared_memory());
          if (thread_id() == 0) arrive_expecting(barrier, 32 * 16);
          meet_cluster();
          const auto value = static_cast<float>(thread_id());
          store_at_peer(x + 4 * thread_id(), barrier, 1 - cluster_rank(), value, 1, 2, 3);
          wait(barrier, 0);
          right += x[4 * thread_id()] == value && x[4 * thread_id() + 3] == 3;
          meet_cluster();
        },
        cluster_of_two(order), 2);
    EXPECT_EQ(right, 64) << to_string(order);
  }
}

// Fills a box of 16 rows of 16 elements without a swizzle with ones, by stmatrix.
void fill_box(char* box) {
  const int lane = thread_id() % 32;
  const unsigned one = from_float(kBf16, 1) * 0x10001u;
  store_matrices<false>(box + lane % 16 * 32 + lane / 16 * 16, {one, one, one, one});
}

// What one warp does between filling a box and the end; cols: of the tensor.
std::string stored(Tensor& tensor, int cols,
                   const std::function<void(const TensorMap&, char*)>& by) {
  const TensorMap map = tensor.map(16, 16, Swizzle::none, cols);
  return error_of(32, [&] {
    fill_box(shared_memory());
    by(map, shared_memory());
  });
}

void store_first(const TensorMap& map, char* box) {
  publish_to_copies();
  meet(1, 32);
  if (thread_id() != 0) return;
  store_box(map, box, {32, 4, 1});
  commit_stores();
  wait_stores_read();
}

TEST(StoreBox, LeavesOutRowsAndWholeChunksOutsideAndWritesPastTheEndInsideOfOne) {
  const std::uint16_t one = from_float(kBf16, 1);
  for (const auto& [cols, end] : {std::pair(40, 40), std::pair(36, 40), std::pair(48, 48)}) {
    Tensor tensor;
    const Tensor before;
    EXPECT_EQ(stored(tensor, cols, store_first), "no error");
    int wrong = 0;
    for (int matrix = 0; matrix < 2; ++matrix) {
      for (int row = 0; row < Tensor::kRows; ++row) {
        for (int col = 0; col < Tensor::kLd; ++col) {
          const bool is_stored = matrix == 1 && row >= 4 && col >= 32 && col < end;
          wrong += tensor.x[matrix][row][col] != (is_stored ? one : before.x[matrix][row][col]);
        }
      }
    }
    EXPECT_EQ(wrong, 0) << cols;
  }
}

// Thread 0 stores the box that all have published.
void store_published(const TensorMap& map, char* box) {
  publish_to_copies();
  meet(1, 32);
  if (thread_id() == 0) store_box(map, box, {0, 0, 0});
}
void store_committed(const TensorMap& map, char* box) {
  store_published(map, box);
  if (thread_id() == 0) commit_stores();
}

TEST(StoreBox, ReadsOnlyWhatIsPublishedAndDoesNotChange) {
  Tensor tensor;
  const auto error = [&](const std::function<void(const TensorMap&, char*)>& by) {
    return stored(tensor, Tensor::kCols, by);
  };
  EXPECT_THAT(
      error([](const TensorMap& map, char* box) {
        meet(1, 32);
        if (thread_id() == 0) store_box(map, box, {0, 0, 0});
      }),
      AllOf(HasSubstr("thread 0 of CTA 0"), HasSubstr("wrote at address 0 of shared memory"),
            HasSubstr("did not publish")));
  EXPECT_THAT(error([](const TensorMap& map, char* box) {
                if (thread_id() == 0) publish_to_copies();
                meet(1, 32);
                if (thread_id() == 0) store_box(map, box, {0, 0, 0});
              }),
              HasSubstr("what thread 16 wrote at address 16"));
  EXPECT_THAT(error([](const TensorMap& map, char* box) {
                store_committed(map, box);
                if (thread_id() != 0) return;
                box[8] = 0;
                wait_stores_read();
              }),
              HasSubstr("waits for the store of a box that was written meanwhile"));
  EXPECT_THAT(error(store_published), HasSubstr("stores of boxes that it did not commit"));
  EXPECT_THAT(error(store_committed), HasSubstr("ends without waiting for its stores of boxes"));
}

TEST(StoreMatrices, AreBackwardsWhatLoadMatricesAre) {
  for (const int transposed : {0, 1}) {
    int wrong = 0;
    run(32, [&] {
      const auto lane = static_cast<unsigned>(thread_id());
      unsigned x[4], back[4];
      for (unsigned m = 0; m < 4; ++m) x[m] = (m * 100 + 2 * lane) | (m * 100 + 2 * lane + 1) << 16;
      char* const row = shared_memory() + lane * 16;
      if (transposed != 0) {
        store_matrices<true>(row, x);
      } else {
        store_matrices<false>(row, x);
      }
      __syncwarp();
      current->load_matrices(row, 4, transposed != 0, back, "kernel", 1);
      for (unsigned m = 0; m < 4; ++m) wrong += back[m] != x[m];
      if (lane == 0) wrong += smem_element(256) != 200;
    });
    EXPECT_EQ(wrong, 0);
  }
}

// --- wgmma --------------------------------------------------------------------------------------

constexpr int kColumns = 48, kRight = 16 * 1024;

float left_at(int row, int k) { return static_cast<float>((row * 7 + k * 3) % 11 - 5); }
float right_at(int col, int k) { return static_cast<float>((col * 5 + k * 2) % 13 - 6); }

// Lays an operand of 32 k out from an address on; its descriptor for 16 k from k on. swizzle:
// bytes.
unsigned long long laid_out(int address, bool is_mn, int swizzle, int lines, int k,
                            float (*value)(int, int)) {
  const int width = swizzle / 2, block = 32 * swizzle;
  for (int line = 0; line < lines && thread_id() == 0; ++line) {
    for (int i = 0; i < 32; ++i) {
      int at =
          is_mn ? line / width * block + i * swizzle + line % width * 2 : line * swizzle + i * 2;
      at += address;
      at ^= (at >> 7 & (swizzle / 16 - 1)) << 4;
      const std::uint16_t bits = from_float(kBf16, value(line, i));
      std::memcpy(shared_memory() + at, &bits, sizeof bits);
    }
  }
  const auto first = static_cast<unsigned long long>(address + k * (is_mn ? swizzle : 2));
  const unsigned long long leading = is_mn ? static_cast<unsigned long long>(block) : 16;
  const unsigned long long kinds = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  return first >> 4 | leading >> 4 << 16 | (8ull * static_cast<unsigned>(swizzle)) >> 4 << 32 |
         kinds << 62;
}

using Multiply = Instruction<kColumns>;

// Sums of all rows and columns, NaN where nobody has them.
struct Result {
  std::vector<float> x = std::vector<float>(64 * kColumns, std::nanf(""));

  void take(const float (&sums)[kColumns / 2]) {
    const int t = thread_id() % kGroup, row = t / 32 * 16 + t % 32 / 4, col = t % 4 * 2;
    for (int i = 0; i < kColumns / 2; ++i) {
      x[static_cast<std::size_t>((row + i / 2 % 2 * 8) * kColumns + col + i / 4 * 8 + i % 2)] =
          sums[i];
    }
  }
};

int wrong_sums(const Result& result, int first_k, int end_k, float before) {
  int wrong = 0;
  for (int row = 0; row < 64; ++row) {
    for (int col = 0; col < kColumns; ++col) {
      float sum = before;
      for (int k = first_k; k < end_k; ++k) sum += left_at(row, k) * right_at(col, k);
      wrong += result.x[static_cast<std::size_t>(row * kColumns + col)] != sum;
    }
  }
  return wrong;
}

template <int LEFT_MN, int RIGHT_MN>
void expect_product(int left_swizzle, int right_swizzle) {
  Result result;
  run(kGroup, [&] {
    const auto left = laid_out(0, LEFT_MN != 0, left_swizzle, 64, 16, left_at);
    const auto right = laid_out(kRight, RIGHT_MN != 0, right_swizzle, kColumns, 16, right_at);
    meet(1, kGroup);
    float sums[kColumns / 2];
    for (float& sum : sums) sum = 3;
    begin_multiply();
    Multiply::multiply<kTypeBf16, LEFT_MN, RIGHT_MN>(sums, left, right, 1);
    commit_multiply();
    wait_multiplied<0>();
    result.take(sums);
  });
  EXPECT_EQ(wrong_sums(result, 16, 32, 3), 0) << left_swizzle << " " << right_swizzle;
}

TEST(Wgmma, TakesOperandsOfEitherMajorOrderInEverySwizzle) {
  for (const int swizzle : {64, 128}) expect_product<0, 0>(swizzle, swizzle);
  for (const int swizzle : {32, 64, 128})
    expect_product<1, 1>(swizzle, swizzle == 128 ? 32 : swizzle);
  expect_product<0, 1>(128, 32);
  expect_product<1, 0>(32, 64);
}

// Two groups of products of 16 k; by: what the threads do once these are issued.
std::string multiplied(const std::function<void(float (&)[kColumns / 2])>& by, bool fences = true) {
  return error_of(kGroup, [&] {
    const auto left = laid_out(0, false, 64, 64, 0, left_at);
    const auto right = laid_out(kRight, false, 64, kColumns, 0, right_at);
    meet(1, kGroup);
    float sums[kColumns / 2];
    if (fences) begin_multiply();
    for (unsigned step = 0; step < 2; ++step) {
      Multiply::multiply<kTypeBf16, 0, 0>(sums, left + 2 * step, right + 2 * step,
                                          static_cast<int>(step));
      commit_multiply();
    }
    by(sums);
  });
}

TEST(Wgmma, GivesSumsOnlyWhereAllProductsWereWaitedFor) {
  Result early, right;
  EXPECT_EQ(multiplied([&](float(&sums)[kColumns / 2]) {
              wait_multiplied<1>();
              early.take(sums);
              wait_multiplied<0>();
              right.take(sums);
            }),
            "no error");
  EXPECT_THAT(early.x, Each(testing::IsNan()));
  EXPECT_EQ(wrong_sums(right, 0, 32, 0), 0);
}

TEST(Wgmma, ReadsOperandsWhenItIsWaitedFor) {
  Result result;
  EXPECT_EQ(multiplied([&](float(&sums)[kColumns / 2]) {
              std::memset(shared_memory() + thread_id() * 32, 0, 32);  // left
              wait_multiplied<0>();
              result.take(sums);
            }),
            "no error");
  EXPECT_THAT(result.x, Each(0.0f));
}

TEST(Wgmma, ReportsWhatAGpuLeavesUndefined) {
  EXPECT_THAT(multiplied([](auto&) {}, false), HasSubstr("multiplies without a fence"));
  EXPECT_THAT(multiplied([](auto&) {}), HasSubstr("ends without waiting for its products"));
  EXPECT_THAT(multiplied([](float(&sums)[kColumns / 2]) {
                if (thread_id() == 5) sums[3] = 1;
                wait_multiplied<0>();
              }),
              HasSubstr("writes sums whose products are under way"));
  EXPECT_THAT(multiplied([](auto&) {
                if (thread_id() >= 32) wait_multiplied<0>();
              }),
              HasSubstr("thread 0 of CTA 0 ends without waiting"));
  EXPECT_THAT(multiplied([](float(&sums)[kColumns / 2]) {
                if (thread_id() == 77) Multiply::multiply<kTypeBf16, 0, 0>(sums, 0, 0, 1);
                commit_multiply();
                wait_multiplied<0>();
              }),
              HasSubstr("waits for other products than its warpgroup's first thread"));
  EXPECT_THAT(multiplied([](float(&sums)[kColumns / 2]) {
                wait_multiplied<0>();
                Multiply::multiply<kTypeBf16, 0, 0>(sums, 0, 0, 1);
              }),
              HasSubstr("multiplies without a fence"));
  EXPECT_THAT(multiplied([](float(&sums)[kColumns / 2]) {
                Multiply::multiply<kTypeBf16, 0, 0>(sums, 0, 0, 1);
                wait_multiplied<0>();
              }),
              HasSubstr("products that it did not commit"));
}

TEST(Wgmma, DoesNotSeeWhatIsWrittenAndNotPublished) {
  for (const bool publishes : {false, true}) {
    EXPECT_THAT(multiplied([&](auto&) {
                  __syncwarp();
                  const unsigned x[4] = {};
                  store_matrices<false>(shared_memory() + thread_id() * 16, x);
                  if (publishes) publish_to_copies();
                  wait_multiplied<0>();
                }),
                publishes ? HasSubstr("no error") : HasSubstr("did not publish"));
  }
}

TEST(Wgmma, RoundsAsOneInstructionOfTheTensorCore) {
  const TensorCore core = tensor_core_of(90);
  std::vector<std::uint16_t> a(64 * 16), b(8 * 16);
  unsigned seed = 1;
  const auto next = [&] {
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    // Lines of whole numbers, of any, and with a NaN or an infinity among them.
    const float any = static_cast<float>(next()) * 0x1p-20f - 8;
    a[i] = from_float(kBf16, i / 16 % 2 == 0 ? std::trunc(any) : any);
    if (i / 16 > 60 && i % 16 == 3) a[i] = static_cast<std::uint16_t>(i % 2 == 0 ? 0x7f80 : 0x7fc0);
    if (i < b.size()) b[i] = from_float(kBf16, std::trunc(any));
  }
  std::vector<float> sums(64 * 8);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = i % 3 == 0 ? 0x1p22f - 1 : i % 3 == 1 ? 0x1p24f + 2 : 0.3f;
  }
  std::vector<float> expected = sums;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    expected[i] = emulator::multiply_add(core, kBf16, std::span(a).subspan(i / 8 * 16, 16),
                                         std::span(b).subspan(i % 8 * 16, 16), sums[i]);
  }
  const std::vector<std::uint32_t> left(a.begin(), a.end()), right(b.begin(), b.end());
  emulator::multiply_add(core, emulator::kOperandBf16, left, right, sums);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(sums[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << i;
  }
}

}  // namespace
}  // namespace gemm_tune::wgmma

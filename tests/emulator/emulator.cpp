// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/emulator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "tests/emulator/copy_queue.h"
#include "tests/emulator/fibers.h"
#include "tests/emulator/shared_pool.h"
#include "tests/emulator/warp.h"

namespace gemm_tune::emulator {
namespace {

std::string name(const Index3& thread, const Index3& block) {
  std::string text = "thread " + std::to_string(thread.x) + " of CTA " + std::to_string(block.x);
  if (block.y + block.z > 0) {
    text += "," + std::to_string(block.y) + "," + std::to_string(block.z);
  }
  return text;
}

// Where a thread stands while it is not running: at a barrier, where its warp meets, or at its end.
struct Stop {
  enum class Kind { barrier, warp, cluster, end };
  Kind kind = Kind::end;
  std::string_view what = {};  // as in "waits at the barrier"
  std::string_view file = {};
  int line = 0;

  friend bool operator==(const Stop&, const Stop&) = default;

  std::string text() const {
    if (kind == Kind::end) return "has left the kernel";
    return "waits at the " + std::string(what) + " in " + std::string(file) + ":" +
           std::to_string(line);
  }
};

}  // namespace

class Emulator::Grid final : private Cta {
 public:
  Grid(int block_threads, int smem_bytes, int resident_ctas)
      : threads_(block_threads),
        lanes_(static_cast<std::size_t>(resident_ctas) * static_cast<std::size_t>(block_threads)),
        fibers_(resident_ctas * block_threads, [this](int) { run_thread(); }) {
    block_dim = {static_cast<unsigned>(block_threads), 1, 1};
    for (int i = 0; i < resident_ctas; ++i) {
      slots_.push_back(std::make_unique<Slot>(smem_bytes, i * block_threads));
    }
  }

  void run(const Launch& launch, const std::function<ThreadFunction>& function,
           const GemmArgs& args) {
    function_ = &function;
    args_ = &args;
    order_ = launch.order;
    tensor_core_ = launch.tensor_core;
    random_.seed(launch.seed);
    grid_dim = {static_cast<unsigned>(launch.grid.x), static_cast<unsigned>(launch.grid.y),
                static_cast<unsigned>(launch.grid.z)};
    const auto size = static_cast<std::size_t>(launch.cluster);
    if (launch.cluster < 1 || launch.grid.y % launch.cluster != 0 || size > slots_.size()) {
      throw ExecutionError("a cluster does not divide the grid or is not resident as a whole");
    }
    const std::vector<int> clusters =
        sequence(static_cast<int>(launch.grid.ctas()) / launch.cluster);
    auto next = clusters.begin();
    std::vector<Cluster> resident;
    const std::size_t places = order_ == Order::shuffled ? slots_.size() / size : 1;
    for (std::size_t i = 0; i < places && next != clusters.end(); ++i) {
      Cluster& cluster = resident.emplace_back();
      for (std::size_t j = 0; j < size; ++j) cluster.push_back(slots_[i * size + j].get());
      start_cluster(cluster, *next++);
    }
    while (!resident.empty()) {
      const std::size_t turn = resident.size() == 1 ? 0 : random_() % resident.size();
      if (!run_some(resident[turn], resident.size() > 1)) continue;
      if (next != clusters.end()) {
        start_cluster(resident[turn], *next++);
      } else {
        resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(turn));
      }
    }
  }

 private:
  // A thread of a resident CTA.
  struct Lane {
    bool ready = false;  // has instructions to run; else it stands at `stop`
    Stop stop;
    bool vote = false;            // what it brought to a barrier, then what it takes from there
    WarpWork work;                // where its warp meets
    int arrivals = 0, waits = 0;  // at the cluster's barrier
    CopyQueue copies;
  };

  struct Slot;
  using Cluster = std::vector<Slot*>;  // in the order of their blockIdx.y

  // A resident CTA.
  struct Slot {
    Slot(int smem_bytes, int first) : pool(smem_bytes), first_lane(first) {}
    Index3 block;
    SharedPool pool;
    int first_lane;
    Cluster cluster;
    bool stands = false;  // its threads have ended or wait at the cluster's barrier
    bool ended = false;
  };

  Lane& lane(const Slot& slot, int i) {
    return lanes_[static_cast<std::size_t>(slot.first_lane + i)];
  }

  Lane& running() { return lane(*slot_, static_cast<int>(thread.x)); }

  void start_cluster(const Cluster& cluster, int number) {
    const auto index = static_cast<unsigned>(number), size = static_cast<unsigned>(cluster.size());
    const unsigned along_y = grid_dim.y / size;
    for (unsigned i = 0; i < size; ++i) {
      Slot& slot = *cluster[i];
      slot.block = {index % grid_dim.x, index / grid_dim.x % along_y * size + i,
                    index / grid_dim.x / along_y};
      slot.cluster = cluster;
      slot.stands = slot.ended = false;
      for (int j = 0; j < threads_; ++j) {
        lane(slot, j).ready = true;
        lane(slot, j).arrivals = lane(slot, j).waits = 0;
      }
    }
  }

  // Runs threads of a CTA of the cluster, the first one that can go on; of some one where CTAs take
  // turns. True if the cluster is done.
  bool run_some(const Cluster& cluster, bool not_all) {
    std::vector<int> order = sequence(static_cast<int>(cluster.size()));
    std::erase_if(order, [&](int i) { return cluster[static_cast<std::size_t>(i)]->stands; });
    Slot& slot = *cluster[static_cast<std::size_t>(order.front())];
    run_some(slot, not_all || (order_ == Order::shuffled && cluster.size() > 1));
    if (!slot.stands) return false;
    if (slot.ended) slot.pool.end_cta();
    release_cluster(cluster);
    return std::all_of(cluster.begin(), cluster.end(), [](const Slot* s) { return s->ended; });
  }

  // Lets those CTAs go on that wait at the cluster's barrier once all threads have arrived there.
  void release_cluster(const Cluster& cluster) {
    int arrivals = std::numeric_limits<int>::max();
    for (const Slot* slot : cluster) {
      for (int i = 0; i < threads_; ++i) arrivals = std::min(arrivals, lane(*slot, i).arrivals);
    }
    for (Slot* slot : cluster) {
      if (!slot->stands || slot->ended || lane(*slot, 0).waits > arrivals) continue;
      slot->stands = false;
      for (int i = 0; i < threads_; ++i) lane(*slot, i).ready = true;
    }
    const auto stands = [](const Slot* slot) { return slot->stands; };
    if (!std::all_of(cluster.begin(), cluster.end(), stands)) return;
    for (const Slot* left : cluster) {
      for (const Slot* waits : cluster) {
        if (!left->ended || waits->ended) continue;
        throw ExecutionError(name({}, waits->block) + " " + lane(*waits, 0).stop.text() + ", but " +
                             name({}, left->block) + " " + lane(*left, 0).stop.text());
      }
    }
  }

  // Runs threads of the CTA up to their next stop, each that is ready or some of them, and lets
  // those go on that have met whom they wait for.
  void run_some(Slot& slot, bool not_all) {
    slot_ = &slot;
    block = slot.block;
    std::vector<int> order = sequence(threads_);
    std::erase_if(order, [&](int i) { return !lane(slot, i).ready; });
    if (not_all) order.resize(1 + random_() % order.size());
    for (const int i : order) {
      thread.x = static_cast<unsigned>(i);
      lane(slot, i).ready = false;
      fibers_.resume(slot.first_lane + i);
      if (error_) throw ExecutionError(name(thread, block) + " " + *error_);
    }
    bool all_stand = true;
    for (int i = 0; i < threads_; i += kWarp) {
      if (!stand(slot, i, std::min(i + kWarp, threads_))) {
        all_stand = false;
      } else if (lane(slot, i).stop.kind == Stop::Kind::warp) {
        release_warp(slot, i);
        all_stand = false;
      }
    }
    if (all_stand) release_barrier(slot);
  }

  // Whether none of the lanes [first, last) has instructions to run; they must all stand at the
  // same stop then, unless it is one of the CTA's.
  bool stand(const Slot& slot, int first, int last) {
    bool of_warp = false;
    for (int i = first; i < last; ++i) {
      if (lane(slot, i).ready) return false;
      of_warp = of_warp || lane(slot, i).stop.kind == Stop::Kind::warp;
    }
    if (of_warp) check_together(slot, first, last);
    return true;
  }

  void check_together(const Slot& slot, int first, int last) {
    for (int i = first; i + 1 < last; ++i) {
      const Stop &one = lane(slot, i).stop, &next = lane(slot, i + 1).stop;
      if (one == next) continue;
      throw ExecutionError(name({static_cast<unsigned>(i), 0, 0}, slot.block) + " " + one.text() +
                           ", but " + name({static_cast<unsigned>(i) + 1, 0, 0}, slot.block) + " " +
                           next.text());
    }
  }

  void release_warp(const Slot& slot, int first) {
    const std::string who = name({static_cast<unsigned>(first), 0, 0}, slot.block);
    if (first + kWarp > threads_) {
      throw ExecutionError(who + " " + lane(slot, first).stop.text() +
                           " in a warp of fewer than 32 lanes");
    }
    std::array<WarpWork*, kWarp> works{};
    for (int i = 0; i < kWarp; ++i) {
      works[static_cast<std::size_t>(i)] = &lane(slot, first + i).work;
      lane(slot, first + i).ready = true;
    }
    try {
      work_together(tensor_core_, works);
    } catch (const ExecutionError& error) {
      throw ExecutionError("the warp of " + who + " " + error.what());
    }
  }

  // All threads stand: lets them go on unless they have ended or wait for other CTAs.
  void release_barrier(Slot& slot) {
    check_together(slot, 0, threads_);
    const Stop::Kind kind = lane(slot, 0).stop.kind;
    slot.ended = kind == Stop::Kind::end;
    slot.stands = slot.ended || kind == Stop::Kind::cluster;
    if (slot.stands) return;
    bool any = false;
    for (int i = 0; i < threads_; ++i) any = any || lane(slot, i).vote;
    for (int i = 0; i < threads_; ++i) {
      lane(slot, i).vote = any;
      lane(slot, i).ready = true;
    }
  }

  void run_thread() {
    (*function_)(*this, *args_);
    guarded([this] { running().copies.end(); });
    stop({Stop::Kind::end});
  }

  bool barrier(bool vote, const char* file, int line) override {
    running().vote = vote;
    stop({Stop::Kind::barrier, "barrier", file, line});
    return running().vote;
  }

  float shuffle_xor(unsigned members, float value, int lane_mask, const char* file,
                    int line) override {
    if (members != 0xffffffffu) fail("shuffles among some lanes of its warp only");
    if (lane_mask < 0 || lane_mask >= kWarp) fail("shuffles with a lane outside its warp");
    WarpWork& work = running().work;
    work.kind = WarpWork::Kind::shuffle;
    work.offer = value;
    work.lane_mask = lane_mask;
    stop({Stop::Kind::warp, "shuffle", file, line});
    return running().work.received;
  }

  void load_matrices(const void* row, int matrices, bool transposed, unsigned* fragments,
                     const char* file, int line) override {
    WarpWork& work = running().work;
    work.kind = WarpWork::Kind::load_matrices;
    work.matrices = matrices;
    work.transposed = transposed;
    const bool has_row = static_cast<int>(thread.x) % kWarp < 8 * matrices;
    if (has_row) guarded([&] { work.row = load_matrix_row(row); });
    stop({Stop::Kind::warp, "ldmatrix", file, line});
    std::copy_n(running().work.fragments.begin(), matrices, fragments);
  }

  void multiply_add(const MmaOperands& operands, float* sums, const char* file, int line) override {
    WarpWork& work = running().work;
    work.kind = WarpWork::Kind::multiply_add;
    work.operands = operands;
    work.sums = sums;
    stop({Stop::Kind::warp, "mma", file, line});
  }

  float* take(int index, int n) override {
    float* array = nullptr;
    guarded([&] { array = slot_->pool.take(index, n); });
    return array;
  }

  void copy_async(void* smem, const void* global, int bytes, int inside) override {
    guarded([&] { running().copies.issue(smem, global, bytes, inside); });
  }

  void commit_copies() override { running().copies.commit(); }

  void wait_copies(int groups_left) override {
    guarded([&] { running().copies.wait(groups_left); });
  }

  void cluster_arrive() override {
    if (running().arrivals != running().waits) fail("arrives at a barrier twice without waiting");
    ++running().arrivals;
  }

  void cluster_wait(const char* file, int line) override {
    if (++running().waits != running().arrivals) fail("waits at a barrier without arriving there");
    stop({Stop::Kind::cluster, "cluster's barrier", file, line});
  }

  const float* peer_smem(const float* own, int index) override {
    const float* peer = nullptr;
    guarded([&] {
      if (index < 0 || index >= static_cast<int>(slot_->cluster.size())) {
        throw ExecutionError("looks for a CTA outside its cluster");
      }
      const Slot& other = *slot_->cluster[static_cast<std::size_t>(index)];
      peer = other.pool.same_place(slot_->pool, own);
    });
    return peer;
  }

  // Suspends the running thread until those it waits for have come.
  void stop(const Stop& stop) {
    running().stop = stop;
    fibers_.suspend();
  }

  template <class Work>
  void guarded(Work work) {
    try {
      return work();
    } catch (const ExecutionError& error) {
      error_ = error.what();
    }
    for (;;) fibers_.suspend();  // never resumed; the kernel's frames are not unwound
  }

  // Takes no string: nothing would free it.
  void fail(const char* what) {
    guarded([what] { throw ExecutionError(what); });
  }

  std::vector<int> sequence(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    if (order_ == Order::reversed) std::reverse(all.begin(), all.end());
    if (order_ == Order::shuffled) std::shuffle(all.begin(), all.end(), random_);
    return all;
  }

  const int threads_;  // of a CTA
  const std::function<ThreadFunction>* function_ = nullptr;
  const GemmArgs* args_ = nullptr;
  Order order_ = Order::forward;
  TensorCore tensor_core_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Slot>> slots_;
  Slot* slot_ = nullptr;  // of the thread that is running
  std::vector<Lane> lanes_;
  std::optional<std::string> error_;
  Fibers fibers_;
};

Emulator::Emulator(int block_threads, int smem_bytes, int resident_ctas)
    : grid_(std::make_unique<Grid>(block_threads, smem_bytes, resident_ctas)) {}

Emulator::~Emulator() = default;

void Emulator::run(const Launch& launch, const std::function<ThreadFunction>& thread,
                   const GemmArgs& args) {
  grid_->run(launch, thread, args);
}

const char* to_string(Order order) {
  switch (order) {
    case Order::forward:
      return "forward";
    case Order::reversed:
      return "reversed";
    case Order::shuffled:
      return "shuffled";
  }
  return "?";
}

}  // namespace gemm_tune::emulator

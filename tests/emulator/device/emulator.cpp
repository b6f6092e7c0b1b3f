// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/emulator.h"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "tests/emulator/device/barriers.h"
#include "tests/emulator/device/copy_queue.h"
#include "tests/emulator/device/fibers.h"
#include "tests/emulator/device/shared_pool.h"
#include "tests/emulator/device/tensor_copy.h"
#include "tests/emulator/device/warp.h"
#include "tests/emulator/device/warpgroup.h"

namespace gemm_tune::emulator {
namespace {

std::string name(const Index3& block) {
  std::string text = std::to_string(block.x);
  if (block.y + block.z > 0) {
    text += "," + std::to_string(block.y) + "," + std::to_string(block.z);
  }
  return text;
}

std::string name(const Index3& thread, const Index3& block) {
  return "thread " + std::to_string(thread.x) + " of CTA " + name(block);
}

constexpr int kNamedBarriers = 16;
constexpr unsigned kPublishedBytes = 16;  // what is written for the copy engine is known by chunks

}  // namespace

// Where a thread stands while it is not running: at a barrier, where its warp meets, at something
// that others make happen, or at its end.
struct Stop {
  enum class Kind { barrier, warp, event, end };
  Kind kind = Kind::end;
  std::string_view what = {};  // as in "waits at the barrier"
  std::string_view file = {};
  int line = 0;
  const Mbarrier* mbarrier = nullptr;  // the event is the end of its phase of this parity
  unsigned address = 0;
  int parity = 0;

  friend bool operator==(const Stop&, const Stop&) = default;

  std::string text() const {
    if (kind == Kind::end) return "has left the kernel";
    std::string text = "waits at the " + std::string(what) + " in " + std::string(file) + ":" +
                       std::to_string(line);
    if (mbarrier != nullptr) {
      text += ", at address " + std::to_string(address) + ", for parity " + std::to_string(parity) +
              " (" + mbarrier->text() + ")";
    }
    return text;
  }
};

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

  void run(const Launch& launch, const std::function<void(Cta&)>& function) {
    function_ = &function;
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
    std::vector<Cluster> free, resident;
    for (std::size_t i = slots_.size() / size; i-- > 0;) {
      Cluster& cluster = free.emplace_back();
      for (std::size_t j = 0; j < size; ++j) cluster.push_back(slots_[i * size + j].get());
    }
    const auto start_next = [&] {
      if (free.empty() || next == clusters.end()) return false;
      resident.push_back(free.back());
      free.pop_back();
      start_cluster(resident.back(), *next++);
      return true;
    };
    earlier_has_ended_ = !launch.earlier_end;
    const auto end_earlier = [&] {
      if (earlier_has_ended_) return false;
      launch.earlier_end();
      earlier_has_ended_ = true;
      return true;
    };
    while (order_ == Order::shuffled && start_next()) continue;
    while (!resident.empty() || start_next()) {
      std::vector<std::size_t> able;
      for (std::size_t i = 0; i < resident.size(); ++i) {
        if (can_go_on(resident[i])) able.push_back(i);
      }
      if (able.empty()) {
        if (multiply(resident) || deliver(resident) || start_next() || end_earlier()) continue;
        throw ExecutionError("nobody can go on: " + standing(resident));
      }
      const bool take_turns = order_ == Order::shuffled && resident.size() > 1;
      const std::size_t turn = able[take_turns ? random_() % able.size() : 0];
      if (!run_some(resident[turn], take_turns)) continue;
      free.push_back(resident[turn]);
      resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(turn));
      if (order_ == Order::shuffled) start_next();
    }
    end_earlier();
  }

 private:
  // A thread of a resident CTA.
  struct Lane {
    bool ready = false;  // has instructions to run; else it stands at `stop`
    Stop stop;
    std::function<bool()> has_happened;  // of Stop::Kind::event
    bool vote = false;            // what it brought to a barrier, then what it takes from there
    WarpWork work;                // where its warp meets
    int arrivals = 0, waits = 0;  // at the cluster's barrier
    CopyQueue copies;
    BoxStores stores;
    ProductQueue products;
    std::vector<unsigned> unpublished;   // addresses of chunks that it wrote
    std::vector<Mbarrier*> initialised;  // and did not publish
    bool awaited_earlier_launch = false;
  };

  struct Slot;
  using Cluster = std::vector<Slot*>;  // in the order of their blockIdx.y

  // The threads of a warpgroup that wait for products.
  struct Warpgroup {
    int came = 0, groups_left = 0, meetings = 0;
    bool waits_for_products() const { return came == kWarpgroup; }
  };

  // A resident CTA.
  struct Slot {
    Slot(int smem_bytes, int first) : pool(smem_bytes), first_lane(first) {}
    Index3 block;
    SharedPool pool;
    int first_lane;
    Cluster cluster;
    bool ended = false;
    int ready = 0, at_events = 0;            // lanes
    int arrived = 0, meetings = 0;           // at the cluster's barrier, kept by its first CTA
    std::map<unsigned, Mbarrier> mbarriers;  // by address
    std::array<NamedBarrier, kNamedBarriers> named;
    std::map<unsigned, int> unpublished;  // chunk -> thread that wrote it
    std::vector<Warpgroup> warpgroups;
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
      slot.ended = false;
      slot.ready = slot.at_events = 0;
      slot.arrived = slot.meetings = 0;
      slot.mbarriers.clear();
      slot.named.fill({});
      slot.unpublished.clear();
      slot.warpgroups.assign(static_cast<std::size_t>(threads_ / kWarpgroup), {});
      for (int j = 0; j < threads_; ++j) {
        make_ready(slot, j);
        Lane& one = lane(slot, j);
        one.arrivals = one.waits = 0;
        one.products = {};
        one.unpublished.clear();
        one.initialised.clear();
        one.awaited_earlier_launch = false;
      }
    }
  }

  void make_ready(Slot& slot, int i) {
    lane(slot, i).ready = true;
    ++slot.ready;
  }

  // Whether the CTA has a thread that can run, now that others have run.
  bool can_go_on(Slot& slot) {
    for (int i = 0; slot.at_events > 0 && i < threads_; ++i) {
      Lane& one = lane(slot, i);
      if (one.ready || one.stop.kind != Stop::Kind::event || !one.has_happened()) continue;
      one.has_happened = nullptr;
      make_ready(slot, i);
      --slot.at_events;
    }
    return slot.ready > 0;
  }
  bool can_go_on(const Cluster& cluster) {
    bool can = false;
    for (Slot* slot : cluster) can = can_go_on(*slot) || can;
    return can;
  }

  // Nobody can run: the products that a warpgroup waits for read their operands, as late as they
  // may. False where none is waited for.
  bool multiply(const std::vector<Cluster>& resident) {
    for (const Cluster& cluster : resident) {
      for (Slot* slot : cluster) {
        for (std::size_t i = 0; i < slot->warpgroups.size(); ++i) {
          Warpgroup& group = slot->warpgroups[i];
          if (!group.waits_for_products()) continue;
          const int first = static_cast<int>(i) * kWarpgroup;
          slot_ = slot;
          try {
            multiply_of(first, group.groups_left);
          } catch (const ExecutionError& error) {
            throw ExecutionError(name({static_cast<unsigned>(first), 0, 0}, slot->block) + " " +
                                 error.what());
          }
          group.came = 0;
          ++group.meetings;
          return true;
        }
      }
    }
    return false;
  }

  // Nobody can run: what somebody waits for comes to one CTA's shared memory. False where nothing
  // is under way.
  bool deliver(const std::vector<Cluster>& resident) {
    std::vector<std::pair<Slot*, Mbarrier*>> awaited;
    for (const Cluster& cluster : resident) {
      for (Slot* slot : cluster) {
        for (int i = 0; i < threads_; ++i) {
          const Lane& one = lane(*slot, i);
          if (one.stop.kind != Stop::Kind::event || one.stop.mbarrier == nullptr) continue;
          const std::pair at(slot, &slot->mbarriers.at(one.stop.address));
          if (awaited.empty() || awaited.back() != at) awaited.push_back(at);
        }
      }
    }
    for (const int i : sequence(static_cast<int>(awaited.size()))) {
      const auto [slot, mbarrier] = awaited[static_cast<std::size_t>(i)];
      const std::size_t first = order_ == Order::shuffled ? random_() : 0;
      try {
        if (transfers_.deliver(*mbarrier, first)) return true;
      } catch (const ExecutionError& error) {
        throw ExecutionError("a copy to the shared memory of CTA " + name(slot->block) + " " +
                             error.what());
      }
    }
    return false;
  }

  // Where the threads stand, those that stand alike together.
  std::string standing(const std::vector<Cluster>& resident) {
    std::string text;
    for (const Cluster& cluster : resident) {
      for (const Slot* slot : cluster) {
        for (int i = 0, next; i < threads_; i = next) {
          const Stop& stop = lane(*slot, i).stop;
          for (next = i + 1; next < threads_ && lane(*slot, next).stop == stop;) ++next;
          if (!text.empty()) text += ", but ";
          text += name({static_cast<unsigned>(i), 0, 0}, slot->block) + " " + stop.text();
          if (next > i + 1) text += ", as the " + std::to_string(next - i - 1) + " after it";
        }
      }
    }
    return text;
  }

  // Runs threads of a CTA of the cluster, the first one that can go on; of some one where CTAs take
  // turns. True if the cluster is done.
  bool run_some(const Cluster& cluster, bool not_all) {
    std::vector<int> order = sequence(static_cast<int>(cluster.size()));
    std::erase_if(order, [&](int i) { return cluster[static_cast<std::size_t>(i)]->ready == 0; });
    Slot& slot = *cluster[static_cast<std::size_t>(order.front())];
    run_some(slot, not_all || (order_ == Order::shuffled && cluster.size() > 1));
    if (slot.ended) end_cta(slot);
    return std::all_of(cluster.begin(), cluster.end(), [](const Slot* s) { return s->ended; });
  }

  // Its shared memory is gone from now on.
  void end_cta(Slot& slot) {
    const std::string who = "CTA " + name(slot.block);
    for (std::size_t i = 0; i < slot.named.size(); ++i) {
      if (slot.named[i].is_idle()) continue;
      throw ExecutionError(who + " ends while its barrier " + std::to_string(i) +
                           " waits: " + slot.named[i].text());
    }
    if (slot.pool.is_taken()) {
      const char* const smem = slot.pool.begin();
      if (const std::size_t bytes = transfers_.bytes_to(smem, smem + slot.pool.granted_bytes())) {
        throw ExecutionError(who + " ends while " + std::to_string(bytes) +
                             " bytes are under way to its shared memory");
      }
    }
    slot.pool.end_cta();
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
      --slot.ready;
      fibers_.resume(slot.first_lane + i);
      if (lane(slot, i).stop.kind == Stop::Kind::event) ++slot.at_events;
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

  // Whether none of the lanes [first, last) has instructions to run or will have them once
  // something has happened; they must all stand at the same stop then, unless it is one of the
  // CTA's.
  bool stand(const Slot& slot, int first, int last) {
    bool of_warp = false;
    for (int i = first; i < last; ++i) {
      if (lane(slot, i).ready || lane(slot, i).stop.kind == Stop::Kind::event) return false;
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

  void release_warp(Slot& slot, int first) {
    const std::string who = name({static_cast<unsigned>(first), 0, 0}, slot.block);
    if (first + kWarp > threads_) {
      throw ExecutionError(who + " " + lane(slot, first).stop.text() +
                           " in a warp of fewer than 32 lanes");
    }
    std::array<WarpWork*, kWarp> works{};
    for (int i = 0; i < kWarp; ++i) {
      works[static_cast<std::size_t>(i)] = &lane(slot, first + i).work;
      make_ready(slot, first + i);
    }
    try {
      work_together(tensor_core_, works);
    } catch (const ExecutionError& error) {
      throw ExecutionError("the warp of " + who + " " + error.what());
    }
  }

  // All threads stand: lets them go on unless they have ended.
  void release_barrier(Slot& slot) {
    check_together(slot, 0, threads_);
    slot.ended = lane(slot, 0).stop.kind == Stop::Kind::end;
    if (slot.ended) return;
    bool any = false;
    for (int i = 0; i < threads_; ++i) any = any || lane(slot, i).vote;
    for (int i = 0; i < threads_; ++i) {
      lane(slot, i).vote = any;
      make_ready(slot, i);
    }
  }

  void run_thread() {
    (*function_)(*this);
    guarded([this] {
      running().copies.end();
      running().stores.end();
      running().products.end();
    });
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
    Slot& first = *slot_->cluster.front();
    if (++first.arrived < threads_ * static_cast<int>(slot_->cluster.size())) return;
    first.arrived = 0;
    ++first.meetings;
  }

  void cluster_wait(const char* file, int line) override {
    if (++running().waits != running().arrivals) fail("waits at a barrier without arriving there");
    const int meeting = running().waits;
    const Slot* const first = slot_->cluster.front();
    await({Stop::Kind::event, "cluster's barrier", file, line},
          [=] { return first->meetings >= meeting; });
  }

  const float* peer_smem(const float* own, int index) override {
    const float* peer = nullptr;
    guarded([&] { peer = cta_of_cluster(index).pool.same_place(slot_->pool, own); });
    return peer;
  }

  char* take_all_smem() override { return slot_->pool.take_all(); }

  unsigned smem_address(const void* p) override {
    unsigned address = 0;
    guarded([&] { address = slot_->pool.address_of(p); });
    return address;
  }

  void init_barrier(void* barrier, int count) override {
    guarded([&] {
      const unsigned address = slot_->pool.address_of(barrier);
      if (address % sizeof(std::uint64_t) != 0) {
        throw ExecutionError("initialises a barrier at an address that is not aligned to 8 bytes");
      }
      const auto [at, is_new] = slot_->mbarriers.try_emplace(address, count);
      if (!is_new) throw ExecutionError("initialises a barrier again");
      running().initialised.push_back(&at->second);
      ASAN_POISON_MEMORY_REGION(barrier, sizeof(std::uint64_t));
    });
  }

  void publish_barriers() override {
    for (Mbarrier* barrier : running().initialised) barrier->is_published = true;
    running().initialised.clear();
  }

  void arrive(void* barrier, int rank, int expected_bytes) override {
    guarded([&] {
      (rank == kOwn ? own_mbarrier(barrier) : mbarrier_of(cta_of_cluster(rank), barrier))
          .arrive(expected_bytes);
    });
  }

  void wait(const void* barrier, int parity, const char* file, int line) override {
    const Mbarrier* awaited = nullptr;
    guarded([&] {
      awaited = &own_mbarrier(barrier);
      if (parity != 0 && parity != 1) throw ExecutionError("waits for a parity that is none");
    });
    if (awaited->has_ended(parity)) return;
    await({Stop::Kind::event, "mbarrier", file, line, awaited, slot_->pool.address_of(barrier),
           parity},
          [=] { return awaited->has_ended(parity); });
  }

  void announce(int id, int threads) override { come(id, threads); }

  void meet(int id, int threads, const char* file, int line) override {
    const int meeting = come(id, threads);
    const NamedBarrier* const barrier = &slot_->named[static_cast<std::size_t>(id)];
    await({Stop::Kind::event, "barrier", file, line},
          [=] { return barrier->meetings() > meeting; });
  }

  int cluster_rank() override {
    return static_cast<int>(block.y % static_cast<unsigned>(slot_->cluster.size()));
  }

  void store_at_peer(void* to, void* barrier, int rank, const float (&x)[4]) override {
    guarded([&] {
      Slot& peer = cta_of_cluster(rank);
      const unsigned address = slot_->pool.address_of(to);
      if (address % sizeof x != 0) throw ExecutionError("stores at an address that is not aligned");
      const char* const bytes = reinterpret_cast<const char*>(x);
      transfers_.begin(peer.pool.at(address, sizeof x), {bytes, bytes + sizeof x},
                       mbarrier_of(peer, barrier));
    });
  }

  void await_earlier_launch(const char* file, int line) override {
    if (!earlier_has_ended_) {
      await({Stop::Kind::event, "end of the launch before", file, line},
            [this] { return earlier_has_ended_; });
    }
    running().awaited_earlier_launch = true;
  }

  void load_box(unsigned ctas, void* to, const void* map, void* barrier,
                const int (&from)[3]) override {
    guarded([&] {
      const unsigned address = slot_->pool.address_of(to);
      const std::vector<char> image = emulator::load_box(known(map), from, address);
      for (int rank = 0; ctas >> rank != 0; ++rank) {
        if ((ctas >> rank & 1) == 0) continue;
        Slot& receiver = cta_of_cluster(rank);
        transfers_.begin(receiver.pool.at(address, image.size()), image,
                         mbarrier_of(receiver, barrier));
      }
    });
  }

  void store_box(const void* map, const void* from, const int (&to)[3]) override {
    guarded([&] {
      const BoundTensorMap& tensor = known(map);
      const unsigned address = slot_->pool.address_of(from);
      const auto bytes = static_cast<unsigned>(box_bytes(tensor));
      check_published(address, bytes);
      running().stores.issue(tensor, to, address, slot_->pool.at(address, bytes));
    });
  }

  void commit_stores() override { running().stores.commit(); }

  void wait_stores_read() override {
    guarded([&] { running().stores.wait(); });
  }

  void publish_to_copies() override {
    for (const unsigned chunk : running().unpublished) slot_->unpublished.erase(chunk);
    running().unpublished.clear();
  }

  void store_matrices(void* row, int matrices, bool transposed, const unsigned* fragments,
                      const char* file, int line) override {
    WarpWork& work = running().work;
    work.kind = WarpWork::Kind::store_matrices;
    work.matrices = matrices;
    work.transposed = transposed;
    std::copy_n(fragments, matrices, work.fragments.begin());
    stop({Stop::Kind::warp, "stmatrix", file, line});
    if (static_cast<int>(thread.x) % kWarp >= 8 * matrices) return;
    guarded([&] {
      const auto& elements = running().work.row;
      const unsigned address = slot_->pool.address_of(row);
      if (address % sizeof elements != 0) {
        throw ExecutionError("stores a matrix row at an address that is not aligned to 16 bytes");
      }
      std::memcpy(row, elements.data(), sizeof elements);
      slot_->unpublished[address / kPublishedBytes] = static_cast<int>(thread.x);
      running().unpublished.push_back(address / kPublishedBytes);
    });
  }

  void begin_multiply() override { running().products.fence(); }

  void multiply(const Product& product, float* sums) override {
    guarded([&] { running().products.issue(product, sums); });
  }

  void commit_multiply() override { running().products.commit(); }

  void wait_multiplied(int groups_left, const char* file, int line) override {
    const std::size_t index = thread.x / kWarpgroup;
    Warpgroup* group = nullptr;
    guarded([&] {
      if (index >= slot_->warpgroups.size()) {
        throw ExecutionError("waits for products in a warpgroup of fewer than 128 threads");
      }
      group = &slot_->warpgroups[index];
      if (group->came > 0 && groups_left != group->groups_left) {
        throw ExecutionError("waits for another number of groups than others of its warpgroup");
      }
    });
    group->groups_left = groups_left;
    const int meeting = group->meetings;
    ++group->came;
    await({Stop::Kind::event, "wait for products", file, line},
          [=] { return group->meetings > meeting; });
  }

  void multiply_of(int first, int groups_left) {
    std::array<ProductQueue*, kWarpgroup> queues;
    for (int i = 0; i < kWarpgroup; ++i) {
      queues[static_cast<std::size_t>(i)] = &lane(*slot_, first + i).products;
    }
    products_.wait(queues, groups_left, tensor_core_, [this](unsigned address) {
      check_published(address, kPublishedBytes);
      return slot_->pool.at(address, kPublishedBytes);
    });
  }

  void check_published(unsigned address, unsigned bytes) const {
    const auto written = slot_->unpublished.lower_bound(address / kPublishedBytes);
    if (written == slot_->unpublished.end() ||
        written->first >= (address + bytes + kPublishedBytes - 1) / kPublishedBytes) {
      return;
    }
    throw ExecutionError("lets the copy engine or a product read what thread " +
                         std::to_string(written->second) + " wrote at address " +
                         std::to_string(written->first * kPublishedBytes) +
                         " of shared memory and did not publish");
  }

  Slot& cta_of_cluster(int rank) const {
    if (rank < 0 || rank >= static_cast<int>(slot_->cluster.size())) {
      throw ExecutionError("looks for a CTA outside its cluster");
    }
    return *slot_->cluster[static_cast<std::size_t>(rank)];
  }

  Mbarrier& own_mbarrier(const void* barrier) const {
    const auto found = slot_->mbarriers.find(slot_->pool.address_of(barrier));
    if (found == slot_->mbarriers.end()) {
      throw ExecutionError("uses a barrier that is not initialised");
    }
    return found->second;
  }

  // Where the CTA has the running one's barrier: for the copy engine, and for other CTAs.
  Mbarrier& mbarrier_of(Slot& cta, const void* barrier) const {
    const auto found = cta.mbarriers.find(slot_->pool.address_of(barrier));
    if (cta.ended) throw ExecutionError("uses a barrier of a CTA that has ended");
    if (found == cta.mbarriers.end() || !found->second.is_published) {
      throw ExecutionError("uses a barrier, of CTA " + name(cta.block) +
                           ", that is not initialised and published");
    }
    return found->second;
  }

  int come(int id, int threads) {
    int meeting = 0;
    guarded([&] {
      if (id < 0 || id >= kNamedBarriers) throw ExecutionError("comes to a barrier that is none");
      meeting =
          slot_->named[static_cast<std::size_t>(id)].come(static_cast<int>(thread.x), threads);
    });
    return meeting;
  }

  // The tensor's address and all that it has may be the result of an earlier launch.
  const BoundTensorMap& known(const void* map) {
    if (!running().awaited_earlier_launch) {
      throw ExecutionError("copies a box before it has waited for earlier launches");
    }
    return *static_cast<const BoundTensorMap*>(map);
  }

  // Suspends the running thread until it has happened, however soon that is: others run first.
  template <class HasHappened>
  void await(const Stop& stop, HasHappened has_happened) {
    running().has_happened = has_happened;
    this->stop(stop);
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
  const std::function<void(Cta&)>* function_ = nullptr;
  Order order_ = Order::forward;
  TensorCore tensor_core_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Slot>> slots_;
  Slot* slot_ = nullptr;  // of the thread that is running
  std::vector<Lane> lanes_;
  Transfers transfers_;
  WarpgroupProducts products_;
  bool earlier_has_ended_ = true;
  std::optional<std::string> error_;
  Fibers fibers_;
};

Emulator::Emulator(int block_threads, int smem_bytes, int resident_ctas)
    : grid_(std::make_unique<Grid>(block_threads, smem_bytes, resident_ctas)) {}

Emulator::~Emulator() = default;

void Emulator::run(const Launch& launch, const std::function<void(Cta&)>& thread) {
  grid_->run(launch, thread);
}

const char* to_string(Order order) {
  constexpr const char* kNames[] = {"forward", "reversed", "shuffled"};
  return kNames[static_cast<int>(order)];
}

}  // namespace gemm_tune::emulator

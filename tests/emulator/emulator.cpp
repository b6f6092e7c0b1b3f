#include "tests/emulator/emulator.h"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "kernel_templates/rules.h"
#include "tests/emulator/fibers.h"

namespace gemm_tune::emulator {
namespace {

constexpr std::uint32_t kSignallingNan = 0x7fa00000;
// Wide, so that an index that is off by rows and not by elements does not land in the next array.
constexpr std::size_t kRedZoneBytes = 16 * 1024;
constexpr int kMaxArrays = 8;

std::string name(const Index3& thread, const Index3& block) {
  return "thread " + std::to_string(thread.x) + " of CTA " + std::to_string(block.x);
}

// The shared memory of the CTA that is running: everything poisoned but the arrays taken.
class SharedPool {
 public:
  explicit SharedPool(int granted_bytes)
      : granted_bytes_(granted_bytes),
        bytes_(static_cast<std::size_t>(granted_bytes) + (kMaxArrays + 1) * kRedZoneBytes),
        memory_(new (std::align_val_t{16}) char[bytes_]) {
    ASAN_POISON_MEMORY_REGION(memory_, bytes_);
  }
  ~SharedPool() {
    ASAN_UNPOISON_MEMORY_REGION(memory_, bytes_);
    operator delete[](memory_, std::align_val_t{16});
  }
  SharedPool(const SharedPool&) = delete;
  SharedPool& operator=(const SharedPool&) = delete;

  void start_cta() {
    if (!arrays_.empty()) ASAN_POISON_MEMORY_REGION(memory_, bytes_);
    arrays_.clear();
    taken_bytes_ = 0;
  }

  // Throws ExecutionError, without the name of the thread.
  float* take(int index, int n) {
    if (n < 1) throw ExecutionError("takes an array of " + std::to_string(n) + " floats");
    if (index >= kMaxArrays) throw ExecutionError("takes more shared arrays than the emulator has");
    const auto i = static_cast<std::size_t>(index);
    if (i == arrays_.size()) add(n);
    if (arrays_[i].floats != n) {
      throw ExecutionError("takes " + std::to_string(n) + " floats as shared array " +
                           std::to_string(index) + " where another thread took " +
                           std::to_string(arrays_[i].floats));
    }
    return arrays_[i].data;
  }

 private:
  struct Array {
    float* data;
    int floats;
  };

  void add(int n) {
    const int start_bytes = taken_bytes_;
    taken_bytes_ += smem_floats(n) * static_cast<int>(sizeof(float));
    if (taken_bytes_ > granted_bytes_) {
      throw ExecutionError("takes " + std::to_string(taken_bytes_) +
                           " bytes of shared memory where the recipe grants " +
                           std::to_string(granted_bytes_));
    }
    char* const array =
        memory_ + static_cast<std::size_t>(start_bytes) + (arrays_.size() + 1) * kRedZoneBytes;
    const auto floats = static_cast<std::size_t>(n);
    ASAN_UNPOISON_MEMORY_REGION(array, floats * sizeof(float));
    for (std::size_t i = 0; i < floats; ++i) {
      std::memcpy(array + i * sizeof(float), &kSignallingNan, sizeof(float));
    }
    arrays_.push_back({reinterpret_cast<float*>(array), n});
  }

  const int granted_bytes_;
  const std::size_t bytes_;
  char* const memory_;
  std::vector<Array> arrays_;
  int taken_bytes_ = 0;
};

// Where a thread stands: nowhere while it has instructions to run, at a barrier, or at its end.
struct Stop {
  bool finished = false;
  std::string_view file;
  int line = 0;

  friend bool operator==(const Stop&, const Stop&) = default;

  std::string text() const {
    if (finished) return "has left the kernel";
    return "waits at the barrier in " + std::string(file) + ":" + std::to_string(line);
  }
};

}  // namespace

class Emulator::Grid final : private Cta {
 public:
  Grid(int block_threads, int smem_bytes)
      : pool_(smem_bytes),
        stops_(static_cast<std::size_t>(block_threads)),
        fibers_(block_threads, [this](int i) { run_thread(i); }) {
    block_dim = {static_cast<unsigned>(block_threads), 1, 1};
  }

  void run(const Launch& launch, const std::function<ThreadFunction>& function,
           const GemmArgs& args) {
    function_ = &function;
    args_ = &args;
    order_ = launch.order;
    random_.seed(launch.seed);
    grid_dim = {static_cast<unsigned>(launch.grid_ctas), 1, 1};
    for (const int cta : sequence(launch.grid_ctas)) {
      block.x = static_cast<unsigned>(cta);
      pool_.start_cta();
      while (!run_to_next_stop().finished) continue;
    }
  }

 private:
  // Runs every thread up to its next barrier or its end, which must be the same for all.
  Stop run_to_next_stop() {
    for (const int i : sequence(static_cast<int>(stops_.size()))) {
      thread.x = static_cast<unsigned>(i);
      fibers_.resume(i);
      if (error_) throw ExecutionError(name(thread, block) + " " + *error_);
    }
    const auto odd = std::adjacent_find(stops_.begin(), stops_.end(), std::not_equal_to<>());
    if (odd != stops_.end()) {
      const auto i = static_cast<unsigned>(odd - stops_.begin());
      throw ExecutionError(name({i, 0, 0}, block) + " " + odd->text() + ", but " +
                           name({i + 1, 0, 0}, block) + " " + (odd + 1)->text());
    }
    return stops_.front();
  }

  void run_thread(int i) {
    (*function_)(*this, *args_);
    stop(i, {true, {}, 0});
  }

  void barrier(const char* file, int line) override {
    stop(static_cast<int>(thread.x), {false, file, line});
  }

  float* take(int index, int n) override {
    try {
      return pool_.take(index, n);
    } catch (const ExecutionError& error) {  // must not unwind through a kernel's frames
      error_ = error.what();
    }
    for (;;) fibers_.suspend();  // never resumed
  }

  void stop(int i, const Stop& stop) {
    stops_[static_cast<std::size_t>(i)] = stop;
    fibers_.suspend();
  }

  std::vector<int> sequence(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    if (order_ == Order::reversed) std::reverse(all.begin(), all.end());
    if (order_ == Order::shuffled) std::shuffle(all.begin(), all.end(), random_);
    return all;
  }

  const std::function<ThreadFunction>* function_ = nullptr;
  const GemmArgs* args_ = nullptr;
  Order order_ = Order::forward;
  SharedPool pool_;
  std::mt19937 random_;
  std::vector<Stop> stops_;
  std::optional<std::string> error_;
  Fibers fibers_;
};

Emulator::Emulator(int block_threads, int smem_bytes)
    : grid_(std::make_unique<Grid>(block_threads, smem_bytes)) {}

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

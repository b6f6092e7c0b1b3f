// SPDX-License-Identifier: Apache-2.0
// Answers that are remembered by key: found without a lock, an allocation or a system call.
//
// Open addressing over pointers to entries. Entries are added, never changed, moved or removed
// before the table ends, so that a reader needs no lock and may keep what it has found. A table
// that has outgrown its slots gets twice as many; readers may still be in the old ones, which are
// kept, too: all of them together are smaller than the entries. Any number of threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace gemm_tune {

// Keys have a hash() whose low bits differ. A key that is sought may be of another type that
// compares with Key and has the same hash where they are equal.
template <class Key, class Value>
class Remembered {
 public:
  // most: entries beyond it are not remembered, so that endless different keys do not fill memory.
  explicit Remembered(std::size_t most) : most_(most) {}
  Remembered(const Remembered&) = delete;
  Remembered& operator=(const Remembered&) = delete;

  // nullptr for a key without an entry.
  template <class Sought>
  const Value* find(const Sought& key) const {
    const Slots* const slots = slots_.load(std::memory_order_acquire);
    if (slots == nullptr) return nullptr;
    const Entry* const entry = slots->place_of(key).entry;
    return entry == nullptr ? nullptr : &entry->value;
  }

  // The key's value: this one, or the one that another thread has added. nullptr where the table is
  // full. counted: whether the entry counts towards `most`; of others the caller knows a bound.
  const Value* add(Key key, Value value, bool counted = true) {
    const std::lock_guard adding(mutex_);
    if (const Value* const known = find(key)) return known;
    if (counted && counted_ >= most_) return nullptr;
    if (counted) ++counted_;
    if (all_slots_.empty() || 2 * entries_.size() >= all_slots_.back()->size()) grow();
    entries_.push_back(std::make_unique<const Entry>(Entry{std::move(key), std::move(value)}));
    all_slots_.back()->put(*entries_.back());
    return &entries_.back()->value;
  }

 private:
  struct Entry {
    Key key;
    Value value;
  };

  // A power of two of them, at most half of which are taken. They lie behind the object: a reader
  // waits for each address that it has to read on its way to an entry.
  class Slots {
   public:
    static std::unique_ptr<Slots> make(std::size_t size) {
      return std::unique_ptr<Slots>(new (::operator new(sizeof(Slots) + size * sizeof(Slot)))
                                        Slots(size));
    }
    static void operator delete(void* slots) { ::operator delete(slots); }
    std::size_t size() const { return mask_ + 1; }

    // The slot with the key's entry, or the free slot where it belongs. The entry is the one that
    // was compared: another thread may fill a free slot at once.
    struct Place {
      std::size_t slot;
      const Entry* entry;
    };
    template <class Sought>
    Place place_of(const Sought& key) const {
      std::size_t i = key.hash() & mask_;
      while (true) {
        const Entry* const entry = slots()[i].load(std::memory_order_acquire);
        if (entry == nullptr || entry->key == key) return {i, entry};
        i = (i + 1) & mask_;
      }
    }
    void put(const Entry& entry) {
      slots()[place_of(entry.key).slot].store(&entry, std::memory_order_release);
    }

   private:
    using Slot = std::atomic<const Entry*>;
    static_assert(alignof(Slot) <= alignof(std::size_t));

    explicit Slots(std::size_t size) : mask_(size - 1) {
      std::uninitialized_value_construct_n(slots(), size);
    }
    Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
    const Slot* slots() const { return reinterpret_cast<const Slot*>(this + 1); }

    const std::size_t mask_;
  };

  void grow() {
    constexpr std::size_t kFirst = 64;
    auto larger = Slots::make(all_slots_.empty() ? kFirst : 2 * all_slots_.back()->size());
    for (const auto& entry : entries_) larger->put(*entry);
    all_slots_.push_back(std::move(larger));
    slots_.store(all_slots_.back().get(), std::memory_order_release);
  }

  const std::size_t most_;
  std::atomic<const Slots*> slots_ = nullptr;
  std::mutex mutex_;  // of who adds
  std::size_t counted_ = 0;
  std::vector<std::unique_ptr<const Entry>> entries_;
  std::vector<std::unique_ptr<Slots>> all_slots_;
};

}  // namespace gemm_tune

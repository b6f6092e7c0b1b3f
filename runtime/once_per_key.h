// SPDX-License-Identifier: Apache-2.0
// Values that are made once for each key, where making one takes long.
//
// A caller waits only for a value of its own key. Any number of threads.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace gemm_tune {

template <class Key, class Value>
class OncePerKey {
 public:
  // The key's value, from make() where it is not there yet. The reference stays valid. Throws what
  // make() throws; the next caller for the key then makes the value.
  template <class Make>
  const Value& get(const Key& key, Make&& make) {
    Slot& slot = slot_of(key);
    const std::lock_guard making(slot.mutex);
    if (!slot.value) slot.value.emplace(std::forward<Make>(make)());
    return *slot.value;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::optional<Value> value;  // guarded by mutex
  };

  Slot& slot_of(const Key& key) {
    const std::lock_guard finding(mutex_);
    return slots_[key];
  }

  std::mutex mutex_;
  std::map<Key, Slot> slots_;  // guarded by mutex_; entries stay where they are
};

}  // namespace gemm_tune

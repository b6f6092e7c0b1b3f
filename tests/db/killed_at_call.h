// SPDX-License-Identifier: Apache-2.0
// Kills a process at a counted call by which SQLite changes files. A test tries each of the calls,
// in a child process.
#pragma once

#include <signal.h>
#include <sqlite3.h>
#include <sys/types.h>

namespace gemm_tune {

inline int calls_until_kill = 0;

// What SQLite calls in place of the system call of one name.
template <int Name, class Result, class... Arguments>
struct CountedCall {
  static inline Result (*original)(Arguments...) = nullptr;

  static Result call(Arguments... arguments) {
    if (--calls_until_kill == 0) raise(SIGKILL);
    return original(arguments...);
  }

  // Where this SQLite makes the call.
  static void count(const char* name) {
    sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
    const sqlite3_syscall_ptr found = vfs->xGetSystemCall(vfs, name);
    if (found == nullptr) return;
    original = reinterpret_cast<Result (*)(Arguments...)>(found);
    vfs->xSetSystemCall(vfs, name, reinterpret_cast<sqlite3_syscall_ptr>(&call));
  }
};

// Before the so-manieth write, truncation or removal from here on.
inline void kill_at_call(int number) {
  calls_until_kill = number;
  CountedCall<0, ssize_t, int, const void*, std::size_t>::count("write");
  CountedCall<1, ssize_t, int, const void*, std::size_t, off_t>::count("pwrite");
  CountedCall<2, ssize_t, int, const void*, std::size_t, off_t>::count("pwrite64");
  CountedCall<3, int, int, off_t>::count("ftruncate");
  CountedCall<4, int, const char*>::count("unlink");
}

}  // namespace gemm_tune

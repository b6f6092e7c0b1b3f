// SPDX-License-Identifier: Apache-2.0
// Random numbers of the system, which nobody can guess. std::random_device of a static libstdc++
// calls arc4random(), which glibc has from 2.36 on: programs and wheels would not start on
// Ubuntu 22.04. Any thread.
#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace gemm_tune {

inline std::uint32_t random_word() {
  std::uint32_t word = 0;
  if (::getentropy(&word, sizeof word) != 0) {
    throw std::system_error(errno, std::generic_category(), "the system gives no random numbers");
  }
  return word;
}

}  // namespace gemm_tune

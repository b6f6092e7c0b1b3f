// SPDX-License-Identifier: Apache-2.0
// The fake workers' behaviour for each config, and the outcome that must follow. Both depend on the
// config's text only, so that worker and test agree and every run has the same results.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gemm_tune::fake {

enum class Fault {
  none,
  compile_failed,
  compiler_crash,
  endless_compile,
  launch_failed,
  wrong_result,
  crash,
  hang,
  killed,   // from outside, while at work: no outcome of the candidate's
  garbage,  // a reply that is not the protocol's
  spoils,   // passes, but later candidates in the same process come out wrong
};

inline std::uint64_t hash(std::string_view text) {
  std::uint64_t state = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return state ^ state >> 29;
}

// One config in four is faulty.
inline Fault fault_of(std::string_view config) {
  const std::uint64_t h = hash(config);
  if (h % 4 != 0) return Fault::none;
  return static_cast<Fault>(1 + h / 4 % 10);
}

// As stored: the word of the disposition; empty where there is to be no row.
inline const char* disposition_of(Fault fault) {
  switch (fault) {
    case Fault::none:
    case Fault::spoils:
      return "ok";
    case Fault::compile_failed:
      return "compile_failed";
    case Fault::endless_compile:
    case Fault::hang:
      return "timed_out";
    case Fault::launch_failed:
      return "launch_failed";
    case Fault::wrong_result:
      return "wrong_result";
    case Fault::compiler_crash:
    case Fault::crash:
    case Fault::garbage:
      return "crashed";
    case Fault::killed:
      return "";
  }
  return "";
}

// Faulty ones would win if they were believed.
inline double time_us_of(std::string_view config) {
  const double spread = static_cast<double>(hash(config) / 8 % 100000) / 1000;
  const Fault fault = fault_of(config);
  return fault == Fault::none ? 100 + spread : fault == Fault::spoils ? 300 + spread : 10 + spread;
}

inline constexpr double kCublasError = 2e-7;

// From half of cuBLAS's error to two and a half times it.
inline double error_of(std::string_view config) {
  return kCublasError * (0.5 + static_cast<double>(hash(config) / 16 % 1000) / 500);
}

// With cold operands, in the workers' mode `cold`: up to 1.8 times as long.
inline double cold_us_of(std::string_view config) {
  const std::uint64_t h = hash(std::string(config) + " cold");
  return time_us_of(config) * (1 + static_cast<double>(h % 1000) / 1250);
}

// Bytes that belong to the config, and are no text.
inline std::string cubin_of(std::string_view config) {
  return "\177ELF\xff\n" + std::string(1, '\0') + std::string(config);
}

}  // namespace gemm_tune::fake

// SPDX-License-Identifier: Apache-2.0
// The fake workers' behaviour for each config, and the outcome that must follow. Both depend on the
// config's text only, so that worker and test agree and every run has the same results.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/words.h"

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

// What the library proposes. The first is faster than any healthy kernel, but in the workers' mode
// `slow_library`; the second comes out wrong, and the third is refused by the library.
inline constexpr const char* kLibraryChoice = "cublas/WORKSPACE=33554432";
inline constexpr const char* kFastAlgorithm = "cublaslt/ALGO=60,TILE=20";
inline constexpr const char* kWrongAlgorithm = "cublaslt/ALGO=61,TILE=21";
inline constexpr const char* kRefusedAlgorithm = "cublaslt/ALGO=62,TILE=22";

inline bool is_of_library(std::string_view config) { return config.substr(0, 6) == "cublas"; }

inline std::uint64_t hash(std::string_view text) {
  std::uint64_t state = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return state ^ state >> 29;
}

// One config in four is faulty.
inline Fault fault_of(std::string_view config) {
  if (is_of_library(config)) {
    return config == kWrongAlgorithm ? Fault::wrong_result : Fault::none;
  }
  const std::uint64_t h = hash(config);
  if (h % 4 != 0) return Fault::none;
  return static_cast<Fault>(1 + h / 4 % 10);
}

// As stored: the word of the disposition; empty where there is to be no row.
inline constexpr auto kDispositions = words<Fault>({{Fault::none, "ok"},
                                                    {Fault::spoils, "ok"},
                                                    {Fault::compile_failed, "compile_failed"},
                                                    {Fault::endless_compile, "timed_out"},
                                                    {Fault::hang, "timed_out"},
                                                    {Fault::launch_failed, "launch_failed"},
                                                    {Fault::wrong_result, "wrong_result"},
                                                    {Fault::compiler_crash, "crashed"},
                                                    {Fault::crash, "crashed"},
                                                    {Fault::garbage, "crashed"},
                                                    {Fault::killed, ""}});

// Faulty ones would win if they were believed.
inline double time_us_of(std::string_view config) {
  if (is_of_library(config)) return config == kFastAlgorithm ? 90 : 120;
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

// What a worker with this log and process id leaves where it hangs.
inline std::string mark_of_hang(const std::string& log, pid_t worker) {
  return log + ".hangs." + std::to_string(worker);
}

// What a kernel_key() is made of here.
inline std::string cubin_key_of(std::string_view config, std::string_view epilogue) {
  return std::string(config) + " " + std::string(epilogue);
}

// Bytes that belong to the config and its epilogue, and are no text.
inline std::string cubin_of(std::string_view config, std::string_view epilogue) {
  if (is_of_library(config)) return "";
  return "\177ELF\xff\n" + std::string(1, '\0') + std::string(config) + std::string(epilogue);
}

}  // namespace gemm_tune::fake

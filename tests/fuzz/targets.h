// SPDX-License-Identifier: Apache-2.0
// The fuzz targets: each takes any bytes, hands them to one reader of untrusted text or files, and
// checks what may never happen.
//
// A reader may refuse its input only by the exception that its header names. Anything else that
// escapes a check, one of require()'s included, is a finding: a crash to libFuzzer
// (libfuzzer_entry.cpp) and a failed test to corpus_test.cpp, which holds the checks against the
// corpus with every compiler. Checks write below the folder for temporary files only.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace gemm_tune::fuzz {

void check_call_log(std::string_view input);   // a log of calls of cuBLAS or of PyTorch
void check_called(std::string_view input);     // a report of the drop-in
void check_config(std::string_view input);     // a config's text, and the kernel it names
void check_database(std::string_view input);   // a database file, whole or as edits of a sound one:
                                               // read, checked for damage and written
void check_duration(std::string_view input);   // the argument of --time
void check_import(std::string_view input);     // rows as JSON or CSV
void check_problem(std::string_view input);    // a problem's text
void check_ptx(std::string_view input);        // a kernel's PTX, or the body of one
void check_ptxas_log(std::string_view input);  // what the compiler says of a kernel
void check_reply(std::string_view input);      // frames from a worker
void check_sizes(std::string_view input);      // the argument of --sizes, or a file of sizes
void check_sweep(std::string_view input);      // a recorded sweep, packed or not

struct Target {
  const char* name;
  void (*check)(std::string_view input);
};

inline constexpr Target kTargets[] = {
    {"call_log", check_call_log}, {"called", check_called},     {"config", check_config},
    {"database", check_database}, {"duration", check_duration}, {"import", check_import},
    {"problem", check_problem},   {"ptx", check_ptx},           {"ptxas_log", check_ptxas_log},
    {"reply", check_reply},       {"sizes", check_sizes},       {"sweep", check_sweep},
};

inline void require(bool holds, const char* property) {
  if (!holds) throw std::logic_error(std::string("not so: ") + property);
}

}  // namespace gemm_tune::fuzz

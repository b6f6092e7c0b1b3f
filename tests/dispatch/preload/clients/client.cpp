// SPDX-License-Identifier: Apache-2.0
// preload_client [M|until M|await FILE|kill]...: calls cublasSgemm_v2 of the library that the
// program is linked with.
//
// Prints who did each call; of those of `until`, which end with one that gemm-tune serves, the
// last. `await` waits until there is a file. Exits with 5, so that a test can see whose exit code
// it gets; `kill` ends it by SIGKILL.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" bool cublas_did_it(int m);

int main(int argc, char** argv) {
  constexpr useconds_t kPauseUs = 1000;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "kill") std::raise(SIGKILL);
    if (word == "await" && i + 1 < argc) {
      for (++i; access(argv[i], F_OK) != 0;) usleep(kPauseUs);
      continue;
    }
    const bool repeats = word == "until" && i + 1 < argc;
    const int m = std::atoi(argv[repeats ? ++i : i]);
    bool did_it = cublas_did_it(m);
    for (; repeats && did_it; did_it = cublas_did_it(m)) usleep(kPauseUs);
    std::puts(did_it ? "cublas" : "gemm-tune");
  }
  return 5;
}

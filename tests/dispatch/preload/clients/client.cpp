// SPDX-License-Identifier: Apache-2.0
// preload_client [M...|kill]: calls cublasSgemm_v2 of the library that the program is linked with.
//
// Prints who did each call. Exits with 5, so that a test can see whose exit code it gets; `kill`
// ends it by SIGKILL.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" bool cublas_did_it(int m);

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "kill") std::raise(SIGKILL);
    std::puts(cublas_did_it(std::atoi(argv[i])) ? "cublas" : "gemm-tune");
  }
  return 5;
}

// SPDX-License-Identifier: Apache-2.0
// Writes what the kernels of the lists compile to now: to be run when a family has got another
// revision, or for another NVRTC.
//
// usage: renew_machine_code LIST...
#include <cstdio>
#include <exception>

#include "tests/kernel_templates/machine_code_list.h"

namespace {

using namespace gemm_tune;

void renew(const char* path) {
  MachineCodeList list = read_list(path);
  std::string text = kListHead + nvrtc_version() + "\n";
  for (ListedCode& code : list.kernels) {
    const int revision = check_config(parse_config(code.config)).family->revision;
    text += code.arch + " " + code.form + " " + std::to_string(revision) + " " +
            hash_of_code(code) + " " + code.config + "\n";
  }
  std::ofstream(path) << text;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    for (int i = 1; i < argc; ++i) renew(argv[i]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "renew_machine_code: %s\n", error.what());
    return 1;
  }
}

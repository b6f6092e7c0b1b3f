// SPDX-License-Identifier: Apache-2.0
// A run with fake workers as a program of its own, to be killed or stopped. usage: tune_with_fakes
// DB LOG CONFIGS [LIMIT_S [MODE]]. CONFIGS: a file with a config on each line, all of them healthy;
// LIMIT_S: what each may take; MODE: of fake_candidate_worker. Prints the winner.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/tuner/fake_tuning.h"

int main(int argc, char** argv) {
  using namespace gemm_tune;
  if (argc < 4) return 2;
  std::vector<KnownConfig> configs;
  std::ifstream in(argv[3]);
  for (std::string line; std::getline(in, line);) {
    configs.push_back(check_config(parse_config(line)));
  }
  const std::chrono::seconds limit(argc > 4 ? std::atoi(argv[4]) : 20);
  const TuneReport report =
      fake::tune_with_fakes(configs, argv[1], argv[2], limit, argc > 5 ? argv[5] : "");
  std::printf("%s\n", to_string(report.problems.at(0).winner.value().config.config()).c_str());
  return 0;
}

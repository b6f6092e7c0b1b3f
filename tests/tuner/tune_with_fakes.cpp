// A run with fake workers as a program of its own, to be killed. usage: tune_with_fakes DB LOG
// CONFIGS, the last a file with a config on each line, all of them healthy. Prints the winner.
#include <chrono>
#include <cstdio>
#include <fstream>

#include "tests/tuner/fake_tuning.h"

int main(int argc, char** argv) {
  using namespace gemm_tune;
  if (argc != 4) return 2;
  std::vector<KnownConfig> configs;
  std::ifstream in(argv[3]);
  for (std::string line; std::getline(in, line);) {
    configs.push_back(check_config(parse_config(line)));
  }
  const TuneReport report =
      fake::tune_with_fakes(configs, argv[1], argv[2], std::chrono::seconds(20));
  std::printf("%s\n", to_string(report.problems.at(0).winner.value().config.config()).c_str());
  return 0;
}

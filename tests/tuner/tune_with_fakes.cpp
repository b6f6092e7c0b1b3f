// A run with fake workers as a program of its own, to be killed. usage: tune_with_fakes DB LOG
// COUNT Healthy configs only. Prints the winner.
#include <cstdio>
#include <cstdlib>

#include "tests/tuner/fake_tuning.h"

int main(int argc, char** argv) {
  using namespace gemm_tune;
  if (argc != 4) return 2;
  const auto count = static_cast<std::size_t>(std::atoi(argv[3]));
  const TuneReport report =
      fake::tune_with_fakes(fake::some_configs(count, /*with_faulty=*/false), argv[1], argv[2]);
  std::printf("%s\n", to_string(report.problems.at(0).winner.value().config.config()).c_str());
  return 0;
}

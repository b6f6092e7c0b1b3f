// SPDX-License-Identifier: Apache-2.0
#include "core/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include "core/text/parse_number.h"

namespace gemm_tune {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;  // more than the set can hold
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  }
  return cpus;
}

std::size_t cpus_of_quota(std::string_view cpu_max) {
  const std::size_t space = cpu_max.find(' ');
  if (space == std::string_view::npos) return 0;
  const auto quota_us = parse_number<std::uint64_t>(cpu_max.substr(0, space));
  const auto period_us = parse_number<std::uint64_t>(cpu_max.substr(space + 1));
  if (!quota_us || !period_us || *quota_us == 0 || *period_us == 0) return 0;
  return (*quota_us - 1) / *period_us + 1;
}

std::size_t usable_cpus() {
  const std::size_t allowed = allowed_cpus().size();
  const std::size_t cpus = allowed > 0 ? allowed : std::thread::hardware_concurrency();
  // A container sees its own group at this place.
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string cpu_max;
  std::getline(file, cpu_max);
  const std::size_t quota = cpus_of_quota(cpu_max);
  return std::max<std::size_t>(1, quota > 0 ? std::min(quota, cpus) : cpus);
}

}  // namespace gemm_tune

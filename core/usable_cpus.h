// SPDX-License-Identifier: Apache-2.0
// The CPUs that this process may use, which std::thread::hardware_concurrency() does not say: it
// counts those of the machine.
//
// Any thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace gemm_tune {

// Those that the calling thread is bound to, as by taskset, a batch system or mpirun; empty where
// the system does not say.
std::vector<int> allowed_cpus();

// How many run at once: those allowed, and no more than the quota of CPU time of a container under
// cgroup v2. At least 1.
std::size_t usable_cpus();

// CPUs of a quota as cgroup v2's cpu.max has it ("400000 100000": microseconds of CPU time in each
// period), rounded up; 0 where there is none ("max 100000"), or the text is something else. Linux
// kernel, Documentation/admin-guide/cgroup-v2.rst.
std::size_t cpus_of_quota(std::string_view cpu_max);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// The commands of gemm-tune-research: each adds itself to the program, with its options.
#pragma once

namespace CLI {
class App;
}

namespace gemm_tune {

void add_replay(CLI::App& app);
void add_simulate(CLI::App& app);

}  // namespace gemm_tune

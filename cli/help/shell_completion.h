// SPDX-License-Identifier: Apache-2.0
// What bash, zsh and fish need to complete the program's commands, options and values, from the
// commands and options that CLI11 knows. Pure.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace gemm_tune {

// shell: "bash", "zsh" or "fish".
std::string shell_completion(const CLI::App& app, std::string_view shell);

}  // namespace gemm_tune

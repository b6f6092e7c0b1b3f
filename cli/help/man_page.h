// SPDX-License-Identifier: Apache-2.0
// The man page, in the macros of man(7), from the commands and options that CLI11 knows. Pure.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace gemm_tune {

std::string man_page(const CLI::App& app);

}  // namespace gemm_tune

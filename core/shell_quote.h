// SPDX-License-Identifier: Apache-2.0
// A word as a shell takes it back: for commands that messages and rows name. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace gemm_tune {

// The word itself where no shell treats any byte of it specially, else in '...'; a word with
// control bytes or bytes that are not UTF-8 in $'...' (POSIX 2024, bash, zsh), so that the text can
// be shown and stored.
std::string shell_quote(std::string_view word);

}  // namespace gemm_tune

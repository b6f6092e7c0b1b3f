// SPDX-License-Identifier: Apache-2.0
// Quotes a word for a shell, for the commands in messages and rows. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace gemm_tune {

// The word unchanged if no shell treats a byte of it specially, else in '...'. A word with control
// bytes or bytes that are not UTF-8 becomes $'...' (POSIX 2024, bash, zsh), so that the text can be
// shown and stored.
std::string shell_quote(std::string_view word);

}  // namespace gemm_tune

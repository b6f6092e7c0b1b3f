// SPDX-License-Identifier: Apache-2.0
// The tokens of a kernel's text that reach the compiler, as a text of their own.
//
// Two texts with the same token text compile to the same machine code: comments, white space, line
// splices, `#line`, `#pragma once` and what only the host or the emulator reads are gone, device
// headers stand where they are first included, and tokens are separated by one blank. The result
// compiles without any header beside it. A stringised macro argument (`#x`) keeps no white space,
// which is the one place where the compiler could see it. A kernel with an epilogue
// (device/bias.cuh) and one without have token texts of their own, and so have one whose later
// parameters (add_later_param() in family.h) have another value than 0 and one without such. Pure;
// any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace gemm_tune {

// Which macros of a kernel's text are defined.
struct TokensWith {
  bool epilogue = false;      // TUNED_EPILOGUE
  bool later_params = false;  // those of all later parameters
};

// text_of: the text of a device header by its include path, or nullptr for an include that stays.
// Tokens follow the C++20 standard, [lex.pptoken].
std::string token_text(std::string_view text,
                       const std::function<const std::string*(const std::string& path)>& text_of,
                       TokensWith with = {});

}  // namespace gemm_tune

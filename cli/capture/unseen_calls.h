// SPDX-License-Identifier: Apache-2.0
// Why the drop-in may have seen no call of a program.
//
// Reads the program's file and PATH. Any thread.
#pragma once

#include <string>
#include <vector>

namespace gemm_tune {

// A clause for the end of the sentence that no call was seen, as in "; --audit sees ..."; empty
// where nothing is known. audit: whether the program ran under the audit module.
std::string why_unseen(const std::vector<std::string>& application, bool audit);

}  // namespace gemm_tune

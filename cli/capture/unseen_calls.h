// SPDX-License-Identifier: Apache-2.0
// Why the drop-in may have seen no call of a program.
//
// Reads the program's file and PATH; any thread.
#pragma once

#include <string>
#include <vector>

namespace gemm_tune {

// A clause for the end of the sentence that no call was seen, as in "; --audit sees ..."; empty
// where nothing is known. audit: whether the program ran under the audit module.
std::string why_unseen(const std::vector<std::string>& application, bool audit);

// What a command ends with whose program made no call that could be served: the program's own exit
// code where it failed, and says so on stderr; else throws NothingFound. name: the program, to
// show.
int ended_without_calls(const std::vector<std::string>& application, const std::string& name,
                        int exit_code, bool audit);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Files that list what to try, one or more items per line: --sizes @FILE and --config @FILE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gemm_tune {

// The lines that hold something, without the blanks around them; '#' starts a comment. kind, forms:
// what the file should list and how that is written, for the message of UsageError, which is thrown
// where the file cannot be read or lists nothing.
std::vector<std::string> read_list_file(const std::string& path, const std::string& kind,
                                        const std::string& forms);

// Without spaces, tabs and line ends at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace gemm_tune

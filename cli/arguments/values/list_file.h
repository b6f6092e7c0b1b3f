// SPDX-License-Identifier: Apache-2.0
// Files with one or more items per line: --sizes @FILE and --config @FILE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gemm_tune {

enum class Comments { dropped, kept };

// The lines with text, without the blanks around it; '#' starts a comment. kind, forms: what the
// file should list and how to write it, for the error message. Throws UsageError if the file cannot
// be read or lists nothing.
std::vector<std::string> read_list_file(const std::string& path, const std::string& kind,
                                        const std::string& forms,
                                        Comments comments = Comments::dropped);

// The text without spaces, tabs and line ends at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// The commands within `gemm-tune db`, each in its own file.
#pragma once

#include "cli/arguments/command_line.h"

namespace gemm_tune {

AddCommand add_db_info, add_db_check, add_db_merge, add_db_diff, add_db_import, add_db_contribute,
    add_db_prune;

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// gemm-tune db: the group of the commands about the database itself.
#include "cli/commands.h"
#include "cli/database/db_commands.h"

namespace gemm_tune {

namespace {

constexpr NamedCommand kCommands[] = {
    {"info", "Count the rows, and those that are still valid", add_db_info,
     "  gemm-tune db info\n"},
    {"check", "Check the whole file for damage; write nothing", add_db_check,
     "  gemm-tune db check --db theirs.db\n"},
    {"merge", "Bring the rows of several databases together in one, new or not", add_db_merge,
     "  gemm-tune db merge all.db mine.db theirs.db\n"},
    {"diff", "The rows of B that A has not, and the winners that differ; write nothing",
     add_db_diff, "  gemm-tune db diff mine.db theirs.db\n"},
    {"import", "Bring in the rows of an export as JSON or CSV", add_db_import,
     "  gemm-tune db import rows.json\n"},
    {"contribute", "Write the winners of each device to a text file, to hand on or to ship",
     add_db_contribute, "  gemm-tune db contribute -o winners\n"},
    {"prune", "Copy the database without some rows; say which, without --output", add_db_prune,
     "  gemm-tune db prune --stale\n"
     "  gemm-tune db prune --stale --output new.db\n"},
};

}  // namespace

void add_db(CLI::App& group, Call& call) {
  group.require_subcommand(1);
  for (const NamedCommand& one : kCommands) add_named(group, one, call);
}

}  // namespace gemm_tune

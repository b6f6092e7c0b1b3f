// SPDX-License-Identifier: Apache-2.0
// gemm-tune db: the group of the commands about the database itself.
#include "cli/commands.h"
#include "cli/database/db_commands.h"

namespace gemm_tune {

namespace {

constexpr NamedCommand kCommands[] = {
    {"info", "Count the rows, and those that are still valid", add_db_info},
    {"check", "Check the whole file for damage; write nothing", add_db_check},
    {"merge", "Bring the rows of several databases together in one, new or not", add_db_merge},
    {"diff", "The rows of B that A has not, and the winners that differ; write nothing",
     add_db_diff},
    {"import", "Bring in the rows of an export as JSON or CSV", add_db_import},
    {"contribute", "Write the winners of each device to a text file, to hand on or to ship",
     add_db_contribute},
    {"prune", "Copy the database without some rows; say which, without --output", add_db_prune},
};

}  // namespace

void add_db(CLI::App& group, Call& call) {
  group.require_subcommand(1);
  for (const NamedCommand& one : kCommands) {
    one.add(*group.add_subcommand(one.name, one.what), call);
  }
}

}  // namespace gemm_tune

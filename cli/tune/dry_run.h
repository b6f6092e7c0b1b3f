// SPDX-License-Identifier: Apache-2.0
// gemm-tune --dry-run: prints the candidates that a run would try and its expected duration.
// Compiles nothing and creates no database.
#pragma once

#include <filesystem>

#include "cli/tune/tune_options.h"
#include "db/database.h"
#include "tuner/plan/target.h"
#include "tuner/plan/tune_request.h"
#include "tuner/process/scratch_dir.h"

namespace gemm_tune {

// The database, to be read. Where there is none, or a file of no bytes, which a search would fill,
// an empty one in the folder.
Database database_to_read(const std::filesystem::path& path, const ScratchDir& folder);

// database: of database_to_read(). Prints text or JSON; returns an exit code.
int dry_run(const TuneRequest& request, const Target& target, const TuneOptions& options,
            Database& database);

}  // namespace gemm_tune

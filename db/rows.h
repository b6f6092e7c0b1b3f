// Records to and from rows of the database: the one place that knows the columns' order.
//
// Private to db/. Rows of a damaged file read as far as they make sense: what cannot have been
// stored by this program is refused, never passed on. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include "db/database.h"

namespace gemm_tune {

// Selects what read_record() reads, from `candidates c`, `devices d`, `problems p`, `runs r` and
// `baselines b`; a WHERE may follow. Add kKnownProblem there: rows of types and layouts that this
// program does not know yet are not its business.
extern const char* const kSelectRecord;
extern const char* const kKnownProblem;

// The current row of such a statement. Throws Error saying what is wrong with it.
Record read_record(SQLite::Statement& row);

// Binds :registers and so on, or leaves them NULL.
void bind_resources(SQLite::Statement& row, const std::optional<Resources>& resources);

// Binds :median_us and so on.
void bind_timing(SQLite::Statement& row, const Timing& timing);

}  // namespace gemm_tune

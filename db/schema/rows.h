// SPDX-License-Identifier: Apache-2.0
// Converts between records and rows of the database. Only this file knows the columns' order.
//
// Values that this program cannot have stored (db/schema/soundness.h) are refused, never passed on.
// Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

#include "db/database.h"

namespace gemm_tune {

// Selects the columns for read_record() from `measurements m`, `devices d`, `problems p`,
// `candidates c`, `runs r` and the fastest baseline of the run, `b`. A WHERE may follow and should
// contain known_problem(), which excludes rows of types, batches and epilogues that this program
// does not know yet. The rows come in the order in which m's rows are found. The WHERE must
// therefore name rows of m by id or an index; an order by key is many times slower.
const std::string& select_record();
const std::string& known_problem();
inline constexpr int kRecordIdColumn = 0, kRecordCountsColumn = 1, kRecordedAtColumn = 2,
                     kRunUuidColumn = 3;

// Reads the current row of such a statement. Throws Error naming the fault of the row.
Record read_record(SQLite::Statement& row);

// The same with no baseline, and followed by known_problem() and all columns of `measurements m`.
// For rows of problems that this program does not know, read_record() throws.
const std::string& select_record_and_row();
extern const int kKnownProblemColumn, kFirstRowColumn;

// Binds the value, of any type that the schema has, to the parameter of that number.
void copy_value(const SQLite::Column& value, SQLite::Statement& to, int index);

// Selects the columns for read_summary() from the same tables without baselines; a WHERE may
// follow, as for select_record().
const std::string& select_summary();

// Reads the current row of such a statement: a record without its outcome's figures. Throws Error.
Record read_summary(SQLite::Statement& row);

// Selects the columns for read_timed_config(), without a FROM.
extern const std::string kTimedConfigColumns;
// The same, from `measurements m`, `devices d`, `problems p` and
// `candidates c`; a WHERE may follow, as for select_record().
const std::string& select_timed_config();

// Reads the current row of such a statement. Throws Error naming the fault of the row.
TimedConfig read_timed_config(SQLite::Statement& row);

// Selects the columns for read_baseline() from `baselines b`, its id first; joins and a WHERE may
// follow.
extern const std::string kSelectBaseline;
inline constexpr int kBaselineIdColumn = 0;

// Reads the current row of such a statement. Throws Error naming the fault of the row.
Baseline read_baseline(SQLite::Statement& row);

// Selects the columns for read_device_key() from `devices d`, and its id; a WHERE may follow.
extern const char* const kSelectDevice;
inline constexpr int kDeviceIdColumn = 3;

// Reads the current row of such a statement. Throws Error naming the fault of the row.
DeviceKey read_device_key(SQLite::Statement& row);

// Binds :arch, :name and :sms.
void bind_device(SQLite::Statement& statement, const DeviceKey& device);

// As bind_device(), and :problem, the problem's text.
void bind_place(SQLite::Statement& statement, const DeviceKey& device, const Problem& problem);

// Selects the id and the columns for is_sound_problem(); a WHERE may follow.
const std::string& select_problem();

// Whether the text and the columns of such a row agree. For a row that this program does not know,
// both must be unknown.
bool is_sound_problem(SQLite::Statement& row);

// Inserts a problem, with the parameters of bind_problem().
extern const char* const kInsertProblem;
void bind_problem(SQLite::Statement& row, const Problem& problem);

// Inserts a candidate, with the parameters of bind_candidate().
extern const char* const kInsertCandidate;
void bind_candidate(SQLite::Statement& row, const std::string& config, const std::string& revision);

// Binds :registers and the other resources, or leaves them NULL.
void bind_resources(SQLite::Statement& row, const std::optional<Resources>& resources);

// Binds :median_us and the other columns of the timing.
void bind_timing(SQLite::Statement& row, const Timing& timing);

// Binds :rank, :cold_rank, :tied and :verified.
void bind_ranking(SQLite::Statement& row, const Ranking& ranking);

// The revisions of libraries' families among those by which the file's view `winners` chooses.
KernelRevisions library_revisions(SQLite::Database& db);

// Replaces the revisions by which the file's view `winners` chooses. Those of libraries stay where
// none are given: not every program that writes knows a library's version.
void set_families(SQLite::Database& db, const KernelRevisions& revisions);

// Into the table `families` of main or temp.
void insert_families(SQLite::Database& db, const std::string& schema,
                     const KernelRevisions& revisions);

}  // namespace gemm_tune

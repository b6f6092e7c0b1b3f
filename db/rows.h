// SPDX-License-Identifier: Apache-2.0
// Records to and from rows of the database: the one place that knows the columns' order.
//
// Private to db/. What cannot have been stored by this program (db/soundness.h) is refused, never
// passed on. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

#include "db/database.h"

namespace gemm_tune {

// Selects what read_record() reads, from `measurements m`, `devices d`, `problems p`, `configs c`,
// `kernels k`, `runs r` and the fastest baseline of the run, `b`; a WHERE may follow. Add
// kKnownProblem there: rows of types and layouts that this program does not know yet are not its
// business. The rows come in the order in which m's are found, so that the WHERE has to name rows
// of m by its id or an index; an order by key is many times slower.
const std::string& select_record();
extern const char* const kKnownProblem;
inline constexpr int kRecordIdColumn = 39;  // of the measurement

// The current row of such a statement. Throws Error saying what is wrong with it.
Record read_record(SQLite::Statement& row);

// Selects what read_summary() reads, from the same tables but baselines; a WHERE may follow, as for
// select_record().
const std::string& select_summary();

// The current row of such a statement: a record without its outcome's figures. Throws Error.
Record read_summary(SQLite::Statement& row);

// Selects what read_timed_config() reads, from `measurements m`, `devices d`, `problems p`,
// `configs c` and `kernels k`; a WHERE may follow, as for select_record().
const std::string& select_timed_config();

// The current row of such a statement. Throws Error saying what is wrong with it.
TimedConfig read_timed_config(SQLite::Statement& row);

// Selects what read_baseline() reads, from `baselines b`, and its id; more joins and a WHERE may
// follow.
extern const char* const kSelectBaseline;
inline constexpr int kBaselineIdColumn = 9;

// The current row of such a statement. Throws Error saying what is wrong with it.
Baseline read_baseline(SQLite::Statement& row);

// Selects what read_device_key() reads, from `devices d`, and its id; a WHERE may follow.
extern const char* const kSelectDevice;
inline constexpr int kDeviceIdColumn = 3;

// The current row of such a statement. Throws Error saying what is wrong with it.
DeviceKey read_device_key(SQLite::Statement& row);

// Binds :arch, :name and :sms.
void bind_device(SQLite::Statement& statement, const DeviceKey& device);

// As bind_device(), and :problem to the text that the database knows the problem by.
void bind_place(SQLite::Statement& statement, const DeviceKey& device, const Problem& problem);

// Selects what is_sound_problem() judges, after the id; a WHERE may follow.
extern const char* const kSelectProblem;

// Whether the text and the columns of such a row say the same. A row that this program does not
// know is sound where its text is as unknown as its columns.
bool is_sound_problem(SQLite::Statement& row);

// Binds :text and so on.
void bind_problem(SQLite::Statement& row, const Problem& problem);

// Binds :registers and so on, or leaves them NULL.
void bind_resources(SQLite::Statement& row, const std::optional<Resources>& resources);

// Binds :median_us and so on.
void bind_timing(SQLite::Statement& row, const Timing& timing);

}  // namespace gemm_tune

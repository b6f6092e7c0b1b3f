// SPDX-License-Identifier: Apache-2.0
// The parts of db/transfer/exchange.h that other writers and readers of such texts share.
//
// Private to db/. Stateless; any thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <nlohmann/json.hpp>
#include <string>

namespace gemm_tune {

// The current row: a column a field, NULLs left out.
nlohmann::ordered_json object_of(SQLite::Statement& row);

// On one line.
std::string dumped(const nlohmann::ordered_json& json);

// What such a text begins with, up to its first table.
std::string json_begin();

// Reads JSON or CSV into a new database in memory. name: of the text, for messages. Throws
// UsageError as import_text() does.
void read_rows(const std::string& text, const std::string& name, SQLite::Database& db);

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Databases to JSON and CSV.
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/printable.h"
#include "db/database_impl.h"
#include "db/file/database_file.h"
#include "db/schema/rows.h"
#include "db/schema/schema.h"
#include "db/schema/schema_check.h"
#include "db/transfer/csv_columns.h"
#include "db/transfer/exchange.h"
#include "db/transfer/json_rows.h"
#include "db/transfer/row_transfer.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

// A copy has ids that depend on nothing but the rows.
void copy_rows_of(const fs::path& database, const std::optional<std::string>& arch,
                  const KernelRevisions& revisions, const LockWait& lock, MemoryDatabase& copy) {
  copy.add_file(absolute_path(database), revisions, lock);
  if (!arch) return;
  SQLite::Statement others(copy.db(), R"sql(
    DELETE FROM measurements
    WHERE device_id NOT IN (SELECT id FROM devices WHERE arch = ?))sql");
  others.bind(1, *arch);
  others.exec();
  copy.drop_unreferenced();
  if (copy.db().execAndGet("SELECT count(*) FROM measurements").getInt64() > 0) return;
  throw NothingFound("database '" + database.string() + "' has no row of " + excerpt(*arch));
}

// The samples as a list where the text is that of the list; else as a text, so that it stays.
OrderedJson samples_of(const std::string& text) {
  OrderedJson list = OrderedJson::parse(text, nullptr, false);
  return list.is_array() && list.dump() == text ? list : OrderedJson(text);
}

std::string select_for_csv() {
  std::string columns;
  for (const CsvColumn& column : kCsvColumns) {
    constexpr std::string_view kAliases = "dpcrm";  // in the order of CsvColumn::Table
    columns += columns.empty() ? "" : ", ";
    columns += kAliases[static_cast<std::size_t>(column.table)];
    columns += '.';
    columns += column.column;
  }
  return "SELECT " + columns + R"sql(
    FROM measurements m
    CROSS JOIN devices d ON d.id = m.device_id
    CROSS JOIN problems p ON p.id = m.problem_id
    CROSS JOIN candidates c ON c.id = m.candidate_id
    CROSS JOIN runs r ON r.id = m.run_id
    WHERE )sql" +
         known_problem();
}

std::string csv_field(const SQLite::Column& column) {
  if (column.isNull()) return "";
  if (column.isInteger()) return std::to_string(column.getInt64());
  if (column.isFloat())
    return OrderedJson(column.getDouble()).dump();  // the shortest that reads back
  const std::string text = column.getString();
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

nlohmann::ordered_json object_of(SQLite::Statement& row) {
  OrderedJson object = OrderedJson::object();
  for (int i = 0; i < row.getColumnCount(); ++i) {
    const SQLite::Column column = row.getColumn(i);
    const std::string name = column.getName();
    if (column.isNull()) continue;
    if (column.isInteger()) {
      object[name] = column.getInt64();
    } else if (column.isFloat()) {
      object[name] = column.getDouble();
    } else {
      object[name] =
          name == "samples" ? samples_of(column.getString()) : OrderedJson(column.getString());
    }
  }
  return object;
}

std::string dumped(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string json_begin() {
  return "{\"format\": \"gemm-tune rows\", \"schema\": " + std::to_string(kSchemaVersion);
}

std::string export_as_json(const fs::path& database, const std::optional<std::string>& arch,
                           const KernelRevisions& revisions, const LockWait& lock) {
  MemoryDatabase copy;
  copy_rows_of(database, arch, revisions, lock, copy);
  std::string text = json_begin();
  for (const std::string& table : exported_tables()) {
    text += ",\n\"" + table + "\": [";
    SQLite::Statement rows(copy.db(), "SELECT * FROM " + table + " ORDER BY id");
    for (const char* separator = "\n"; rows.executeStep(); separator = ",\n") {
      text += separator + dumped(object_of(rows));
    }
    text += "]";
  }
  return text + "}\n";
}

std::string export_as_csv(const fs::path& database, const std::optional<std::string>& arch,
                          const KernelRevisions& revisions, const LockWait& lock) {
  MemoryDatabase copy;
  copy_rows_of(database, arch, revisions, lock, copy);
  std::string text;
  for (const CsvColumn& column : kCsvColumns) {
    text += (text.empty() ? "" : ",") + std::string(column.name);
  }
  text += "\n";
  SQLite::Statement rows(copy.db(), select_for_csv());
  while (rows.executeStep()) {
    for (int i = 0; i < rows.getColumnCount(); ++i) {
      text += (i == 0 ? "" : ",") + csv_field(rows.getColumn(i));
    }
    text += "\n";
  }
  return text;
}

}  // namespace gemm_tune

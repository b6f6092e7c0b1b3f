// SPDX-License-Identifier: Apache-2.0
// Databases to JSON and CSV.
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"
#include "core/printable.h"
#include "db/csv_columns.h"
#include "db/database_file.h"
#include "db/database_impl.h"
#include "db/exchange.h"
#include "db/json_rows.h"
#include "db/row_transfer.h"
#include "db/rows.h"
#include "db/schema.h"
#include "db/schema_check.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

// A copy has ids that depend on nothing but the rows.
void copy_rows_of(const fs::path& database, const std::optional<std::string>& arch,
                  const KernelHashes& kernels, const LockWait& lock, MemoryDatabase& copy) {
  copy.add_file(absolute_path(database), kernels, lock);
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

bool has_twins_verified(SQLite::Database& db) {
  return db.execAndGet("SELECT count(*) FROM measurements WHERE twins_verified IS NOT NULL")
             .getInt64() > 0;
}

// Programs of version 3 read all but twins_verified, which is left out where no row has it.
std::vector<CsvColumn> columns_for(SQLite::Database& db) {
  std::vector<CsvColumn> columns(std::begin(kCsvColumns), std::end(kCsvColumns));
  if (!has_twins_verified(db)) {
    std::erase_if(columns, [](const CsvColumn& one) { return one.name == "twins_verified"; });
  }
  return columns;
}

std::string select_for_csv(const std::vector<CsvColumn>& written) {
  std::string columns;
  for (const CsvColumn& column : written) {
    constexpr std::string_view kAliases = "dpckorm";  // in the order of CsvColumn::Table
    columns += columns.empty() ? "" : ", ";
    columns += kAliases[static_cast<std::size_t>(column.table)];
    columns += '.';
    columns += column.column;
  }
  return "SELECT " + columns + R"sql(
    FROM measurements m
    CROSS JOIN devices d ON d.id = m.device_id
    CROSS JOIN problems p ON p.id = m.problem_id
    CROSS JOIN configs c ON c.id = m.config_id
    CROSS JOIN kernels k ON k.id = m.kernel_id
    CROSS JOIN runs r ON r.id = m.run_id
    LEFT JOIN kernels o ON o.id = m.measured_kernel_id
    WHERE )sql" +
         kKnownProblem;
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

std::string json_begin(bool has_twins_verified) {
  return std::string("{\"format\": \"gemm-tune rows\", \"schema\": ") +
         (has_twins_verified ? "4" : "3");
}

std::string export_as_json(const fs::path& database, const std::optional<std::string>& arch,
                           const KernelHashes& kernels, const LockWait& lock) {
  MemoryDatabase copy;
  copy_rows_of(database, arch, kernels, lock, copy);
  std::string text = json_begin(has_twins_verified(copy.db()));
  for (const std::string& table : tables_of(static_cast<int>(kSchemaVersion))) {
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
                          const KernelHashes& kernels, const LockWait& lock) {
  MemoryDatabase copy;
  copy_rows_of(database, arch, kernels, lock, copy);
  const std::vector<CsvColumn> columns = columns_for(copy.db());
  std::string text;
  for (const CsvColumn& column : columns) {
    text += (text.empty() ? "" : ",") + std::string(column.name);
  }
  text += "\n";
  SQLite::Statement rows(copy.db(), select_for_csv(columns));
  while (rows.executeStep()) {
    for (int i = 0; i < rows.getColumnCount(); ++i) {
      text += (i == 0 ? "" : ",") + csv_field(rows.getColumn(i));
    }
    text += "\n";
  }
  return text;
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "db/schema/schema_check.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "core/text/printable.h"
#include "db/schema/schema.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kMostNamed = 100;

struct SchemaObject {
  std::string type, name, table, sql;  // as in sqlite_schema, the text by normalized()
};

// The text without comments, with each run of white space as one space. SQLite keeps a CREATE
// statement with the comments of the program version that executed it.
std::string normalized(std::string_view sql) {
  std::string text;
  bool space = false;
  const auto skip_past = [&](std::string_view end, std::size_t from) {
    const std::size_t at = sql.find(end, from);
    sql.remove_prefix(at == sql.npos ? sql.size() : at + end.size());
  };
  while (!sql.empty()) {
    const char c = sql.front();
    if (sql.substr(0, 2) == "--" || sql.substr(0, 2) == "/*") {
      skip_past(c == '-' ? "\n" : "*/", 2);
      space = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      sql.remove_prefix(1);
      space = true;
    } else {
      if (space && !text.empty()) text += ' ';
      space = false;
      const std::string_view start = sql;
      sql.remove_prefix(1);
      if (c == '\'' || c == '"' || c == '`') skip_past(std::string_view(&c, 1), 0);
      text += start.substr(0, start.size() - sql.size());
    }
  }
  return text;
}

std::vector<SchemaObject> schema_of(SQLite::Database& db) {
  SQLite::Statement query(db, "SELECT type, name, tbl_name, sql FROM sqlite_schema");
  std::vector<SchemaObject> objects;
  while (query.executeStep()) {
    objects.push_back({query.getColumn(0).getString(), query.getColumn(1).getString(),
                       query.getColumn(2).getString(), normalized(query.getColumn(3).getString())});
  }
  return objects;
}

using Schema = std::map<std::string, SchemaObject>;  // by name

// The schema of a new database.
const Schema& expected_schema() {
  static const Schema expected = [] {
    SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(kSchema);
    Schema schema;
    for (SchemaObject& object : schema_of(db)) {
      const std::string name = object.name;
      schema.emplace(name, std::move(object));
    }
    return schema;
  }();
  return expected;
}

std::string named(const SchemaObject& object) {
  return printable(object.type, kLongestQuote) + " '" + printable(object.name, kLongestQuote) + "'";
}

bool begins(const std::string& text, std::string_view with) {
  return text.size() >= with.size() &&
         std::equal(with.begin(), with.end(), text.begin(), [](char a, char b) {
           return a == std::toupper(static_cast<unsigned char>(b));
         });
}

// Whether the index has the form "CREATE INDEX name ON table (column, column DESC)", which
// evaluates nothing and, not being unique, turns down no row.
bool is_plain_index(const SchemaObject& object) {
  if (!begins(object.sql, "CREATE INDEX ")) return false;
  const std::size_t open = object.sql.find('(');
  return open != std::string::npos && object.sql.find('(', open + 1) == std::string::npos &&
         std::all_of(object.sql.begin() + static_cast<std::ptrdiff_t>(open) + 1,
                     object.sql.end() - 1,
                     [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '_' || c == ',' || c == ' ';
                     }) &&
         object.sql.back() == ')';
}

// The fault of an object that has one of our names.
std::string fault_of(const SchemaObject& found, const SchemaObject& expected) {
  if (found.type != expected.type || begins(found.sql, "CREATE VIRTUAL ")) {
    return "its " + expected.type + " '" + expected.name + "' is a " +
           (found.type == expected.type ? "virtual table" : printable(found.type, kLongestQuote));
  }
  if (found.sql == expected.sql && found.table == expected.table) return "";
  return "its " + expected.type + " '" + expected.name + "' is not defined as gemm-tune defines it";
}

bool is_statistics(const SchemaObject& object) {
  return object.name.starts_with("sqlite_stat") && object.type == "table" &&
         begins(object.sql, "CREATE TABLE SQLITE_STAT");
}

void judge_other(const SchemaObject& object, const Schema& ours, SchemaComparison& comparison) {
  // SQLite itself creates these for a table's constraints.
  if (object.type == "index" && object.sql.empty()) return;
  if (is_statistics(object)) return;
  const auto table = ours.find(object.table);
  const bool on_our_table = table != ours.end() && table->second.type == "table";
  if (object.type == "index" && is_plain_index(object) && on_our_table) return;
  const bool is_inert = (object.type == "table" && begins(object.sql, "CREATE TABLE ")) ||
                        (object.type == "view" && begins(object.sql, "CREATE VIEW ")) ||
                        (object.type == "index" && !on_our_table);
  auto& list = is_inert ? comparison.foreign : comparison.faults;
  if (list.size() == kMostNamed) return;
  list.push_back(is_inert
                     ? named(object)
                     : "it has the " + named(object) + ", which gemm-tune never makes: drop it");
}

}  // namespace

SchemaComparison compare_schema(SQLite::Database& db) {
  const Schema& ours = expected_schema();
  SchemaComparison comparison;
  Schema missing = ours;
  for (const SchemaObject& object : schema_of(db)) {
    const auto expected = ours.find(object.name);
    if (expected == ours.end()) {
      judge_other(object, ours, comparison);
      continue;
    }
    missing.erase(object.name);
    const std::string fault = fault_of(object, expected->second);
    if (!fault.empty()) comparison.faults.push_back(fault);
  }
  for (const auto& [name, object] : missing) {
    if (object.type == "table") comparison.faults.push_back("its table '" + name + "' is missing");
  }
  return comparison;
}

const std::vector<std::string>& schema_tables() {
  static const std::vector<std::string> tables = {"devices", "problems",  "candidates",  "families",
                                                  "runs",    "baselines", "measurements"};
  return tables;
}

std::vector<std::string> exported_tables() {
  std::vector<std::string> tables = schema_tables();
  std::erase(tables, "families");
  return tables;
}

}  // namespace gemm_tune

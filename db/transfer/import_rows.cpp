// SPDX-License-Identifier: Apache-2.0
// JSON and CSV to databases. A text may come from anybody: it is read into a database in memory,
// whose rows are checked before another one sees them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text/parse_number.h"
#include "core/text/printable.h"
#include "core/text/split.h"
#include "db/database_impl.h"
#include "db/file/database_file.h"
#include "db/file/row_check.h"
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
using Json = nlohmann::json;

// "CHECK constraint failed: median_us > 0": names the field. A constraint may take several lines,
// which end in comments.
std::string on_one_line(const SQLite::Exception& error) {
  std::string text;
  for (const std::string_view line : split(error.what(), '\n')) {
    std::istringstream words(std::string(line.substr(0, line.find("--"))));
    for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

// A table with its columns' parameters and types ("TEXT", "REAL", "INTEGER").
struct TableRows {
  TableRows(SQLite::Database& db, const std::string& table) {
    SQLite::Statement info(db, "SELECT name, type FROM pragma_table_info('" + table + "')");
    std::string parameters;
    for (int parameter = 1; info.executeStep(); ++parameter) {
      columns[info.getColumn(0).getString()] = {parameter, info.getColumn(1).getString()};
      parameters += parameters.empty() ? "?" : ", ?";
    }
    insert.emplace(db, "INSERT INTO " + table + " VALUES (" + parameters + ")");
  }

  struct Column {
    int parameter = 0;
    std::string type;
  };
  std::map<std::string, Column, std::less<>> columns;
  std::optional<SQLite::Statement> insert;
};

// Takes the events of the parser, so that no text takes more memory than its rows.
class JsonRows : public nlohmann::json_sax<Json> {
 public:
  JsonRows(SQLite::Database& db, const std::string& name) : db_(db), name_(name) {
    for (const std::string& table : exported_tables()) {
      tables_.emplace(table, TableRows(db, table));
    }
  }

  void require_format() const {
    if (!has_format_) throw UsageError(name_ + " is no JSON of `gemm-tune export --format json`");
  }

  bool null() override { return depth_ == kInRow ? true : refuse_value(); }
  bool boolean(bool) override { return refuse_value(); }
  bool number_integer(Json::number_integer_t value) override { return integer(value); }
  bool number_unsigned(Json::number_unsigned_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw UsageError(place() + " is too large");
    }
    return integer(static_cast<std::int64_t>(value));
  }
  bool number_float(Json::number_float_t value, const std::string&) override {
    if (depth_ == kInSamples) return add_sample(value);
    const TableRows::Column& column = column_here();
    if (column.type != "REAL") throw UsageError(place() + " is not " + wanted(column));
    table_->insert->bind(column.parameter, value);
    return true;
  }
  bool string(std::string& value) override {
    if (depth_ == kInFile) return file_field(value);
    const TableRows::Column& column = column_here();
    if (const char* const find = find_by_text(key_)) return bind_reference(column, find, value);
    if (column.type != "TEXT") throw UsageError(place() + " is not " + wanted(column));
    return bind_text(column, value);
  }
  bool binary(Json::binary_t&) override { return refuse_value(); }

  bool start_object(std::size_t) override {
    if (depth_ == kInTable) {
      table_->insert->clearBindings();
      // A text may leave out which rows count.
      bind_where_there("counts", 1);
      ++row_;
      row_name_ = std::to_string(row_);
      key_.clear();
    } else if (depth_ != kOutside) {
      return refuse_value();
    }
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (depth_-- != kInRow) return true;
    try {
      table_->insert->exec();
    } catch (const SQLite::Exception& error) {
      throw UsageError(name_ + ": " + table_name_ + " row " + row_name_ + ": " +
                       on_one_line(error));
    }
    table_->insert->reset();
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == kInFile) {
      const auto table = tables_.find(key_);
      if (table == tables_.end()) return refuse_value();
      table_name_ = key_;
      table_ = &table->second;
      row_ = 0;
    } else if (depth_ == kInRow && key_ == "samples") {
      samples_ = Json::array();
    } else {
      return refuse_value();
    }
    ++depth_;
    return true;
  }
  bool end_array() override {
    return depth_-- == kInSamples ? bind_text(column_here(), samples_.dump()) : true;
  }
  bool key(std::string& key) override {
    key_ = key;
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) override {
    const bool is_large = dynamic_cast<const Json::out_of_range*>(&error) != nullptr;
    throw UsageError(
        name_ +
        (is_large ? " holds a number that is too large at byte " : " is not JSON from byte ") +
        std::to_string(byte) + (is_large ? "" : " on"));
  }

 private:
  enum Depth { kOutside, kInFile, kInTable, kInRow, kInSamples };

  std::string place() const {
    if (depth_ < kInTable) return name_ + ": '" + excerpt(key_) + "'";
    return name_ + ": " + table_name_ + " row " + row_name_ + ": its " + excerpt(key_);
  }

  static std::string wanted(const TableRows::Column& column) {
    if (column.type == "TEXT") return "a text";
    return column.type == "REAL" ? "a number" : "a whole number";
  }

  bool refuse_value() const {
    require_object();
    throw UsageError(place() + " is not what an export has there");
  }

  void require_object() const {
    if (depth_ == kOutside) throw UsageError(name_ + " is not a JSON object");
  }

  const TableRows::Column& column_here() const {
    require_object();
    if (depth_ < kInRow) refuse_value();
    const auto column = table_->columns.find(key_);
    if (column == table_->columns.end()) throw UsageError(place() + " is no column of the table");
    return column->second;
  }

  bool integer(std::int64_t value) {
    if (depth_ == kInSamples) return add_sample(value);
    if (depth_ == kInFile && key_ == "schema") {
      if (value == static_cast<std::int64_t>(kSchemaVersion)) return true;
      throw UsageError(name_ + " was written by another version of gemm-tune (schema " +
                       std::to_string(value) + ", this program reads schema " +
                       std::to_string(kSchemaVersion) + "): import it with that version");
    }
    const TableRows::Column& column = column_here();
    if (column.type == "TEXT") throw UsageError(place() + " is not a text");
    table_->insert->bind(column.parameter, value);
    if (key_ == "id") row_name_ = std::to_string(value);
    return true;
  }

  bool bind_text(const TableRows::Column& column, const std::string& text) {
    try {
      table_->insert->bind(column.parameter, text);
    } catch (const SQLite::Exception& error) {  // longer than a row may be
      throw UsageError(place() + ": " + error.what());
    }
    return true;
  }

  void bind_where_there(const char* name, std::int64_t value) {
    const auto column = table_->columns.find(name);
    if (column != table_->columns.end()) table_->insert->bind(column->second.parameter, value);
  }

  // The query of the row's id by the text that names it; nullptr of columns that are no reference,
  // or one that is an id always.
  static const char* find_by_text(std::string_view column) {
    if (column == "problem_id") return "SELECT id FROM problems WHERE text = ?";
    if (column == "run_id") return "SELECT id FROM runs WHERE uuid = ?";
    if (column == "candidate_id") {
      return "SELECT id FROM candidates WHERE (config, revision) = (substr(?1, 1, instr(?1, '@') - "
             "1), substr(?1, instr(?1, '@') + 1))";
    }
    return nullptr;
  }

  bool bind_reference(const TableRows::Column& column, const char* find, const std::string& text) {
    const auto [query, is_new] = references_.try_emplace(find);
    if (is_new) query->second.emplace(db_, find);
    constexpr std::size_t kLongest = 4000;
    const bool may_exist = text.size() <= kLongest;
    if (may_exist) query->second->bind(1, text);
    if (!may_exist || !query->second->executeStep()) {
      throw UsageError(place() + " '" + excerpt(text) + "' names no row that stands before it");
    }
    table_->insert->bind(column.parameter, query->second->getColumn(0).getInt64());
    query->second->reset();
    return true;
  }

  template <class T>
  bool add_sample(T value) {
    samples_.push_back(value);
    return true;
  }

  bool file_field(const std::string& value) {
    if (key_ != "format") return refuse_value();
    has_format_ = value == "gemm-tune rows";
    return true;
  }

  SQLite::Database& db_;
  std::string name_, key_, table_name_, row_name_;
  std::map<std::string, TableRows> tables_;
  std::map<const char*, std::optional<SQLite::Statement>> references_;  // by find_by_text()
  TableRows* table_ = nullptr;
  Json samples_;
  std::int64_t row_ = 0;
  int depth_ = kOutside;
  bool has_format_ = false;
};

void read_json(const std::string& text, const std::string& name, SQLite::Database& db) {
  JsonRows rows(db, name);
  Json::sax_parse(text, &rows);
  rows.require_format();
}

// Reads RFC 4180: fields in quotes may hold commas, line ends and doubled quotes.
class CsvReader {
 public:
  CsvReader(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  // The next record; nullopt at the end. Empty lines are passed over.
  std::optional<std::vector<std::string>> next() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    if (at_ >= text_.size()) return std::nullopt;
    ++row_;
    std::vector<std::string> fields(1);
    while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') {
      if (text_[at_] == ',') {
        fields.emplace_back();
        ++at_;
      } else if (text_[at_] == '"') {
        read_quoted(fields.back());
      } else {
        const std::size_t end = std::min(text_.find_first_of(",\"\r\n", at_), text_.size());
        fields.back().append(text_, at_, end - at_);
        at_ = end;
      }
    }
    return fields;
  }

  // From 1, the header, as a spreadsheet counts.
  std::int64_t row() const { return row_; }
  std::string place() const { return name_ + ": row " + std::to_string(row_); }

 private:
  void read_quoted(std::string& field) {
    if (!field.empty()) throw UsageError(place() + ": a quote stands within a field");
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != '"') {
        field += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        field += text_[at_++];
      } else {
        ++at_;
        const bool ends = at_ >= text_.size() || std::strchr(",\r\n", text_[at_]) != nullptr;
        if (!ends) throw UsageError(place() + ": text stands behind a closing quote");
        return;
      }
    }
    throw UsageError(place() + ": a quote is not closed");
  }

  const std::string& text_;
  const std::string name_;
  std::size_t at_ = 0;
  std::int64_t row_ = 0;
};

class CsvRows {
 public:
  CsvRows(const std::string& text, const std::string& name, SQLite::Database& db)
      : reader_(text, name), db_(db) {
    const std::optional<std::vector<std::string>> header = reader_.next();
    if (header) header_ = *header;
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (find_column(header_[i]) == nullptr) {
        throw UsageError(name + ": '" + excerpt(header_[i]) +
                         "' is no column of `gemm-tune export --format csv` of this version, and "
                         "the file is no JSON");
      }
      if (!places_.emplace(header_[i], i).second) {
        throw UsageError(name + ": its column '" + header_[i] + "' is there twice");
      }
    }
    for (const CsvColumn& column : kCsvColumns) {
      if (places_.contains(std::string(column.name)) || column.is_optional) continue;
      throw UsageError(name + ": its column '" + std::string(column.name) + "' is missing");
    }
  }

  void read() {
    while (const auto fields = reader_.next()) {
      if (*fields == header_) continue;  // exports that were joined to one file
      if (fields->size() != header_.size()) {
        throw UsageError(reader_.place() + " has " + std::to_string(fields->size()) +
                         " fields, the header " + std::to_string(header_.size()));
      }
      fields_ = *fields;
      try {
        store_row();
      } catch (const SQLite::Exception& error) {
        throw UsageError(reader_.place() + ": " + on_one_line(error));
      }
    }
  }

 private:
  using Table = CsvColumn::Table;

  static const CsvColumn* find_column(std::string_view name) {
    for (const CsvColumn& column : kCsvColumns) {
      if (column.name == name) return &column;
    }
    return nullptr;
  }

  std::string field(std::string_view name) const {
    const auto place = places_.find(std::string(name));
    return place == places_.end() ? std::string() : fields_[place->second];
  }

  void bind(SQLite::Statement& statement, int parameter, const CsvColumn& column) const {
    const std::string text = field(column.name);
    if (text.empty() && column.is_optional) return statement.bind(parameter);
    if (!column.is_number) return statement.bind(parameter, text);
    if (const auto whole = parse_number<std::int64_t>(text)) {
      return statement.bind(parameter, *whole);
    }
    const std::optional<double> number = parse_number<double>(text);
    if (!number || !std::isfinite(*number)) {
      throw UsageError(reader_.place() + ": its " + std::string(column.name) + " '" +
                       excerpt(text) + "' is not a number");
    }
    statement.bind(parameter, *number);
  }

  // The id of the row with the fields of the table, which is inserted if it is new.
  std::int64_t id_of(Table table, const std::string& name) {
    std::string columns, values, key = name;
    for (const CsvColumn& column : kCsvColumns) {
      if (column.table != table) continue;
      columns += (columns.empty() ? "" : ", ") + std::string(column.column);
      values += values.empty() ? "?" : ", ?";
      key += '\0' + field(column.name);
    }
    return remembered(key, [&] {
      SQLite::Statement insert(
          db_, "INSERT INTO " + name + " (" + columns + ") VALUES (" + values + ")");
      int parameter = 0;
      for (const CsvColumn& column : kCsvColumns) {
        if (column.table == table) bind(insert, ++parameter, column);
      }
      insert.exec();
    });
  }

  template <class Insert>
  std::int64_t remembered(const std::string& key, const Insert& insert) {
    const auto known = ids_.find(key);
    if (known != ids_.end()) return known->second;
    insert();
    return ids_[key] = db_.getLastInsertRowid();
  }

  std::int64_t problem_id() {
    const std::string text = field("problem");
    return remembered(text, [&] {
      std::optional<Problem> problem;
      try {
        problem = parse_problem(text);
      } catch (const UsageError& error) {
        throw UsageError(reader_.place() + ": its problem: " + error.what());
      }
      if (to_string(*problem) != text) {
        throw UsageError(reader_.place() + ": its problem '" + excerpt(text) + "' is written as '" +
                         to_string(*problem) + "'");
      }
      SQLite::Statement insert(db_, kInsertProblem);
      bind_problem(insert, *problem);
      insert.exec();
    });
  }

  std::int64_t candidate_id() {
    const std::string config = field("config"), revision = field("revision");
    return remembered("candidates" + ('\0' + config + '\0' + revision), [&] {
      SQLite::Statement insert(db_, kInsertCandidate);
      bind_candidate(insert, config, revision);
      insert.exec();
    });
  }

  void store_row() {
    const std::int64_t parents[] = {reader_.row(), id_of(Table::device, "devices"), problem_id(),
                                    candidate_id(), id_of(Table::run, "runs")};
    if (!insert_) insert_.emplace(db_, insert_measurement());
    insert_->clearBindings();
    int parameter = 0;
    for (const std::int64_t id : parents) insert_->bind(++parameter, id);
    for (const CsvColumn& column : kCsvColumns) {
      if (column.table == Table::measurement) bind(*insert_, ++parameter, column);
    }
    insert_->exec();
    insert_->reset();
  }

  static std::string insert_measurement() {
    std::string columns = "id, device_id, problem_id, candidate_id, run_id";
    std::string values = "?, ?, ?, ?, ?";
    for (const CsvColumn& column : kCsvColumns) {
      if (column.table != Table::measurement) continue;
      columns += ", " + std::string(column.column);
      values += ", ?";
    }
    return "INSERT INTO measurements (" + columns + ", counts) VALUES (" + values + ", 1)";
  }

  CsvReader reader_;
  SQLite::Database& db_;
  std::vector<std::string> header_, fields_;
  std::map<std::string, std::size_t> places_;
  std::map<std::string, std::int64_t> ids_;
  std::optional<SQLite::Statement> insert_;
};

bool is_json(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != text.npos && (text[first] == '{' || text[first] == '[');
}

}  // namespace

void read_rows(const std::string& text, const std::string& name, SQLite::Database& db) {
  const std::string quoted = "'" + name + "'";
  {
    SQLite::Transaction transaction(db);
    if (is_json(text)) {
      read_json(text, quoted, db);
    } else {
      CsvRows(text, quoted, db).read();
    }
    transaction.commit();
  }
  const std::vector<std::string> findings = check_rows_of(name, db);
  if (!findings.empty()) throw UsageError(quoted + ": " + findings.front());
}

MergeReport import_text(const std::string& text, const std::string& name, const fs::path& database,
                        const KernelRevisions& revisions, const LockWait& lock) {
  MemoryDatabase imported;
  SQLite::Database& db = imported.db();
  read_rows(text, name, db);
  const fs::path to = absolute_path(database);
  MergeReport report;
  change_database(to, lock, [&](SQLite::Database& file) {
    report = transfer_rows({{name, &db}}, {to, &file}, revisions);
  });
  return report;
}

}  // namespace gemm_tune

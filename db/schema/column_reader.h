// SPDX-License-Identifier: Apache-2.0
// Reads a row's columns one after another, and checks the types of values: SQLite keeps any value
// in any column.
//
// Private to db/. Use from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace gemm_tune {

// Each call reads the next column, and throws Error that names it if its value has another type.
class ColumnReader {
 public:
  ColumnReader(SQLite::Statement& row, int first) : row_(row), at_(first) {}

  bool at_null() const { return row_.isColumnNull(at_); }
  void skip(int columns) { at_ += columns; }

  // "" of NULL.
  std::string text() {
    const SQLite::Column column = row_.getColumn(at_++);
    if (column.isText() || column.isNull()) return column.getString();
    throw Error(name_of(column) + " is not a text");
  }

  int whole() {
    const SQLite::Column column = row_.getColumn(at_++);
    const std::int64_t value = column.getInt64();
    if (column.isInteger() && value == static_cast<int>(value)) return static_cast<int>(value);
    throw Error(name_of(column) + " is not a whole number below 2147483648");
  }

  double real() {
    const SQLite::Column column = row_.getColumn(at_++);
    if (column.isFloat() || column.isInteger()) return column.getDouble();
    throw Error(name_of(column) + " is not a number");
  }

  std::optional<int> optional_whole() {
    return optional([this] { return whole(); });
  }
  std::optional<double> optional_real() {
    return optional([this] { return real(); });
  }

 private:
  static std::string name_of(const SQLite::Column& column) {
    return std::string("its ") + column.getName();
  }

  template <class Read>
  auto optional(const Read& read) -> std::optional<decltype(read())> {
    if (!at_null()) return read();
    ++at_;
    return std::nullopt;
  }

  SQLite::Statement& row_;
  int at_;
};

}  // namespace gemm_tune

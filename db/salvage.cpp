// SPDX-License-Identifier: Apache-2.0
#include "db/salvage.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/input_file.h"
#include "db/counting.h"
#include "db/database_file.h"
#include "db/file_header.h"
#include "db/rows.h"
#include "db/schema.h"
#include "db/schema_check.h"
#include "db/upgrade.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

// https://www.sqlite.org/fileformat2.html, sections 1.3 and 1.6.
constexpr std::size_t kChangeCounterOffset = 24;
constexpr char kTableLeaf = 0x0d;
constexpr int kMostColumns = 28;  // the most of any table in the schema

// The bytes of a database, in whole pages.
struct Image {
  std::string bytes;
  std::size_t page_size = 0;
  int version = 0;  // of the schema; 0 if the header does not say

  std::size_t pages() const { return bytes.size() / page_size; }
  char* page(std::size_t number) { return bytes.data() + (number - 1) * page_size; }  // from 1
};

// The image must outlive the connection, which reads it in place and never moves or frees it.
SQLite::Database open_image(Image& image) {
  SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const auto size = static_cast<sqlite3_int64>(image.bytes.size());
  const int result = sqlite3_deserialize(
      db.getHandle(), "main", reinterpret_cast<unsigned char*>(image.bytes.data()), size, size, 0);
  if (result != SQLITE_OK) throw SQLite::Exception(db.getHandle(), result);
  disarm(db);
  db.exec("PRAGMA writable_schema = ON");  // tolerate errors in the schema
  return db;
}

std::string serialized(SQLite::Database& db) {
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(db.getHandle(), "main", &size, 0);
  if (bytes == nullptr) throw SQLite::Exception("the database cannot be copied");
  std::string copy(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return copy;
}

// The first page of a database with one table. The table has these columns and its root at `root`.
std::string first_page(const std::string& table, const std::string& columns, std::size_t page_size,
                       std::size_t root) {
  SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec("PRAGMA page_size = " + std::to_string(page_size));
  db.exec("CREATE TABLE " + table + " (" + columns + ")");
  db.exec("PRAGMA writable_schema = ON");
  db.exec("UPDATE sqlite_schema SET rootpage = " + std::to_string(root));
  return serialized(db).substr(0, page_size);
}

std::string file_bytes(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw database_error(path, "does not exist");
  if (!fs::is_regular_file(status)) throw database_error(path, "is not a regular file");
  try {
    return read_input_file(path.string(), "database", std::numeric_limits<std::size_t>::max());
  } catch (const UsageError& failure) {
    throw DatabaseError(failure.what());
  }
}

// The file's bytes, with the changes in the write-ahead log beside it if SQLite can read that.
std::string current_bytes(const fs::path& path, const LockWait& lock) {
  std::string bytes = file_bytes(path);
  std::error_code error;
  if (fs::file_size(path.string() + "-wal", error) == 0 || error) return bytes;
  try {
    SQLite::Database db = open_unchecked(path, lock);
    return serialized(db);
  } catch (const DatabaseError&) {
  } catch (const SQLite::Exception&) {
  }
  return bytes;  // without the log
}

// The damaged file's pages under a sound header, without a log.
Image read_image(const fs::path& path, const LockWait& lock) {
  Image image;
  image.bytes = current_bytes(path, lock);
  if (image.bytes.empty()) throw database_error(path, "is empty: there is nothing to salvage");
  image.bytes.resize(std::max(image.bytes.size(), kFileHeaderBytes));
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(image.bytes[at]); };
  image.page_size = static_cast<std::size_t>(byte(16)) << 8 | byte(17);
  if (image.page_size == 1) image.page_size = 65536;
  const bool is_power_of_2 = (image.page_size & (image.page_size - 1)) == 0;
  if (image.page_size < 512 || !is_power_of_2) image.page_size = 4096;  // SQLite's default
  image.bytes.resize((image.bytes.size() + image.page_size - 1) / image.page_size *
                     image.page_size);
  image.version = byte(kUserVersionOffset + 3);
  if (image.version > static_cast<int>(kSchemaVersion)) image.version = 0;
  const std::string sound = first_page("t", "x", image.page_size, 2);
  std::copy_n(sound.begin(), kFileHeaderBytes, image.bytes.begin());
  std::memset(image.bytes.data() + kPageCountOffset, 0, 4);  // 0: as many as the file has
  return image;
}

// A row is kept without its run or its kernel's text, but not without its device, problem or
// config.
constexpr const char* kMendReferences = R"sql(
  DELETE FROM baselines WHERE typeof(run_id) <> 'integer'
                           OR device_id NOT IN (SELECT id FROM devices)
                           OR problem_id NOT IN (SELECT id FROM problems);
  DELETE FROM measurements WHERE typeof(run_id) <> 'integer' OR typeof(kernel_id) <> 'integer'
                              OR device_id NOT IN (SELECT id FROM devices)
                              OR problem_id NOT IN (SELECT id FROM problems)
                              OR config_id NOT IN (SELECT id FROM configs);
  INSERT OR IGNORE INTO kernels
    SELECT DISTINCT m.kernel_id, substr(c.text, 1, instr(c.text, '/') - 1),
                    'lost ' || m.kernel_id, NULL, 0
    FROM measurements m JOIN configs c ON c.id = m.config_id
    WHERE m.kernel_id NOT IN (SELECT id FROM kernels);
  UPDATE measurements SET measured_kernel_id = NULL
    WHERE measured_kernel_id NOT IN (SELECT id FROM kernels);
  INSERT INTO runs (id, uuid, tool_version, cuda_version, command, seed, started_at)
    SELECT run_id, 'lost ' || lower(hex(randomblob(16))), '', '', 'lost with a damaged database',
           '0', ''
    FROM (SELECT run_id FROM measurements UNION SELECT run_id FROM baselines)
    WHERE run_id NOT IN (SELECT id FROM runs)
)sql";

// The same for version 1.
constexpr const char* kMendReferences1 = R"sql(
  DELETE FROM baselines WHERE typeof(run_id) <> 'integer'
                           OR device_id NOT IN (SELECT id FROM devices)
                           OR problem_id NOT IN (SELECT id FROM problems);
  DELETE FROM candidates WHERE typeof(run_id) <> 'integer'
                            OR device_id NOT IN (SELECT id FROM devices)
                            OR problem_id NOT IN (SELECT id FROM problems);
  INSERT INTO runs
    SELECT run_id, '', '', NULL, 'lost with a damaged database', '0', ''
    FROM (SELECT run_id FROM candidates UNION SELECT run_id FROM baselines)
    WHERE run_id NOT IN (SELECT id FROM runs)
)sql";

class Salvage {
 public:
  // output: an empty database of the given version of the schema.
  Salvage(Image& image, SQLite::Database& output, int version)
      : image_(image), output_(output), version_(version) {}

  // Upgrades output at the end.
  std::vector<SalvagedTable> run() {
    for (const std::string& table : tables_of(version_)) copy_along_tree(table);
    for (const std::string& table : tables_of(version_)) copy_leaves(table);
    drop_contradictory_problems();
    copy_from_indexes();
    std::vector<SalvagedTable> tables;
    for (const std::string& table : tables_of(version_)) {
      tables.push_back({table, 0, rows_known_of(table)});
    }
    drop_unreadable("devices", kSelectDevice, kDeviceIdColumn, read_device_key);
    if (version_ != 1) drop_unreadable_baselines();
    output_.exec(version_ == 1 ? kMendReferences1 : kMendReferences);
    if (version_ == 1) {
      upgrade_schema(output_);
      drop_unreadable_baselines();
    }
    tables.back().name = "measurements";
    drop_unreadable("measurements", select_record() + " WHERE " + kKnownProblem, kRecordIdColumn,
                    read_record);
    output_.exec(kRecount);
    for (SalvagedTable& table : tables) {
      table.kept = number("SELECT count(*) FROM " + table.name);
      table.lost = std::max<std::int64_t>(0, table.lost - table.kept);
    }
    return tables;
  }

 private:
  // Inserts the readable rows of the statement, which selects whole rows with ids above :after. A
  // row with more values than the table has columns belongs to another table. `skips`: how often to
  // continue behind a row that cannot be read.
  void copy_rows(SQLite::Statement& select, SQLite::Statement& insert, int skips) {
    for (std::int64_t after = 0; skips >= 0; --skips, ++after) {
      select.bind(":after", after);
      int result = SQLITE_OK;
      while ((result = select.tryExecuteStep()) == SQLITE_ROW) {
        after = select.getColumn(0).getInt64();
        const int columns = insert.getBindParameterCount();
        if (has_surplus(select, columns)) continue;
        // A row of an earlier version may lack the last columns.
        insert.clearBindings();
        for (int i = 0; i < std::min(columns, select.getColumnCount()); ++i) {
          copy_value(select.getColumn(i), insert, i + 1);
        }
        insert_row(insert);
      }
      select.tryReset();
      if (result == SQLITE_DONE) return;
    }
  }

  static bool has_surplus(SQLite::Statement& row, int columns) {
    for (int i = columns; i < row.getColumnCount(); ++i) {
      if (!row.isColumnNull(i)) return true;
    }
    return false;
  }

  SQLite::Statement insert_into(const std::string& table) {
    std::string values = "?";
    for (std::int64_t i = 1; i < columns_of(table); ++i) values += ", ?";
    return {output_, "INSERT OR IGNORE INTO " + table + " VALUES (" + values + ")"};
  }

  std::int64_t columns_of(const std::string& table) {
    return number("SELECT count(*) FROM pragma_table_info('" + table + "')");
  }

  static std::string select_from(const std::string& table) {
    return "SELECT * FROM " + table + " WHERE id > :after ORDER BY id";
  }

  void copy_along_tree(const std::string& table) {
    SQLite::Database source = open_image(image_);
    try {
      // Another object under the table's name could execute anything. The leaves hold the rows as
      // well.
      if (!is_known_table(source, table)) return;
      SQLite::Statement select(source, select_from(table));
      SQLite::Statement insert = insert_into(table);
      if (select.getColumnCount() <= insert.getBindParameterCount()) copy_rows(select, insert, 0);
    } catch (const SQLite::Exception& error) {
      only_damage(error);
    }
  }

  void copy_leaves(const std::string& table) {
    const std::size_t root = image_.pages() + 1;
    Image scratch = image_;
    scratch.bytes.resize(root * image_.page_size);
    // Short names, because the smallest page must hold them and the statement selects them all.
    std::string columns = "id INTEGER PRIMARY KEY";
    for (std::int64_t i = 1; i < columns_of(table) + kMostColumns; ++i) {
      columns += ", c" + std::to_string(i);
    }
    const std::string first = first_page(table, columns, image_.page_size, root);
    std::copy(first.begin(), first.end(), scratch.bytes.begin());
    std::memset(scratch.bytes.data() + kPageCountOffset, 0, 4);
    SQLite::Database source = open_image(scratch);
    scratch.page(root)[0] = kTableLeaf;  // an empty table, so that the statement compiles
    SQLite::Statement select(source, select_from(table));
    SQLite::Statement insert = insert_into(table);
    for (std::size_t page = 2; page < root; ++page) {
      if (*image_.page(page) != kTableLeaf) continue;
      std::copy_n(image_.page(page), image_.page_size, scratch.page(root));
      ++scratch.bytes[kChangeCounterOffset + 3];  // or SQLite would use its cache
      constexpr int kMostRowsOfAPage = 1000;
      copy_rows(select, insert, kMostRowsOfAPage);
    }
  }

  void drop_contradictory_problems() {
    SQLite::Statement problems(output_, kSelectProblem);
    std::vector<std::int64_t> wrong;
    while (problems.executeStep()) {
      if (!is_sound_problem(problems)) wrong.push_back(problems.getColumn(0).getInt64());
    }
    remove("problems", wrong);
  }

  // Few rows are referred to by all others. If these few are lost, their unique indexes may hold
  // them.
  void copy_from_indexes() {
    SQLite::Database source = open_image(image_);
    try {
      if (!is_known_table(source, "devices") || !is_known_table(source, "problems")) return;
      copy_from_index(source, "devices", "id, arch, name, sm_count", "arch");
      if (version_ != 1) {
        copy_from_index(source, "configs", "id, text", "text");
        copy_from_index(source, "kernels", "id, family, hash, NULL, 0", "family");
      }
    } catch (const SQLite::Exception& error) {
      only_damage(error);
    }
    try {
      SQLite::Statement problems(source,
                                 "SELECT id, text FROM problems INDEXED BY "
                                 "sqlite_autoindex_problems_1 WHERE text > ''");
      SQLite::Statement insert(output_, R"sql(
        INSERT OR IGNORE INTO problems VALUES (:id, :text, :M, :N, :K, :type_ab, :type_ab, :type_c,
                                               'f32', :layout, :alignment, :batch))sql");
      while (problems.tryExecuteStep() == SQLITE_ROW) {
        const std::optional<Problem> problem = problem_of(problems.getColumn(1).getString());
        if (!problem) continue;
        bind_problem(insert, *problem);
        insert.bind(":id", problems.getColumn(0).getInt64());
        insert_row(insert);
      }
    } catch (const SQLite::Exception& error) {
      only_damage(error);
    }
  }

  void copy_from_index(SQLite::Database& source, const std::string& table,
                       const std::string& columns, const std::string& first) {
    SQLite::Statement rows(source, "SELECT " + columns + " FROM " + table +
                                       " INDEXED BY sqlite_autoindex_" + table + "_1 WHERE " +
                                       first + " > '' AND id > :after");
    SQLite::Statement insert = insert_into(table);
    copy_rows(rows, insert, 0);
  }

  static std::optional<Problem> problem_of(const std::string& text) {
    try {
      return parse_problem(text);
    } catch (const UsageError&) {
      return std::nullopt;
    }
  }

  // A row that breaks the schema's rules is damaged or belongs to another table.
  void insert_row(SQLite::Statement& insert) {
    const int result = insert.tryExecuteStep();
    insert.tryReset();
    if (result != SQLITE_DONE && result != SQLITE_CONSTRAINT && result != SQLITE_MISMATCH) {
      throw SQLite::Exception(output_.getHandle(), result);
    }
  }

  std::int64_t number(const std::string& query) { return output_.execAndGet(query).getInt64(); }

  void remove(const std::string& table, const std::vector<std::int64_t>& ids) {
    for (const std::int64_t id : ids) {
      output_.exec("DELETE FROM " + table + " WHERE id = " + std::to_string(id));
    }
  }

  // Ids have no gaps, so the highest id is the number of rows. An id for which the file is too
  // small is itself damaged.
  std::int64_t rows_known_of(const std::string& table) {
    constexpr std::size_t kSmallestRow = 16;
    return number("SELECT coalesce(max(id), 0) FROM " + table +
                  " WHERE id <= " + std::to_string(image_.bytes.size() / kSmallestRow));
  }

  void drop_unreadable_baselines() {
    drop_unreadable("baselines", kSelectBaseline, kBaselineIdColumn, read_baseline);
  }

  // Removes the rows that the program would refuse to read.
  template <class Read>
  void drop_unreadable(const std::string& table, const std::string& select, int id_column,
                       const Read& read) {
    SQLite::Statement rows(output_, select);
    std::vector<std::int64_t> unreadable;
    while (rows.executeStep()) {
      try {
        read(rows);
      } catch (const Error&) {
        unreadable.push_back(rows.getColumn(id_column).getInt64());
      }
    }
    remove(table, unreadable);
  }

  // Rethrows an error that the damaged file does not cause, as a full disk.
  static void only_damage(const SQLite::Exception& error) {
    const int code = error.getErrorCode();
    if (code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_NOMEM) throw error;
  }

  Image& image_;
  SQLite::Database& output_;
  const int version_;
};

// Into memory.
struct Salvaged {
  SQLite::Database database{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
  std::vector<SalvagedTable> tables;
};

Salvaged salvage_as(Image& image, int version) {
  Salvaged salvaged;
  SQLite::Database& db = salvaged.database;
  db.exec(version == 1 ? kSchema1 : kSchema);
  SQLite::Transaction transaction(db);
  salvaged.tables = Salvage(image, db, version).run();
  transaction.commit();
  return salvaged;
}

Salvaged salvage(Image& image) {
  if (image.version == 1) return salvage_as(image, 1);
  Salvaged current = salvage_as(image, static_cast<int>(kSchemaVersion));
  if (current.tables.back().kept > 0) return current;
  return salvage_as(image, 1);
}

}  // namespace

std::vector<SalvagedTable> salvage_database(const fs::path& damaged_file, const fs::path& output,
                                            const LockWait& lock) {
  const fs::path from = absolute_path(damaged_file), to = absolute_path(output);
  std::error_code error;
  if (fs::exists(fs::symlink_status(to, error))) {
    throw database_error(to, "exists already: name a new file for what is salvaged");
  }
  Image image = read_image(from, lock);
  try {
    Salvaged salvaged = salvage(image);
    if (salvaged.tables.back().kept > 0) {
      write_database(salvaged.database, to, lock);
      return salvaged.tables;
    }
  } catch (const SQLite::Exception& failure) {
    fs::remove(to, error);
    throw translated(to, failure);
  }
  fs::remove(to, error);
  throw database_error(from, "holds no candidate's row that can be read: nothing was written");
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Results on disk: one SQLite file, one committed row per candidate. db/schema/schema.sql documents
// it.
//
// Opening refuses a bad file: a directory, a text file, a foreign database, one of a later version,
// a truncated database, a damaged header or table, a folder that cannot be written. It throws
// DatabaseError with one sentence that names the path and what to do, and leaves the file
// untouched. Damage deeper inside is found when a row there is read or written, with the same
// sentence; db/file/check.h checks the whole file.
//
// A file that is deleted, moved or replaced while rows are stored is noticed at the end of the run,
// by confirm_stored().
//
// One connection per object. Use an object from one thread at a time; any number of objects and
// processes may use one file. SQLite keeps a write-ahead log, or its rollback journal on network
// file systems. While a writer has the file open, the log lies beside the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/lock_wait.h"
#include "db/record.h"

namespace gemm_tune {

// The first bytes of every database file: https://www.sqlite.org/fileformat2.html, section 1.3.
inline constexpr std::string_view kDatabaseMagic("SQLite format 3\0", 16);

class Database {
 public:
  // create_or_open: for writing; creates the file if it is missing or empty, but not its folder.
  // immutable: for reading a file that nobody writes meanwhile, as one of an installed package:
  // takes no lock and makes no file beside it. Refuses a file with changes in a log or a journal.
  enum class Mode { create_or_open, read_only, immutable };

  // by_file_system: a write-ahead log, but a rollback journal on network file systems. rollback: a
  // rollback journal on every file system.
  enum class Journaling { by_file_system, rollback };

  // lock: how long a call waits for other processes' writes to end.
  Database(const std::filesystem::path& path, Mode mode, LockWait lock = {},
           Journaling journaling = Journaling::by_file_system);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  // Begins a run; rows stored afterwards belong to it. built_in: the revisions of the program's own
  // kernels, by which the file's view `winners` chooses from now on; empty: as before.
  void begin_run(const RunInfo& run, const KernelRevisions& built_in = {});

  // Stores a baseline of (device, problem) for the current run. The run's rows of (device, problem)
  // refer to the fastest baseline, whether they are stored before or after it.
  void store_baseline(const DeviceKey& device, const Problem& problem, const Baseline& baseline);

  // Commits one candidate's outcome beside the earlier outcomes of the same (device, problem,
  // config, revision, source), and decides which of them counts (db/schema/schema.sql). An ok
  // outcome needs a timing if measured and a prediction if predicted; any other outcome needs a
  // detail. Throws DatabaseError if the outcome lacks these or if the row cannot be written, for
  // example on a full disk; earlier rows are then unchanged.
  void store(const DeviceKey& device, const Problem& problem, const std::string& config,
             const std::string& revision, const Outcome& outcome, Source source);

  // Commits all rows that `writes` stores at once, or none of them if `writes` throws.
  void together(const std::function<void()>& writes);

  // To be called at the end of a run: throws DatabaseError if path() no longer leads to the file
  // into which the run stored its rows.
  void confirm_stored();

  // The rows of one (device, problem) that count, of all revisions and both sources, in the order
  // in which their candidates were first stored.
  std::vector<Record> records(const DeviceKey& device, const Problem& problem) const;

  // All baselines of the candidate's row, from the row's own run and in the order stored;
  // record.baseline is the fastest of them.
  std::vector<Baseline> baselines(const Record& record) const;

  // Every row that counts, by device, problem and config.
  void for_each_record(const std::function<void(const Record&)>& visit) const;

  // The same in no order and without times, samples, resources, reasons and baselines. For
  // counting: reading those takes most of the time.
  void for_each_summary(const std::function<void(const Record&)>& visit) const;

  // Every row, also those that no longer count, by device and problem; those of one problem in the
  // order stored. counts: whether the row counts.
  void for_each_stored(const std::function<void(const Record&, bool counts)>& visit) const;

  // The best row of each (device, problem) of an architecture, by the view `winners`, among the
  // rows of these revisions. rule: by another than the default one, the ranks are those of its
  // objective, and only verified rows count whose error is within the limit, that of cuBLAS being
  // of the row's own run. usable: whether a config may win at a problem, so that the next row by
  // the same rule takes the place of one that may not; without it all rows may.
  using RowFilter = std::function<bool(const std::string& config, const Problem& problem)>;
  std::vector<Record> winners(const std::string& arch, const KernelRevisions& revisions,
                              const WinnerRule& rule = {}, const RowFilter& usable = nullptr) const;

  // The versions of NVIDIA's libraries by which the file was written last, as revisions of the
  // families of library_families(); none where nothing of these was stored.
  KernelRevisions library_revisions() const;

  // Counts the rows of the architecture that count and are ok but are of other revisions than
  // these.
  std::int64_t rows_of_other_revisions(const std::string& arch,
                                       const KernelRevisions& revisions) const;

  // The ok timings of this device at other problems, and of other devices at this problem, sorted
  // by device, problem and config.
  std::vector<TimedConfig> timed_elsewhere(const DeviceKey& device, const Problem& problem) const;

  // The fastest measured configs of each problem of these revisions on devices of the architecture,
  // by device, problem and time: of each family about `most` rows in all, and no more than 128 for
  // one problem. None where there are more problems than `most`.
  std::vector<TimedConfig> fastest_configs(const std::string& arch,
                                           const KernelRevisions& revisions,
                                           std::int64_t most) const;

  // Mean compile time in seconds of this compiler version on the host, for each kernel family that
  // has rows.
  std::map<std::string, double> compile_seconds(const std::string& host,
                                                const std::string& cuda_version) const;

  // Mean time in seconds for which a candidate at the problem held the GPU.
  std::optional<double> gpu_seconds(const DeviceKey& device, const Problem& problem) const;

  // Every device that has rows.
  std::vector<DeviceKey> devices() const;

  // How many runs have begun.
  std::int64_t run_count() const;

  // The number of rows that no longer count because a later row of the same candidate does.
  std::int64_t superseded_count() const;

  // The version of the schema; a file of a later version is refused.
  static int schema_version();

  const std::filesystem::path& path() const;

  // How the file is journalled: SQLite's word ("wal", "delete") and, if that is not the write-ahead
  // log, the reason in words.
  struct Journal {
    std::string mode, why;
  };
  Journal journal() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The default path of the database: GEMM_TUNE_DB, else $XDG_DATA_HOME/gemm-tune/gemm-tune.db, else
// the same in ~/.local/share. Pure: the arguments are the environment's values, empty or nullptr if
// unset. Throws DatabaseError if all are unset.
std::filesystem::path default_database_path(const char* gemm_tune_db, const char* xdg_data_home,
                                            const char* home);

// The same with this process's environment. Of the libraries' code only this and
// default_layer_folders() (db/layers.h) read the environment.
std::filesystem::path default_database_path();
// Empty where there is no place for one.
std::filesystem::path default_database_path_or_none();

// Creates the folder of a database. For the default path only: a mistyped --db should be refused,
// and should not leave folders behind. Throws DatabaseError.
void create_database_folder(const std::filesystem::path& database_path);

}  // namespace gemm_tune

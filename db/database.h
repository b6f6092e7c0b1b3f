// SPDX-License-Identifier: Apache-2.0
// Results on disk: one SQLite file, one committed row per candidate. db/schema.sql documents it.
//
// Opening is where a bad file is refused: a directory, a text file, a foreign or newer database, a
// truncated one, one whose header or tables are damaged, a folder that cannot be written each raise
// DatabaseError with one sentence that names the path and what to do; the file is left untouched.
// Damage deeper inside is met when a row there is read or written, with the same sentence;
// db/check.h looks for it everywhere, db/salvage.h keeps what can be read.
// A file that is deleted while rows are stored is put back with all its rows; one that is moved or
// replaced meanwhile ends the storing with a sentence that says where the rows are.
// One connection per object; use an object from one thread at a time, and as many objects and
// processes as you like: SQLite's write-ahead log is used, or its rollback journal on network file
// systems; while a writer is open, its log lies beside the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/lock_wait.h"
#include "db/record.h"

namespace gemm_tune {

// What every database file begins with: https://www.sqlite.org/fileformat2.html, section 1.3.
inline constexpr std::string_view kDatabaseMagic("SQLite format 3\0", 16);

class Database {
 public:
  // create_or_open: for writing; makes the file if it is missing or empty, but not its folder.
  enum class Mode { create_or_open, read_only };

  // by_file_system: a write-ahead log, but a rollback journal on network file systems. rollback:
  // that journal wherever the file lies.
  enum class Journaling { by_file_system, rollback };

  // lock: how long a call waits for other processes' writes to end.
  Database(const std::filesystem::path& path, Mode mode, LockWait lock = {},
           Journaling journaling = Journaling::by_file_system);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  // Begins a run; rows stored afterwards belong to it. kernels: of the program, for the rows to
  // name. built_in: whether they are the program's own, so that the view `winners` of the file
  // takes them for today's.
  void begin_run(const RunInfo& run, std::span<const KernelText> kernels = {},
                 bool built_in = true);

  // Stores the baseline of (device, problem) for the current run; the run's rows of (device,
  // problem), stored before or after, refer to it. Of several, to the fastest.
  void store_baseline(const DeviceKey& device, const Problem& problem, const Baseline& baseline);

  // Commits one candidate's outcome, beside the earlier ones of the same (device, problem, config,
  // kernel hash, source), and decides which of them counts (db/schema.sql). An ok outcome has a
  // timing if measured, a prediction if predicted; any other has a detail. Throws DatabaseError
  // where that is not so or where the row cannot be written, a full disk included; earlier rows are
  // then as they were.
  void store(const DeviceKey& device, const Problem& problem, const std::string& config,
             const std::string& kernel_hash, const Outcome& outcome, Source source);

  // Moves a timed candidate among the finals' standings; its row is otherwise as it was, the run
  // that timed it included.
  void set_standing(const DeviceKey& device, const Problem& problem, const std::string& config,
                    const std::string& kernel_hash, Standing standing);

  // All that `writes` stores is committed at once, or nothing of it where it throws.
  void together(const std::function<void()>& writes);

  // Makes sure that what this object stored can be read at path() by others. Throws DatabaseError
  // where it cannot.
  void confirm_stored();

  // What had to be mended since it was opened, as a sentence for the user; usually empty.
  const std::string& mended() const;

  // The rows of one (device, problem) that count, of all kernels and both sources, in the order in
  // which their candidates were first stored.
  std::vector<Record> records(const DeviceKey& device, const Problem& problem) const;

  // All that was timed beside the candidate's row, in the run that it belongs to and in the order
  // stored; record.baseline is the fastest of these.
  std::vector<Baseline> baselines(const Record& record) const;

  // Every row that counts, by device, problem and config.
  void for_each_record(const std::function<void(const Record&)>& visit) const;

  // The same in no order and without figures, for counting: times, samples, resources, reasons and
  // baselines are left out, and most of the time that these take to read.
  void for_each_summary(const std::function<void(const Record&)>& visit) const;

  // The best row of each (device, problem) of an architecture, by the view `winners`, among the
  // rows of these kernels and of configs that `usable` accepts, where it is given.
  using ConfigFilter = std::function<bool(const std::string& config)>;
  std::vector<Record> winners(const std::string& arch, const KernelHashes& hashes,
                              const ConfigFilter& usable = nullptr) const;

  // Rows that count and are ok, for the architecture, of other kernels than these.
  std::int64_t rows_of_other_kernels(const std::string& arch, const KernelHashes& hashes) const;

  // Whether the text of such a row's kernel is stored, of any architecture: rekey() may help.
  bool has_other_kernel_texts(const KernelHashes& hashes) const;

  // The kernels of such rows. The best of a problem is meant as if all kernels with a text were
  // among these.
  std::vector<OtherKernel> other_kernels(const KernelHashes& hashes) const;

  // The caller has proved that both kernels are one machine code for this use: its rows, those that
  // do not count included, become rows of `to` and remember the kernel that was tried. built_in: as
  // for begin_run().
  void rekey(const OtherKernel& from, const OtherKernel::Use& use, const KernelText& to,
             bool built_in = true);

  // All that was timed and right on the device at other problems, and on other devices at this
  // problem: by device, problem and config.
  std::vector<TimedConfig> timed_elsewhere(const DeviceKey& device, const Problem& problem) const;

  // Mean seconds in the compiler, of this version, on the host: by kernel family, of those that
  // have rows.
  std::map<std::string, double> compile_seconds(const std::string& host,
                                                const std::string& cuda_version) const;

  // Mean seconds for which a candidate held the GPU, at the problem.
  std::optional<double> gpu_seconds(const DeviceKey& device, const Problem& problem) const;

  // Every device that has rows.
  std::vector<DeviceKey> devices() const;

  // How many runs have begun.
  std::int64_t run_count() const;

  // Rows that do not count any more, since a later one of the same candidate does.
  std::int64_t superseded_count() const;

  // Of the file. A version before the current one is read as it is.
  int schema_version() const;

  const std::filesystem::path& path() const;

  // How the file is journalled: SQLite's word ("wal", "delete") and, where that is not the
  // write-ahead log, why, in words.
  struct Journal {
    std::string mode, why;
  };
  Journal journal() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Where the database lies unless --db says otherwise: GEMM_TUNE_DB, else
// $XDG_DATA_HOME/gemm-tune/gemm-tune.db, else the same in ~/.local/share. Pure: the environment's
// values are arguments, empty or nullptr where unset. Throws DatabaseError where all are.
std::filesystem::path default_database_path(const char* gemm_tune_db, const char* xdg_data_home,
                                            const char* home);

// The same of this process's environment: the one place where the libraries read it.
std::filesystem::path default_database_path();

// Creates the folder of a database. For the default path only: a mistyped --db should be refused,
// not leave folders behind. Throws DatabaseError.
void create_database_folder(const std::filesystem::path& database_path);

}  // namespace gemm_tune

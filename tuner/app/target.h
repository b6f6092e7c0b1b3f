// SPDX-License-Identifier: Apache-2.0
// From the command line to the device, the database and the kernel texts that a command is about.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/database.h"
#include "db/validity.h"
#include "tuner/app/options.h"
#include "tuner/job/target.h"
#include "tuner/work/protocol.h"
#include "tuner/work/worker_pool.h"

namespace gemm_tune {

// Asks a worker about the GPUs; without --arch they are the target. Without a GPU either, the
// commands that read the database take its only device. Throws UsageError if the architecture is
// missing or unknown to NVRTC or the device table, or if the GPUs are of different models. Throws
// DeviceError if --require-gpu or --devices cannot be satisfied.
Target resolve_target(const Options& options);

// A worker process that tells of this machine's GPUs. Use from one thread at a time.
class GpuProber {
 public:
  // Asks about the first GPU of the options, and leaves the driver to wake while the caller does
  // something else. Throws UsageError where --devices names none.
  explicit GpuProber(const Options& options);

  int first() const { return first_; }

  // Waits for what the worker tells of a GPU. Throws DeviceError where that cannot be used.
  DeviceReply ask(int ordinal);

 private:
  const int first_;
  WorkerPool pool_;
  std::optional<TaskResult> result_;  // of the first
};

// As resolve_target(), for a node of a job of many machines: all GPUs are the target where the
// options name none. Throws DeviceError where there is neither a GPU nor --arch.
Target node_target(const Options& options, GpuProber& prober);

// Only the architecture; does not start a GPU if --arch names it. Throws as resolve_target() does.
std::string target_arch(const Options& options);

// The path of --db, or the default path.
std::filesystem::path database_path(const Options& options);

// The kernels of --kernel-dir, or the program's own. problems: as for users_kernels().
std::vector<KernelText> asked_kernels(const Options& options,
                                      std::span<const Problem> problems = {});

// The texts of --kernel-dir, read once; nothing without that option. Throws UsageError where they
// lack one that f32 or one of the problems needs.
std::optional<KernelSources> users_kernels(const Options& options,
                                           std::span<const Problem> problems);

// The longest wait for the database at `path`. A note on stderr reports the wait unless quiet.
LockWait lock_wait(const Options& options, const std::filesystem::path& path);

// A sentence of a library that ends in the advice to tune, with a command that does so for what the
// user asked; any other sentence unchanged. arch: empty where --arch says it, or the GPU.
std::string with_tune_command(const std::string& sentence, const Options& options,
                              const std::string& arch = "");

// Opens the database of --db for reading.
Database open_for_reading(const Options& options);

// Whether --db or GEMM_TUNE_DB names the database, so that no layer lies below it (db/layers.h).
bool is_database_named(const Options& options);

// The layers below the database, in their order.
std::vector<std::filesystem::path> layers_below(const Options& options);

// As open_for_reading(), but nothing where the database does not exist and has layers.
std::optional<Database> open_above(const std::vector<std::filesystem::path>& layers,
                                   const Options& options);

// Names the layers that were left out on stderr, unless quiet.
void tell_of_layers(const std::vector<std::string>& notes, const Options& options);

}  // namespace gemm_tune

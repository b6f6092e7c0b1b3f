// SPDX-License-Identifier: Apache-2.0
// What a gt_handle is: the winners of a database, and what serves calls by them
// (dispatch/servers.h).
//
// Everything of the database is read at construction, in reload() and in refresh(), so that a
// look-up touches no disk. Answers are remembered: a known problem costs neither a lock nor an
// allocation nor a system call. A thread waits only for a compilation of the kernel that it needs,
// and for another launch of its stream that needs scratch memory. Any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "choose/choose.h"
#include "core/error.h"
#include "core/launch/launch_plan.h"
#include "db/database_stamp.h"
#include "db/lock_wait.h"
#include "dispatch/call_key.h"
#include "dispatch/checked_call.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"
#include "dispatch/refined_choices.h"
#include "dispatch/refinement.h"
#include "dispatch/servers.h"
#include "gpu/launch/memory.h"
#include "runtime/remembered.h"

namespace gemm_tune {

// What becomes of a cache directory that cannot serve: it is an error, or left out.
enum class CacheNeed { required, optional };

// What may serve (gt_policy).
enum class Policy { best, tuned_only, deterministic, batch_invariant };

class Dispatcher {
 public:
  struct Settings {
    std::filesystem::path database;
    std::vector<std::filesystem::path> layer_folders = {};  // db/layers.h
    std::optional<std::filesystem::path> kernel_cache = {};
    CacheNeed cache_need = CacheNeed::required;
    Policy policy = Policy::best;
    double refine_ms = 0;  // gt_options
    std::optional<std::filesystem::path> refined_choices = {};
  };

  // Throws DatabaseError for the database, which may be missing where a layer can be read, then
  // UsageError for a required cache directory.
  explicit Dispatcher(Settings settings);

  // Reads the database and the layers again; calls that begin later use its winners. Throws
  // DatabaseError, and then the winners stay as they are.
  void reload();

  // Reads the database again if its file has changed since it was read, and takes the winners if
  // others than before have been timed beside a library; returns whether it took them. For any
  // number of calls: where nothing has changed, it asks the file system for two files, and it waits
  // for no other process. Throws as reload() does.
  bool refresh();

  // The answer of lookup(), where the question was asked before and is seen at once to be valid;
  // nullptr otherwise. Precondition: the call's size is that of its type.
  const gt_recipe* remembered(const DeviceName& on, const gt_gemm_call& asked) const;

  // Which kernel serves the call. Needs no GPU. Throws UsageError for a call that is not valid or
  // has no product. Texts in the recipe live as long as this object.
  gt_recipe lookup(const DeviceName& on, const gt_gemm_call& asked) const;

  // The same as a sentence.
  std::string explain(const DeviceName& on, const gt_gemm_call& asked) const;

  // The current device as the database's key. Throws DeviceError without one.
  DeviceName current_device_name() const;

  // Makes the copy of A or B that calls of its accuracy class take as kept, in the stream, into
  // memory on the current device, which is allocated if it is empty. Preconditions:
  // row_major_call() and check_preparable(); memory is empty or of an operand of this size. Throws
  // NoKernelError where no kernel takes such a copy, DeviceError where memory runs out or CUDA
  // fails.
  void keep_copy(CallValue operand, const GemmCall& call, cudaStream_t stream,
                 DeviceBuffer<char>& memory);

  // Launches the call on the current device. Precondition: it is of row_major_call()
  // (dispatch/c_values.h). given: where the stream is being captured. Throws NoKernelError, also
  // where what is given is too small, and DeviceError.
  void gemm(const GemmCall& call, cudaStream_t stream, const GivenWorkspace& given = {});

 private:
  // The winners of the database as it was read once.
  struct Winners {
    Winners(const Settings& settings, const LockWait& lock);

    const Tuned& of(const std::string& arch) const;

    std::map<std::string, Tuned> tuned;  // by architecture
  };

  // What has been found out with the winners of one reading.
  struct Generation {
    Generation();

    mutable Remembered<OwnedDeviceName, int> devices;  // their numbers, in the order of asking
    mutable int next_device = 0;                       // guarded by naming_
    mutable Remembered<CallKey, gt_recipe> recipes;    // by device's number and order of storage
    Remembered<CallKey, Server> servers;
  };

  // A question for choose().
  struct Question {
    DeviceKey device;
    Problem problem;  // of one launch
    Allowed allowed;
  };
  Question question_of(const DeviceName& on, const GemmCall& call) const;
  // nullptr where too many devices were asked for.
  const int* number_of_device(const Generation& generation, const DeviceName& on) const;

  const char* text_of(const KnownConfig& config) const;  // with naming_ locked

  // Those of the current generation, or of a later one. Call it after the generation was loaded.
  std::shared_ptr<const Winners> winners() const;
  void take(std::shared_ptr<const Winners> winners);  // with reloading_ locked

  Allowed allowed(bool with_library) const;

  // At most kMaxBatch entries.
  void launch(const GemmCall& call, cudaStream_t stream, const GivenWorkspace& given);

  // What serves a problem that was not asked for before.
  struct FirstSight {
    Server server;
    bool lasts = true;  // for later calls too
  };
  FirstSight first_sight(const Winners& winners, const Choice& choice, const GemmCall& call,
                         int ordinal, cudaStream_t stream);
  // A way to serve a call, and its name in the file of refined choices.
  struct Candidate {
    Server server;
    std::string answer;
  };
  std::vector<Candidate> candidates(const Winners& winners, const GemmCall& call, int ordinal,
                                    const Refinement& timing);
  Server refined(const Winners& winners, const Choice& choice, const GemmCall& call, int ordinal,
                 cudaStream_t stream);
  std::optional<Server> refined_before(const GemmCall& call, int ordinal);
  Server prepare(const Winners& winners, const Choice& choice, const GemmCall& call, int ordinal);

  const Settings settings_;
  Servers servers_;
  std::optional<RefinedChoices> refined_choices_;
  mutable std::mutex naming_;
  // Texts of configs in recipes, by family and values: as few as configs that serve. Guarded by
  // naming_; entries stay.
  mutable std::map<const KernelFamily*, std::map<std::vector<int>, std::string>> names_;
  std::mutex refining_;  // two refinements at once would time each other's work

  mutable std::mutex taking_winners_;
  std::shared_ptr<const Winners> winners_;  // guarded by taking_winners_

  // The last is the current one. The others stay, since a call may be at work with them: as much as
  // there are problems that were asked for.
  std::mutex reloading_;
  DatabaseStamp stamp_;                                   // guarded by reloading_
  std::vector<std::unique_ptr<Generation>> generations_;  // guarded by reloading_
  std::atomic<Generation*> current_;
};

}  // namespace gemm_tune

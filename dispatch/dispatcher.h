// SPDX-License-Identifier: Apache-2.0
// What a gt_handle is: the winners of a database, and the kernels loaded so far.
//
// Everything of the database is read at construction and in reload(), so that a look-up touches no
// disk. Answers are remembered: a known problem costs neither a lock nor an allocation nor a system
// call. A thread waits only for a compilation of the kernel that it needs, and for another launch
// of its stream that needs scratch memory. Any number of threads.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "choose/choose.h"
#include "core/error.h"
#include "dispatch/call_key.h"
#include "dispatch/checked_call.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"
#include "dispatch/refined_choices.h"
#include "runtime/cublas_calls.h"
#include "runtime/cublas_lt_calls.h"
#include "runtime/kernel_store.h"
#include "runtime/once_per_key.h"
#include "runtime/prepared_call.h"
#include "runtime/remembered.h"
#include "runtime/workspace_pool.h"

namespace gemm_tune {

// No kernel can serve a problem.
class NoKernelError : public Error {
 public:
  using Error::Error;
};

// What becomes of a cache directory that cannot serve: it is an error, or left out.
enum class CacheNeed { required, optional };

// What may serve (gt_policy).
enum class Policy { best, tuned_only, deterministic };

// A device as a caller names it; without a name, any of the architecture.
struct DeviceName {
  std::string_view arch, name;
  int sm_count = 0;
};

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

  // A question as its caller put it, before it is checked: equal words have equal answers.
  using Question = QuestionKey<std::string_view>;

  // The answer to a question that was asked before; whether there is one.
  bool recall(const Question& question, gt_recipe* recipe) const;

  // Needs no GPU. with_cublas: whether cuBLAS has a function for the call.
  void lookup(const Question& question, const Problem& problem, bool with_cublas,
              gt_recipe* recipe) const;

  // The current device as the database's key. Throws DeviceError without one.
  DeviceName current_device_name() const;

  // Launches the call on the current device; it must have been checked and be row-major. Throws
  // NoKernelError and DeviceError.
  void gemm(const GemmCall& call, cudaStream_t stream);

 private:
  // What serves a problem.
  struct Server {
    std::optional<PreparedCall> kernel;  // of kernels_; empty: cuBLAS
    CublasCalls::OnDevice* cublas = nullptr;
    // For the calls that it takes, in place of cublas.
    std::shared_ptr<const CublasLtCalls::Algorithm> cublas_lt;
    // Of the kernel for the problem. Dividing anew would make every call a tenth longer.
    Grid grid{};
    std::int64_t workspace_bytes = 0;
  };

  // The winners of the database as it was read once, and what has been found out with them.
  struct Generation {
    explicit Generation(const Settings& settings);

    const Tuned& of(const std::string& arch) const;

    std::map<std::string, Tuned> tuned;  // by architecture
    mutable Remembered<QuestionKey<std::string>, gt_recipe> recipes;
    Remembered<CallKey, Server> servers;
  };

  Allowed allowed(bool with_cublas) const;

  // At most kMaxBatch entries.
  void launch(GemmCall call, cudaStream_t stream);

  // What serves a problem that was not asked for before.
  struct FirstSight {
    Server server;
    bool lasts = true;  // for later calls too
  };
  FirstSight first_sight(const Generation& generation, const Choice& choice, const GemmCall& call,
                         int ordinal, cudaStream_t stream);
  Server refined(const Generation& generation, const Choice& choice, const GemmCall& call,
                 int ordinal, cudaStream_t stream);
  std::optional<Server> refined_before(const GemmCall& call, int ordinal);
  Server prepare(const Choice& choice, const GemmCall& call, int ordinal);
  void enqueue(const Server& server, const GemmCall& call, int ordinal, cudaStream_t stream);
  const LoadedKernels& kernels(int ordinal, const std::string& arch, const KnownConfig& config,
                               const CallForm& form);
  const DeviceKey& device(int ordinal) const;

  const Settings settings_;
  std::optional<KernelStore> kernel_cache_;
  std::optional<RefinedChoices> refined_choices_;

  struct Ordinal {
    int value;
    std::size_t hash() const { return static_cast<std::size_t>(value); }
    friend bool operator==(const Ordinal&, const Ordinal&) = default;
  };
  mutable Remembered<Ordinal, DeviceKey> devices_;
  // By ordinal, config text and form of the call. Never shrinks: a kernel may still be running.
  OncePerKey<std::tuple<int, std::string, CallForm>, LoadedKernels> kernels_;
  CublasCalls cublas_;
  CublasLtCalls cublas_lt_;
  WorkspacePool workspaces_;
  std::mutex refining_;  // two refinements at once would time each other's work

  // The last is the current one. The others stay, since a call may be at work with them.
  std::mutex reloading_;
  std::vector<std::unique_ptr<Generation>> generations_;  // guarded by reloading_
  std::atomic<Generation*> current_;
};

}  // namespace gemm_tune

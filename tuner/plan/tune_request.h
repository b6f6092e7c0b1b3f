// SPDX-License-Identifier: Apache-2.0
// The input of a run: problems, device and search settings. A plain value.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_spec.h"
#include "core/problem/problem.h"
#include "db/record.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"
#include "search/space/space.h"
#include "tuner/measure/baseline_kind.h"
#include "tuner/process/interruption.h"
#include "tuner/work/gpu_share.h"
#include "tuner/work/worker_process.h"

namespace gemm_tune {

struct TuneRequest {
  std::vector<Problem> problems;
  DeviceSpec device;
  bool measure = false;             // on GPUs of the model `device`
  std::vector<int> ordinals = {0};  // their CUDA numbers
  // Stored rows of earlier runs are compared with these.
  std::string cuda_version, driver_version;
  std::vector<KnownConfig> only;  // try these alone (--config, ladder); empty: search the space
  bool specialises = false;       // each of these is tried as specialised_for() the problem
  bool in_one_order = false;      // configs that give a row of D the same bits for every M
  std::vector<const KernelFamily*> families;  // search these alone; empty: all
  std::string strategy;  // of search/strategy/strategy_by_name.h; empty: model, but list order
                         // where all points are to be tried
  std::optional<std::size_t> budget;  // distinct candidates per problem, those that earlier runs
                                      // tried included; nothing: default
  std::optional<double> target;  // stops where the rest of the budget would likely not make the
                                 // best faster by 1 less this share
  std::optional<std::chrono::seconds> time_limit;  // for the whole request, of RunningClock's
  std::vector<double> weights;                     // of the problems, by which the time is shared;
                                                   // empty: all alike
  std::size_t jobs = 1;                            // compile processes
  std::vector<BaselineKind> baselines = {BaselineKind::cublas};
  // Cold times and a limit of errors need `measure`, a limit BaselineKind::cublas too.
  WinnerRule rule;
  bool holds_finals = true;   // else candidates are timed, and nothing is decided
  bool finals_again = false;  // also where earlier ones still hold
  bool retry_failed = false;  // first those that failed in earlier runs, unless by a rule
  std::uint64_t seed = 0;     // of strategy and operands, and of a sample of the space
  std::size_t most_points = Sampling().most;  // of larger spaces a sample is searched
  // The versions of cuBLAS and cublasLt, as revisions of their families: their algorithms are tried
  // beside the kernels, and besides the budget. Empty: they are not.
  KernelRevisions libraries;
  // Read-only databases (db/layers.h) whose winners' configs are tried first.
  std::vector<std::filesystem::path> layers;
  // The user's kernel texts, as they were when the run began; nothing: the program's own. Rows are
  // stored under their revisions and the compiler gets these texts, whatever becomes of their
  // files.
  std::optional<KernelSources> kernels;
  // Where winners' compiled kernels are put, and looked for before one is compiled.
  std::optional<std::filesystem::path> kernel_cache;
  bool completes_kernel_cache = false;  // compiles for it what the library may launch besides
  WorkerCommand worker;       // the program that serves as worker, see tuner/work/worker.h
  WorkerClock worker_clock;   // the two limits below count in it; empty: in RunningClock
  GpuShare gpu_share;         // of the time of each GPU
  Interruption interruption;  // asked between steps
  // A candidate that takes longer counts as hung. An ordinary compilation takes some seconds at
  // most; measuring gets more time for large problems.
  std::chrono::milliseconds compile_limit = std::chrono::seconds(60);
  std::chrono::milliseconds measure_limit = std::chrono::seconds(20);

  bool has_list() const { return !only.empty(); }
};

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Serves a call of cuBLAS by gt_gemm where it may, and counts both.
//
// What serves a shape is looked up at its first call, and again once the database has other
// winners: a thread beside looks for them, so that no call ever waits for the database but the
// first. Any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "dispatch/preload/cublas/real_cublas.h"
#include "dispatch/preload/refresher.h"
#include "dispatch/preload/report/counts.h"
#include "dispatch/preload/report/gpu_timer.h"
#include "dispatch/preload/report/shape_table.h"
#include "dispatch/preload/tuned_library.h"

namespace gemm_tune::preload {

// The environment's part. GEMM_TUNE_BLAS_REPORT: the file that the report is added to; none if
// unset. GEMM_TUNE_BLAS_COUNTS: the folder for the counts of processes that may not come to report.
// GEMM_TUNE_BLAS_FAMILIES: plug-ins of kernel families, a line each.
// GEMM_TUNE_BLAS_DISTANCE: the most_distance of objection(), a number from 1.
// GEMM_TUNE_BLAS_ACCURACY: the accuracy class of fp32 calls that are not pedantic.
// GEMM_TUNE_BLAS_REFRESH: how often to look for new winners, in seconds; 0: never.
struct Settings {
  std::string report, counts, families;
  double most_distance = 4, refresh_s = 10;
  Arithmetic arithmetic;
  std::string error;  // a sentence about a value that is none; nothing is served then

  // get: as getenv().
  using Get = const char*(const char* name);
  static Settings from(Get* get);
};

// A call that is left to cuBLAS.
struct Declined {
  Shape* shape = nullptr;  // null: the call is not counted
  Reason reason = Reason::failed;

  // status: what cuBLAS then returned.
  void count(int status) const {
    if (shape != nullptr) shape->count_declined(status == kSuccess ? reason : Reason::refused);
  }
};

class Server {
 public:
  // Throws std::bad_alloc.
  explicit Server(Settings settings) : settings_(std::move(settings)) {}

  // Nothing if the call was enqueued; otherwise nothing has happened, and the caller counts the
  // call once cuBLAS has answered it. state: nothing where it cannot be read. against: what stands
  // against the call already. span: begun where the call is timed, which is done for the report;
  // the caller ends it behind the call.
  std::optional<Declined> serve(const CublasCall& call, const std::optional<HandleState>& state,
                                std::optional<Reason> against, GpuTimer::Span* span);

  // Of the calls that were timed last; for the process's end, while it still has CUDA.
  void collect_times();

  // Adds the counts to the file of the settings, a JSON object for each line: one for the process
  // (pid, program, error), then one for each shape. Does nothing in a child of the process, which
  // inherits counts that are not its own.
  void write_report() const;

 private:
  // What stands against the call, after counting it served where nothing does.
  std::optional<Reason> try_to_serve(const CublasCall& asked, const gt_gemm_call& call,
                                     CUstream_st* stream, Shape* shape);
  // A verdict of the shape; kUnknown where the library calls this call's arguments invalid.
  int verdict_on(const gt_gemm_call& call, Shape* shape);
  // Remembers where nothing that is tuned could serve the class that the environment asks for.
  void check_class(const gt_gemm_call& call);
  const TunedLibrary* library();
  void open_library();
  // Takes winners that were tuned since; whether there were some. In the thread of refresher_.
  bool refresh();
  void remember_error(const std::string& sentence);
  void forget_error();

  const Settings settings_;
  const int pid_ = own_pid();
  Counts counts_{settings_.counts};
  ShapeTable shapes_{counts_};
  GpuTimer timer_;

  std::once_flag opening_;
  std::unique_ptr<TunedLibrary> library_;  // null if unusable; fixed after opening_
  // How often the library has got other winners. A verdict that was looked up meanwhile counts not.
  std::atomic<std::uint64_t> generation_ = 0;
  Refresher refresher_;

  std::mutex error_mutex_;  // guards the error of counts_

  static int own_pid();
};

}  // namespace gemm_tune::preload

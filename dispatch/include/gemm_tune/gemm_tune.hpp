// SPDX-License-Identifier: Apache-2.0
// The C interface of gemm_tune.h as a C++17 class: handles that close themselves, statuses as
// exceptions.
//
// Header-only and thin, so that only the C interface is binary. Thread rule and semantics are those
// of gemm_tune.h: a Handle may be used by many threads, but not moved or destroyed meanwhile.
#pragma once

#include <gemm_tune/gemm_tune.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace gemm_tune {

// A call that failed: its status, and as what() the sentence of gt_last_error().
class StatusError : public std::runtime_error {
 public:
  explicit StatusError(gt_status status) : std::runtime_error(gt_last_error()), status_(status) {}

  gt_status status() const noexcept { return status_; }

 private:
  gt_status status_;
};

// One product of packed row-major fp32 matrices; set other fields for others, and addresses to
// launch it.
inline gt_gemm_call make_call(std::int64_t M, std::int64_t N, std::int64_t K) {
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.M = M;
  call.N = N;
  call.K = K;
  return call;
}

// What Handle::prepare() has made of an operand, freed with this object: no later call may name it.
class Prepared {
 public:
  const gt_prepared* get() const noexcept { return prepared_.get(); }

 private:
  friend class Handle;
  struct Release {
    void operator()(gt_prepared* prepared) const noexcept { gt_release(prepared); }
  };

  std::unique_ptr<gt_prepared, Release> prepared_;
};

// A gt_handle. Each function throws StatusError where the C function of its name does not return
// GT_OK.
class Handle {
 public:
  // On the default database, with the default directory for compiled kernels.
  Handle() : Handle(gt_options(GT_OPTIONS_INIT)) {}

  explicit Handle(const gt_options& options) {
    gt_handle* handle = nullptr;
    check(gt_open(&options, &handle));
    handle_.reset(handle);
  }

  // kernel_cache: a directory for compiled kernels, none if empty.
  explicit Handle(const std::string& database_path, const std::string& kernel_cache = "")
      : Handle(options_of(database_path, kernel_cache)) {}

  // Reads the database again; calls that begin later use its winners.
  void reload() { check(gt_reload(handle_.get())); }

  // The same, but only if the database's file has changed; returns whether its winners have.
  bool refresh() {
    int changed = 0;
    check(gt_refresh(handle_.get(), &changed));
    return changed != 0;
  }

  // Which kernel serves the call on the named device. The recipe's text is this handle's.
  gt_recipe lookup(const gt_device& device, const gt_gemm_call& call) const {
    return lookup(&device, call);
  }

  // For the calling thread's current device.
  gt_recipe lookup(const gt_gemm_call& call) const { return lookup(nullptr, call); }

  // The sentence of gt_explain() on lookup()'s answer.
  std::string explain(const gt_device& device, const gt_gemm_call& call) const {
    return explain(&device, call);
  }
  std::string explain(const gt_gemm_call& call) const { return explain(nullptr, call); }

  // Enqueues the product in the stream, on the current device, and returns before it has run.
  void gemm(CUstream_st* stream, const gt_gemm_call& call) {
    check(gt_gemm(handle_.get(), stream, &call));
  }

  // Makes once, in the stream, what kernels make of this call's A or B before they multiply. Calls
  // name it as prepared_a or prepared_b.
  Prepared prepare(CUstream_st* stream, const gt_gemm_call& call, gt_operand operand) {
    Prepared made;
    gt_prepared* prepared = nullptr;
    check(gt_prepare(handle_.get(), stream, &call, operand, &prepared));
    made.prepared_.reset(prepared);
    return made;
  }

  // The same object anew, for values that have changed.
  void prepare(CUstream_st* stream, const gt_gemm_call& call, gt_operand operand, Prepared& again) {
    gt_prepared* prepared = again.prepared_.get();
    check(gt_prepare(handle_.get(), stream, &call, operand, &prepared));
    if (again.prepared_ == nullptr) again.prepared_.reset(prepared);
  }

  // For the C interface; this object closes it.
  gt_handle* get() const noexcept { return handle_.get(); }

 private:
  struct Close {
    void operator()(gt_handle* handle) const noexcept { gt_close(handle); }
  };

  static void check(gt_status status) {
    if (status != GT_OK) throw StatusError(status);
  }

  static gt_options options_of(const std::string& database_path, const std::string& kernel_cache) {
    gt_options options = GT_OPTIONS_INIT;
    options.database_path = database_path.c_str();
    options.kernel_cache = kernel_cache.empty() ? nullptr : kernel_cache.c_str();
    return options;
  }

  gt_recipe lookup(const gt_device* device, const gt_gemm_call& call) const {
    gt_recipe recipe{};
    check(gt_lookup(handle_.get(), device, &call, &recipe));
    return recipe;
  }

  std::string explain(const gt_device* device, const gt_gemm_call& call) const {
    const char* sentence = nullptr;
    check(gt_explain(handle_.get(), device, &call, &sentence));
    return sentence;
  }

  std::unique_ptr<gt_handle, Close> handle_;
};

}  // namespace gemm_tune

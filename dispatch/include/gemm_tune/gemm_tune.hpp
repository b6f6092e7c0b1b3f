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

class StatusError : public std::runtime_error {
 public:
  explicit StatusError(gt_status status) : std::runtime_error(gt_last_error()), status_(status) {}

  gt_status status() const noexcept { return status_; }

 private:
  gt_status status_;
};

// One product of packed row-major matrices; set order, transposition, batch or alignment for
// others.
inline gt_problem make_problem(std::int64_t M, std::int64_t N, std::int64_t K) {
  gt_problem problem{};
  problem.M = M;
  problem.N = N;
  problem.K = K;
  return problem;
}

class Handle {
 public:
  // On the default database, with the default directory for compiled kernels.
  Handle() { open(nullptr, nullptr); }

  // kernel_cache: a directory for compiled kernels, none if empty.
  explicit Handle(const std::string& database_path, const std::string& kernel_cache = "") {
    open(database_path.c_str(), kernel_cache.empty() ? nullptr : kernel_cache.c_str());
  }

  explicit Handle(const gt_options& options) {
    gt_handle* handle = nullptr;
    check(gt_open_with(&options, &handle));
    handle_.reset(handle);
  }

  // Reads the database again.
  void reload() { check(gt_reload(handle_.get())); }

  // For the named device.
  gt_recipe lookup(const gt_device& device, const gt_problem& problem) const {
    return lookup(&device, problem);
  }

  // For the calling thread's current device.
  gt_recipe lookup(const gt_problem& problem) const { return lookup(nullptr, problem); }

  void sgemm(CUstream_st* stream, gt_order order, gt_transpose trans_a, gt_transpose trans_b,
             std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
             std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
             std::int64_t ldc) {
    check(gt_sgemm(handle_.get(), stream, order, trans_a, trans_b, M, N, K, alpha, A, lda, B, ldb,
                   beta, C, ldc));
  }

  void sgemm_strided_batched(CUstream_st* stream, gt_order order, gt_transpose trans_a,
                             gt_transpose trans_b, std::int64_t M, std::int64_t N, std::int64_t K,
                             float alpha, const float* A, std::int64_t lda, std::int64_t stride_a,
                             const float* B, std::int64_t ldb, std::int64_t stride_b, float beta,
                             float* C, std::int64_t ldc, std::int64_t stride_c,
                             std::int64_t batch) {
    check(gt_sgemm_strided_batched(handle_.get(), stream, order, trans_a, trans_b, M, N, K, alpha,
                                   A, lda, stride_a, B, ldb, stride_b, beta, C, ldc, stride_c,
                                   batch));
  }

  void gemm(CUstream_st* stream, const gt_gemm_call& call) {
    check(gt_gemm(handle_.get(), stream, &call));
  }

  gt_handle* get() const noexcept { return handle_.get(); }

 private:
  struct Close {
    void operator()(gt_handle* handle) const noexcept { gt_close(handle); }
  };

  static void check(gt_status status) {
    if (status != GT_OK) throw StatusError(status);
  }

  void open(const char* database_path, const char* kernel_cache) {
    gt_handle* handle = nullptr;
    check(gt_open(database_path, kernel_cache, &handle));
    handle_.reset(handle);
  }

  gt_recipe lookup(const gt_device* device, const gt_problem& problem) const {
    gt_recipe recipe{};
    check(gt_lookup(handle_.get(), device, &problem, &recipe));
    return recipe;
  }

  std::unique_ptr<gt_handle, Close> handle_;
};

}  // namespace gemm_tune

/* gemm_tune: tuned single-precision matrix multiplication from a gemm-tune database.
 *
 * C = alpha * A * B + beta * C with A [M,K], B [K,N], C [M,N] row-major on the device, leading
 * dimensions in elements. gt_lookup says which kernel serves a problem, and needs no GPU; gt_sgemm
 * compiles it at first use and launches it.
 *
 * A handle is immutable to its users: any number of threads may use one at once, except gt_close.
 * No function prints, exits, throws or reads the environment. Every failure is a status;
 * gt_last_error has its sentence. Plain C (C99 or later); gemm_tune.hpp wraps it for C++17.
 */
#ifndef GEMM_TUNE_H
#define GEMM_TUNE_H

#include <stdint.h>

#if defined(__GNUC__)
#define GT_API __attribute__((visibility("default")))
#else
#define GT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* New values may be added at the end of any enumeration below. */
typedef enum gt_status {
  GT_OK = 0,
  GT_INVALID_ARGUMENT = 1, /* a null pointer, a negative size, a leading dimension too small, ... */
  GT_DATABASE_ERROR = 2,   /* the database is missing, unreadable or no gemm-tune database */
  GT_DEVICE_ERROR = 3,     /* no GPU or driver, or CUDA failed: compiling, loading or launching */
  GT_NO_KERNEL = 4,        /* no kernel can serve the problem */
  GT_INTERNAL_ERROR = 5    /* out of host memory, or a defect of this library */
} gt_status;

/* How a recipe was found. */
typedef enum gt_match {
  GT_MATCH_NONE = 0,    /* no kernel can serve the problem; nothing else of the recipe holds */
  GT_MATCH_EXACT = 1,   /* tuned for this device and problem */
  GT_MATCH_NEAREST = 2, /* tuned for the nearest size, or on another device of the architecture */
  GT_MATCH_DEFAULT = 3  /* nothing tuned fits: a conservative kernel that serves any problem */
} gt_match;

/* What a tuned recipe rests on. */
typedef enum gt_source {
  GT_SOURCE_NONE = 0,     /* nothing: match is none or default */
  GT_SOURCE_MEASURED = 1, /* timed on a GPU */
  GT_SOURCE_PREDICTED = 2 /* a model; never timed */
} gt_source;

/* Strings are the caller's and are read during the call only. */
typedef struct gt_device {
  const char* arch;    /* "sm_90" */
  const char* name;    /* as the driver reports it; NULL for any device of the architecture */
  int32_t sm_count;    /* 0 with a NULL name */
  int32_t reserved[3]; /* 0 */
} gt_device;

/* Zero it before setting fields: gt_problem problem = {0}. */
typedef struct gt_problem {
  int64_t M, N, K;   /* M, N from 1, K from 0, each up to 2,000,000,000 */
  int32_t alignment; /* elements (1, 2 or 4) that divide every leading dimension and base address of
                        A, B and C; 0: as packed matrices at 16-byte addresses have it */
  int32_t reserved[7]; /* 0 */
} gt_problem;

/* Self-contained: nothing in it points anywhere. */
typedef struct gt_recipe {
  gt_match match;
  gt_source source;
  char config[256];        /* canonical text of the kernel, "family/NAME=VALUE,..." */
  char explanation[512];   /* one sentence: what was chosen and why */
  int32_t is_twin;         /* 1: the winner is not legal here; this is its predicated twin */
  int32_t alignment;       /* alignment class the kernel needs, in elements */
  int32_t block_threads;   /* one-dimensional block */
  int32_t smem_bytes;      /* dynamic shared memory of one CTA */
  int64_t grid_ctas;       /* one-dimensional grid for the problem asked about */
  int64_t workspace_bytes; /* global scratch memory of one launch */
  int64_t reserved[8];
} gt_recipe;

typedef struct gt_handle gt_handle;

/* Reads the database's winners, all at once: later changes to the file are seen by handles opened
 * later. The file is not modified. kernel_cache names a directory for compiled kernels, made if
 * missing, which processes may share; NULL keeps them in memory only. *handle is set on GT_OK only.
 */
GT_API gt_status gt_open(const char* database_path, const char* kernel_cache, gt_handle** handle);

/* Unloads the handle's kernels: no call may be running and no launched kernel unfinished. NULL is
 * allowed. */
GT_API void gt_close(gt_handle* handle);

/* Which kernel serves the problem on the device; NULL for the calling thread's current CUDA device.
 * Touches no disk. A problem that no kernel can serve is GT_OK with match GT_MATCH_NONE. */
GT_API gt_status gt_lookup(const gt_handle* handle, const gt_device* device,
                           const gt_problem* problem, gt_recipe* recipe);

/* Launches C = alpha * A * B + beta * C on the calling thread's current device and returns before
 * it has run. stream is a cudaStream_t, NULL for the default stream. The first call for a kernel
 * compiles or loads it, which takes about a second, and must not happen while the stream is being
 * captured.
 *
 * lda >= K, ldb >= N, ldc >= N, each at least 1. As in BLAS, nothing is done where M or N is 0, or
 * where beta is 1 and K or alpha is 0; beta 0 does not read C; A and B may be NULL where K or alpha
 * is 0. Any lds and any addresses that floats may have are served; those divisible by 4 elements
 * best. */
GT_API gt_status gt_sgemm(gt_handle* handle, struct CUstream_st* stream, int64_t M, int64_t N,
                          int64_t K, float alpha, const float* A, int64_t lda, const float* B,
                          int64_t ldb, float beta, float* C, int64_t ldc);

/* The sentence of the calling thread's last failed call, empty if none has failed; valid until its
 * next call. */
GT_API const char* gt_last_error(void);

/* The library's version, "0.1.0"; a static string. */
GT_API const char* gt_version(void);

/* The names above in words: "device error", "nearest", "measured"; static strings, "unknown" for
 * other values. */
GT_API const char* gt_status_string(gt_status status);
GT_API const char* gt_match_string(gt_match match);
GT_API const char* gt_source_string(gt_source source);

#ifdef __cplusplus
}
#endif

#endif

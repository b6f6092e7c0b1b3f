// SPDX-License-Identifier: Apache-2.0
/* gemm_tune: tuned matrix multiplication from a gemm-tune database.
 *
 * D = alpha * op(A) * op(B) + beta * C with op(A) [M,K], op(B) [K,N], C and D [M,N] on the device,
 * in gt_gemm also with a bias and ReLU,
 * row- or column-major, one product or a batch; leading dimensions and strides in elements.
 * gt_lookup says which kernel serves a problem, and needs neither a GPU nor CUDA's libraries;
 * gt_gemm, and gt_sgemm for fp32, compiles it at first use and launches it. NVRTC (libnvrtc.so.13)
 * is opened when a kernel is compiled: the one that the process has loaded, else the loader's, else
 * the one beside the libcudart.so.13 that the process has loaded, else that of a toolkit in
 * /usr/local/cuda, /usr/local/cuda-13 or /opt/cuda, else that of NVIDIA's wheels where this library
 * lies in a Python package beside them (../nvidia/cu13/lib, ../../nvidia/cu13/lib). Once gt_open
 * was called with NULL for the database, CUDA_HOME's toolkit comes before the other ones, and
 * wheels are also taken from the Python environments of VIRTUAL_ENV and of each python3 on PATH,
 * and from ~/.local. Where NVRTC is missing, GT_DEVICE_ERROR says what to install.
 *
 * Any number of threads may use a handle at once, except gt_close. Calls that cuBLAS serves
 * (libcublas.so.13, opened when the first one is prepared) take turns for each device.
 *
 * Some kernels need scratch memory. The handle keeps it for each device and stream that such a
 * kernel was launched in, allocates it at the first launch that needs it or needs more, and frees
 * it in gt_close. Work of one stream runs in order and so shares it.
 *
 * Calls may be captured into CUDA graphs, in every capture mode. Scratch memory is then allocated
 * and freed by the graph itself, so that a graph may run while its stream, or another graph of that
 * stream, is at work. A replay takes 2 us more for that (256x256x8192 on an H100: 30.2 to 32.2 us,
 * 2026-11-22). CUDA's rules for graphs with memory nodes hold for it: one executable instance at a
 * time, no clone, no place in a conditional node. To run the work twice at once, capture it twice.
 * A graph needs the handle that its calls were made with: run none after gt_close.
 *
 * No function prints, exits or throws; none but gt_open reads the environment. Every failure is a
 * status; gt_last_error has its sentence. Plain C (C99 or later); gemm_tune.hpp wraps it for C++17.
 * Every function has the symbol version GEMM_TUNE_0.
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

struct CUstream_st; /* CUDA's: a cudaStream_t points to one */

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
  GT_MATCH_NEAREST = 2, /* tuned for a near size, or on another device of the architecture */
  GT_MATCH_DEFAULT = 3, /* nothing tuned fits: a conservative kernel that serves any problem */
  GT_MATCH_CUBLAS = 4 /* cuBLAS: no kernel was timed faster or is expected to be clearly faster, or
                         nothing tuned fits; the rest of the recipe is of the kernel that serves
                         where cuBLAS cannot be opened */
} gt_match;

/* What may serve calls. By all policies, the same device, database and call give the same choice,
 * and every kernel gives equal bits from run to run. */
typedef enum gt_policy {
  GT_POLICY_BEST = 0,       /* the fastest, as far as is known: a kernel or cuBLAS */
  GT_POLICY_TUNED_ONLY = 1, /* what searches found, where none fits GT_NO_KERNEL; a winner that was
                               only predicted, too: the recipe's source says so */
  GT_POLICY_DETERMINISTIC = 2, /* kernels, tuned or not, never cuBLAS: the bits of a result do not
                                  depend on the version of cuBLAS, or on whether it is there */
  GT_POLICY_MAX = 0x7fffffff
} gt_policy;

/* What a tuned recipe rests on. */
typedef enum gt_source {
  GT_SOURCE_NONE = 0,     /* nothing: match is none or default */
  GT_SOURCE_MEASURED = 1, /* timed on a GPU */
  GT_SOURCE_PREDICTED = 2 /* a model; never timed */
} gt_source;

/* How all matrices of a call are stored. The last value of this and the next only makes room, so
 * that a wrong value can be told and refused. */
typedef enum gt_order {
  GT_ROW_MAJOR = 0,    /* row after row; a leading dimension is the distance between rows */
  GT_COLUMN_MAJOR = 1, /* column after column, as in BLAS; the distance between columns */
  GT_ORDER_MAX = 0x7fffffff
} gt_order;

typedef enum gt_transpose {
  GT_NO_TRANSPOSE = 0, /* op(X) = X: A is stored M x K, B is stored K x N */
  GT_TRANSPOSE = 1,    /* op(X) = X^T: A is stored K x M, B is stored N x K */
  GT_TRANSPOSE_MAX = 0x7fffffff
} gt_transpose;

/* The type of a matrix's elements. A and B have one type. C and D have one type: A's or GT_F32.
 * Sums are in fp32; of 16-bit operands as tensor cores round them. 16 bits need sm_75 (GT_F16) or
 * sm_80 (GT_BF16). */
typedef enum gt_type {
  GT_F32 = 0,
  GT_F16 = 1,  /* IEEE binary16, as CUDA's __half */
  GT_BF16 = 2, /* bfloat16, as CUDA's __nv_bfloat16 */
  GT_TYPE_MAX = 0x7fffffff
} gt_type;

/* The operation on alpha * op(A) * op(B) + beta * C, in fp32, before the result is rounded to D's
 * type. The bias has an element for each column of a row-major D (N elements), for each row of a
 * column-major one (M elements). */
typedef enum gt_epilogue {
  GT_EPILOGUE_NONE = 0,
  GT_EPILOGUE_BIAS = 1,      /* the bias is added */
  GT_EPILOGUE_BIAS_RELU = 2, /* the bias is added, then negative values become 0; a NaN stays */
  GT_EPILOGUE_MAX = 0x7fffffff
} gt_epilogue;

/* Strings are the caller's and are read during the call only. */
typedef struct gt_device {
  const char* arch;    /* "sm_90" */
  const char* name;    /* as the driver reports it; NULL for any device of the architecture */
  int32_t sm_count;    /* 0 with a NULL name */
  int32_t reserved[3]; /* 0 */
} gt_device;

/* Zero it before setting fields: gt_problem problem = {0}. */
typedef struct gt_problem {
  int64_t M, N, K; /* M, N from 1, K from 0, each up to 2,000,000,000 */
  int64_t batch;   /* products of one launch, up to 65,535; 0 for one */
  gt_order order;
  gt_transpose trans_a, trans_b;
  int32_t alignment; /* elements (1, 2 or 4, where A is of 16 bits also 8) that divide every leading
                        dimension and base address and, in a batch, every stride; 0: as packed
                        matrices at 16-byte addresses have it. A matrix whose rows all begin at
                        multiples of 16 bytes does not count. */
  gt_type type_a, type_b, type_c, type_d;
  int32_t reserved[2]; /* 0 */
} gt_problem;

/* Self-contained: nothing in it points anywhere. Kernels are row-major: what is said of a
 * column-major problem is said of the row-major one that it is, with A and B, M and N swapped. */
typedef struct gt_recipe {
  gt_match match;
  gt_source source;
  char config[256];      /* canonical text of the kernel, "family/NAME=VALUE,..." */
  char explanation[512]; /* one sentence: what was chosen and why */
  int32_t is_twin;       /* 1: the winner is not legal here; this is its predicated twin */
  int32_t alignment;     /* widest access of the kernel to any operand, in elements; the problem's
                            operands are aligned as each of them needs */
  int32_t block_threads; /* one-dimensional block */
  int32_t smem_bytes;    /* dynamic shared memory of one CTA */
  int64_t grid[3];       /* x, y and z for the problem and device asked about; for a device without
                            a name, as for the one that the kernel was tuned on */
  int64_t workspace_bytes; /* global scratch memory of one launch, for that device; gt_sgemm brings
                              its own */
  double tuned_us;    /* median time of the kernel at the problem that it was timed for; 0 where
                         nothing was timed on this very device, or on any for one without a name */
  double baseline_us; /* the fastest of cuBLAS beside it in the same run; 0 where none was timed */
  double distance; /* of the problem that the winner was tuned for: the product of the larger over
                      the smaller of M, N, K and batch; 1 for the same sizes, 0 without a winner */
  double expected_us; /* of what was chosen: measured for an exact match, else by a model that is
                         corrected by what was measured; 0 where neither knows */
  double expected_within; /* half of such expectations are off by at most this factor, 1.05 for 5 %:
                             of an exact match's samples, else among the tuned problems; 0 where too
                             few are known. Beyond a distance of 16 an expectation is a guess. */
  double cublas_us;       /* of cuBLAS for the problem, measured or expected likewise; 0 where no
                             winner near it was timed beside cuBLAS */
} gt_recipe;

/* A product for gt_gemm. Begin with gt_gemm_call call = GT_GEMM_CALL_INIT, which sets size, one
 * product, alpha = 1 and beta = 0, and all else to 0. Later versions add fields at the end: a
 * program keeps working with a later library, and with an earlier one where it sets none of them.
 */
typedef struct gt_gemm_call {
  uint64_t size; /* sizeof(gt_gemm_call) */
  gt_order order;
  gt_transpose trans_a, trans_b;
  gt_type type_a, type_b, type_c, type_d;
  int32_t reserved; /* 0 */
  int64_t M, N, K;
  int64_t batch;      /* products; entry i works on A + i * stride_a and so on */
  double alpha, beta; /* rounded to fp32 */
  const void* A;
  const void* B;
  const void* C; /* D itself, or a matrix that does not overlap D; may be NULL where beta is 0 */
  void* D;
  int64_t lda, ldb, ldc;                /* ldc: of C and of D */
  int64_t stride_a, stride_b, stride_c; /* of a batch; stride_c: of C and of D */
  gt_epilogue epilogue;
  int32_t reserved2; /* 0 */
  const void* bias;  /* of D's type, not in D; one for all products; not read without an epilogue */
} gt_gemm_call;

#define GT_GEMM_CALL_INIT                                                                         \
  {                                                                                               \
    sizeof(gt_gemm_call), GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, GT_F32, GT_F32, GT_F32, \
        GT_F32, 0, 0, 0, 0, 1, 1.0, 0.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, GT_EPILOGUE_NONE, 0, 0     \
  }

typedef struct gt_handle gt_handle;

/* Begin with gt_options options = GT_OPTIONS_INIT, which sets size and all else to 0. Strings are
 * read during the call only. */
typedef struct gt_options {
  uint64_t size;             /* sizeof(gt_options) */
  const char* database_path; /* as for gt_open */
  const char* kernel_cache;
  gt_policy policy;
  int32_t reserved; /* 0 */
  double refine_ms; /* how long the first call for a problem that nobody has tuned may take longer,
                       in order to time the likeliest two or three kernels and, by GT_POLICY_BEST,
                       cuBLAS and cublasLt's first proposals on its operands; 0: no time. Such a
                       call waits for its stream; none under capture, and none by
                       GT_POLICY_DETERMINISTIC. It may exceed the time by one compilation and some
                       launches, and where it is the first of a process by the opening of cuBLAS. A
                       call that comes while another one of the handle does so is served without.
                       gt_lookup tells what would be chosen without. */
  const char* refined_choices; /* a file in which these answers are kept for later processes; made
                                  if missing, NULL for none */
} gt_options;

#define GT_OPTIONS_INIT \
  { sizeof(gt_options), 0, 0, GT_POLICY_BEST, 0, 0.0, 0 }

/* Reads the database's winners, all at once: later changes to the file are seen by gt_reload and by
 * handles opened later. The file is not modified. The policy is GT_POLICY_BEST. NULL for
 * database_path is where gemm-tune stores unless told otherwise: the environment's GEMM_TUNE_DB,
 * else $XDG_DATA_HOME/gemm-tune/gemm-tune.db, else
 * ~/.local/share/gemm-tune/gemm-tune.db. *handle is set on GT_OK only.
 *
 * Unless GEMM_TUNE_DB is set, NULL also reads the layers below that database: the files named .db
 * in the folder gemm-tune of each folder of the environment's XDG_DATA_DIRS, unset of
 * /usr/local/share and /usr/share, then those in share/gemm-tune/winners of this library's
 * installation. For a problem on a device, the user's measured winner comes first, then the fastest
 * measured one of the layers, then a predicted one. Layers are neither written nor locked. One that
 * cannot be read is left out (`gemm-tune --version` says why). The user's database may be missing
 * where a layer holds winners. A recipe's explanation names the layer that the winner is from.
 *
 * kernel_cache names a directory for compiled kernels, made if missing and then for its owner
 * alone; the processes of one user may share it. A kernel that lies there needs no NVRTC. NULL
 * keeps kernels in memory only; but with a NULL database_path too, the directory is
 * $XDG_CACHE_HOME/gemm-tune, else ~/.cache/gemm-tune, where gemm-tune puts what it has compiled,
 * and kernels are kept in memory only where that directory cannot serve.
 *
 * Where a directory holds more than 1 GiB, the kernels that were not loaded for longest are
 * removed; files of other names stay. A directory that is full or read-only costs compilations,
 * nothing else. Who can write there supplies GPU code: GT_INVALID_ARGUMENT where the directory
 * belongs to another user than this process's or root, or where group or others may write to it;
 * files of such an owner or mode are not loaded. A hash tells damaged files, which are compiled
 * anew; it guards against nothing else. */
GT_API gt_status gt_open(const char* database_path, const char* kernel_cache, gt_handle** handle);

/* The same with options. */
GT_API gt_status gt_open_with(const gt_options* options, gt_handle** handle);

/* Reads the database again, and what NULL reads with it; calls that begin later use its winners.
 * Other threads may use the handle meanwhile. Where it fails, the winners stay as they are. What
 * was read before is kept until gt_close: reload when the database has changed, not as a matter of
 * course. */
GT_API gt_status gt_reload(gt_handle* handle);

/* Unloads the handle's kernels: no call may be running and no launched kernel unfinished. NULL is
 * allowed. */
GT_API void gt_close(gt_handle* handle);

/* Which kernel serves the problem on the device; NULL for the calling thread's current CUDA device.
 * Touches no disk. A question that was asked before costs no lock and no allocation: of tuned
 * problems each, of others the first 16,384. A problem that no kernel can serve is GT_OK with match
 * GT_MATCH_NONE. */
GT_API gt_status gt_lookup(const gt_handle* handle, const gt_device* device,
                           const gt_problem* problem, gt_recipe* recipe);

/* The same for a call of gt_gemm: of its sizes, types, addresses and leading dimensions. Reads none
 * of its matrices. GT_INVALID_ARGUMENT where gt_gemm has it, and where M, N or batch is 0. */
GT_API gt_status gt_lookup_call(const gt_handle* handle, const gt_device* device,
                                const gt_gemm_call* call, gt_recipe* recipe);

/* Launches C = alpha * op(A) * op(B) + beta * C on the calling thread's current device and returns
 * before it has run. stream is a cudaStream_t of the thread's current context, NULL for the
 * default stream. The first call for a kernel compiles or loads it, which takes about a second.
 *
 * Each leading dimension is at least 1 and the length of a stored row (column-major: column): lda
 * of a row-major A that is not transposed at least K, of a column-major one at least M. As in BLAS,
 * nothing is done where M or N is 0, or where beta is 1 and K or alpha is 0; beta 0 does not read
 * C; A and B may be NULL where K or alpha is 0. Any leading dimensions and any addresses that
 * floats may have are served; those divisible by 4 elements best. */
GT_API gt_status gt_sgemm(gt_handle* handle, struct CUstream_st* stream, gt_order order,
                          gt_transpose trans_a, gt_transpose trans_b, int64_t M, int64_t N,
                          int64_t K, float alpha, const float* A, int64_t lda, const float* B,
                          int64_t ldb, float beta, float* C, int64_t ldc);

/* The same for `batch` products: entry i works on A + i * stride_a, B + i * stride_b and
 * C + i * stride_c. Strides are not negative; 0 uses the same A or B for all. The matrices of C
 * must not overlap: either each lies behind the one before, or all lie side by side in the same
 * rows (column-major: columns). Nothing is done where batch is 0; where it is 1 the strides do not
 * count. A batch above 65,535 takes several launches. */
GT_API gt_status gt_sgemm_strided_batched(gt_handle* handle, struct CUstream_st* stream,
                                          gt_order order, gt_transpose trans_a,
                                          gt_transpose trans_b, int64_t M, int64_t N, int64_t K,
                                          float alpha, const float* A, int64_t lda,
                                          int64_t stride_a, const float* B, int64_t ldb,
                                          int64_t stride_b, float beta, float* C, int64_t ldc,
                                          int64_t stride_c, int64_t batch);

/* Launches a product of any of the types above; the rules of gt_sgemm_strided_batched hold for the
 * types' elements. Nothing is done where M, N or batch is 0, or where C is D, beta is 1, K or
 * alpha is 0 and there is no epilogue. GT_NO_KERNEL where the device has no kernel of the types. */
GT_API gt_status gt_gemm(gt_handle* handle, struct CUstream_st* stream, const gt_gemm_call* call);

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

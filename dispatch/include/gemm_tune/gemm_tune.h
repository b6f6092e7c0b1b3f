// SPDX-License-Identifier: Apache-2.0
/* gemm_tune: tuned matrix multiplication from a gemm-tune database.
 *
 * D = alpha * op(A) * op(B) + beta * C with op(A) [M,K], op(B) [K,N], C and D [M,N] on the device,
 * also with an epilogue (bias, activation and others), row- or column-major, one product or a
 * batch; leading dimensions and strides in elements. One struct, gt_gemm_call, describes a product.
 * gt_lookup says which kernel serves it, and needs neither a GPU nor CUDA's libraries; gt_gemm, and
 * gt_sgemm for fp32 with BLAS's arguments, compiles the kernel at first use and launches it. NVRTC
 * (libnvrtc.so.13) is opened when a kernel is compiled: the one that the process has loaded, else
 * the loader's, else the one beside the libcudart.so.13 that the process has loaded, else that of a
 * toolkit in /usr/local/cuda, /usr/local/cuda-13 or /opt/cuda, else that of NVIDIA's wheels where
 * this library lies in a Python package beside them (../nvidia/cu13/lib, ../../nvidia/cu13/lib).
 * Once gt_open was called without a database, CUDA_HOME's toolkit comes before the other ones, and
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
 * No function prints, exits or throws, with one exception: while the first kernel of a process that
 * no cache holds is compiled, NVRTC has handlers of its own for SIGINT and SIGTERM, which end the
 * process with exit code 4. The calling thread has both signals blocked meanwhile; a program that
 * handles them should block them in its other threads, too.
 *
 * None but gt_open reads the environment. Every failure is a status; gt_last_error has its
 * sentence. Plain C (C99 or later); gemm_tune.hpp wraps it for C++17. Every function has the symbol
 * version GEMM_TUNE_0. A program that was built with this header runs with every later
 * libgemm_tune.so.0: what stands here stays, but that structs which begin with their size may grow
 * at their end.
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
  GT_MATCH_NONE = 0,    /* no kernel that the policy allows serves; nothing else here holds */
  GT_MATCH_EXACT = 1,   /* tuned for this device and problem */
  GT_MATCH_NEAREST = 2, /* tuned for a near size, or on another device of the architecture */
  GT_MATCH_DEFAULT = 3  /* nothing tuned fits: cuBLAS's own choice where the policy and the call
                           allow that, else a conservative kernel that serves any problem */
} gt_match;

/* What may serve calls. Without refine_ms and refined_choices, and with the same libraries present,
 * the same device, database and call give the same choice by all policies. Every kernel gives equal
 * bits from run to run. */
typedef enum gt_policy {
  GT_POLICY_BEST = 0,            /* the fastest, as far as is known: a kernel or cuBLAS */
  GT_POLICY_TUNED_ONLY = 1,      /* kernels that searches found, never cuBLAS; where none fits,
                                    GT_NO_KERNEL. A winner that was only predicted serves, too: the
                                    recipe's source says so */
  GT_POLICY_DETERMINISTIC = 2,   /* kernels, tuned or not, never cuBLAS: the bits of a result do not
                                    depend on the version of cuBLAS, or on whether it is there */
  GT_POLICY_BATCH_INVARIANT = 3, /* kernels of one order of sums for all calls that differ in M
                                    alone (column-major: in N alone): a row (column) of D has the
                                    same bits however many others are beside it, where beta is 0 or
                                    alpha and beta are 1: of other scalars' two products each
                                    kernel's compiler chooses which one it fuses with the sum.
                                    `gemm-tune --batch-invariant` tunes for it; where nothing is
                                    tuned, a default kernel serves. Which order it is may change
                                    with the database. Never cuBLAS; refine_ms has no effect */
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

/* The type of a matrix's elements. There are kernels for A and B of GT_F32, of GT_F16 (from sm_75
 * on), of GT_BF16 (from sm_80 on) and of GT_E4M3 (sm_90); C and D have one type: GT_F32, else
 * A's, beside GT_E4M3 a 16-bit float. One of A and B may be of GT_F32 and the other one of GT_F16
 * or GT_BF16, with C and D of GT_F32. Other calls are GT_NO_KERNEL, and gt_explain says why. */
typedef enum gt_type {
  GT_F32 = 0,
  GT_F16 = 1,  /* IEEE binary16, as CUDA's __half */
  GT_BF16 = 2, /* bfloat16, as CUDA's __nv_bfloat16 */
  GT_E4M3 = 3, /* 8 bits, as CUDA's __nv_fp8_e4m3 */
  GT_E5M2 = 4, /* 8 bits, as CUDA's __nv_fp8_e5m2 */
  GT_S8 = 5,   /* signed 8-bit whole number */
  GT_S32 = 6,  /* signed 32-bit whole number */
  GT_TYPE_MAX = 0x7fffffff
} gt_type;

/* How products are made and added up; a result is verified against the class's error bound. There
 * are kernels for the classes that types stand for, for TF32 (from sm_80 on), FP32_F16X3 (from
 * sm_75 on, where fp32 is not expected to be faster), FP32_BF16X6 (from sm_80 on) and SUMS_FP16
 * (from sm_75 on). */
typedef enum gt_accuracy {
  GT_ACCURACY_OF_TYPES = 0,    /* FP32 beside an operand of GT_F32, SUMS_FP32 for other floats,
                                  else SUMS_S32 */
  GT_ACCURACY_FP32 = 1,        /* fp32 throughout, each step rounded once */
  GT_ACCURACY_TF32 = 2,        /* fp32 operands rounded to tf32 */
  GT_ACCURACY_FP32_F16X3 = 3,  /* fp32 operands scaled and split into two fp16 parts */
  GT_ACCURACY_FP32_BF16X6 = 4, /* fp32 operands split into three bf16 parts */
  GT_ACCURACY_SUMS_FP32 = 5,   /* exact products, sums in fp32 as tensor cores round them */
  GT_ACCURACY_SUMS_FP16 = 6,   /* exact products, sums in fp16 that are promoted to fp32 */
  GT_ACCURACY_SUMS_S32 = 7,    /* whole numbers: exact products and sums */
  GT_ACCURACY_MAX = 0x7fffffff
} gt_accuracy;

/* What becomes of alpha * op(A) * op(B) + beta * C, in fp32, before it is rounded to D's type: 0
 * for nothing, or what gt_epilogue_named() returns for a text as "bias_column+relu".
 * gt_epilogue_list() has the parts that there are, in the order in which they are applied, whatever
 * the text's order. Rows and columns are those of D in the call's order. */
typedef uint32_t gt_epilogue;

/* How the matrices of a batch are told of. */
typedef enum gt_batch_kind {
  GT_STRIDED = 0,  /* each operand's matrices are equally far apart */
  GT_POINTERS = 1, /* A, B, C and D are arrays on the device, of `batch` addresses each */
  GT_BATCH_KIND_MAX = 0x7fffffff
} gt_batch_kind;

/* A or B as gt_prepare has prepared it for calls. */
typedef struct gt_prepared gt_prepared;

/* A product. Begin with gt_gemm_call call = GT_GEMM_CALL_INIT, which sets size, one product,
 * alpha = 1, beta = 0 and workspace_bytes = -1, and all else to 0.
 *
 * A leading dimension is at least 1 and the length of a stored row (column-major: column): lda of a
 * row-major A that is not transposed at least K, of a column-major one at least M. 0 stands for
 * that length, and a stride of 0 beside it for matrices one after another. Beside a leading
 * dimension that is given, a stride of 0 uses the same A or B for all. Strides are not negative,
 * and neither they nor leading dimensions exceed 2^47. The matrices of D must not overlap: either
 * each lies behind the one before, or all lie side by side in the same rows (column-major:
 * columns).
 *
 * Of GT_POINTERS strides mean nothing, and the matrices of D must not overlap either. The arrays
 * are read when the product runs. Where in them the address of a matrix is less aligned than the
 * leading dimension, up to 16 bytes, the product of that entry is right and slow. C is D, the same
 * array, or one of matrices that do not overlap D's. Epilogues with an operand that lies as D does
 * are refused. */
typedef struct gt_gemm_call {
  uint64_t size; /* sizeof(gt_gemm_call) */
  gt_order order;
  gt_transpose trans_a, trans_b;
  gt_type type_a, type_b, type_c, type_d;
  gt_accuracy accuracy;
  gt_epilogue epilogue;
  gt_batch_kind batch_kind;
  int64_t M, N, K; /* each from 0 to 2,000,000,000 */
  int64_t batch;   /* products; entry i works on A + i * stride_a and so on, of GT_POINTERS on the
                      matrix at address i of the array A */
  double alpha, beta; /* rounded to fp32 */
  const void* A;
  const void* B;
  const void* C; /* D itself, or a matrix that does not overlap D; may be NULL where beta is 0 */
  void* D;
  const void* operands[6]; /* of the epilogue's parts that have one, in the order of application;
                              apart from D, aligned to their elements; one for all products unless
                              it lies as D does */
  int64_t lda, ldb, ldc;   /* ldc: of C and of D */
  int64_t stride_a, stride_b, stride_c;       /* of a batch; stride_c: of C and of D */
  const gt_prepared *prepared_a, *prepared_b; /* of this A and this B by gt_prepare, or NULL */
  void* workspace; /* of a call that is captured into a graph: memory on the device, aligned to
                      256 bytes, that the graph may use whenever it runs */
  int64_t workspace_bytes; /* of it; -1: nodes of the graph allocate what the call needs, and such a
                              graph can be no child of another graph */
} gt_gemm_call;

#define GT_GEMM_CALL_INIT                                                                         \
  {                                                                                               \
    sizeof(gt_gemm_call), GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, GT_F32, GT_F32, GT_F32, \
        GT_F32, GT_ACCURACY_OF_TYPES, 0, GT_STRIDED, 0, 0, 0, 1, 1.0, 0.0, 0, 0, 0, 0,            \
        {0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1                                         \
  }

/* Strings are the caller's and are read during the call only. */
typedef struct gt_device {
  const char* arch; /* "sm_90" */
  const char* name; /* as the driver reports it; NULL for any device of the architecture */
  int32_t sm_count; /* 0 with a NULL name */
} gt_device;

/* What serves a call. Few bytes, which each gt_lookup copies. */
typedef struct gt_recipe {
  gt_match match;
  gt_source source;
  const char* config; /* canonical text of the kernel, "family/NAME=VALUE,...", empty for
                         GT_MATCH_NONE; the handle's, valid until gt_close. Kernels are row-major:
                         that of a column-major call has A and B, M and N exchanged. Or of a
                         library's algorithm, by GT_POLICY_BEST: "cublas/...", cuBLAS's own choice,
                         or "cublaslt/...", which calls by cublasLt's interface can have; gt_gemm
                         takes the next best where the library is missing */
  int32_t align_a, align_b, align_c, align_d; /* bytes that must divide an operand's address,
                                                 leading dimension and, in a batch, stride; of
                                                 GT_POINTERS its leading dimension */
  int64_t workspace_bytes; /* global scratch memory of one launch, which gt_gemm brings; for a
                              device without a name, as for the one that the kernel was tuned on */
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

typedef struct gt_handle gt_handle;

/* Begin with gt_options options = GT_OPTIONS_INIT, which sets size and all else to 0. Strings are
 * read during the call only. */
typedef struct gt_options {
  uint64_t size; /* sizeof(gt_options) */
  gt_policy policy;
  const char*
      database_path;        /* NULL: where gemm-tune stores unless told otherwise, the environment's
                               GEMM_TUNE_DB, else $XDG_DATA_HOME/gemm-tune/gemm-tune.db, else
                               ~/.local/share/gemm-tune/gemm-tune.db */
  const char* kernel_cache; /* a directory for compiled kernels; NULL: kernels are kept in memory
                               only, but where database_path is NULL too, in
                               $XDG_CACHE_HOME/gemm-tune, else ~/.cache/gemm-tune */
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
  { sizeof(gt_options), GT_POLICY_BEST, 0, 0, 0.0, 0 }

/* Reads the database's winners, all at once: later changes to the file are seen by gt_reload and by
 * handles opened later. The file is not modified. options may be NULL for GT_OPTIONS_INIT's.
 * *handle is set on GT_OK only.
 *
 * Where no database is named, here or by GEMM_TUNE_DB, the layers below the default one are read,
 * too: the files named .db in the folder gemm-tune of each folder of the environment's
 * XDG_DATA_DIRS, unset of /usr/local/share and /usr/share, then those in share/gemm-tune/winners of
 * this library's installation. For a problem on a device, the user's measured winner comes first,
 * then the fastest measured one of the layers, then a predicted one. Layers are neither written nor
 * locked. One that cannot be read is left out (`gemm-tune --version` says why). The user's database
 * may be missing where a layer holds winners. gt_explain names the layer that a winner is from.
 *
 * The directory of compiled kernels is made if missing and then for its owner alone; the processes
 * of one user may share it. A kernel that lies there needs no NVRTC. In the default directory
 * gemm-tune puts what it has compiled, and kernels are kept in memory only where that directory
 * cannot serve.
 *
 * Where a directory holds more than 1 GiB, the kernels that were not loaded for longest are
 * removed; files of other names stay. A directory that is full or read-only costs compilations,
 * nothing else. Who can write there supplies GPU code: GT_INVALID_ARGUMENT where the directory
 * belongs to another user than this process's or root, or where group or others may write to it;
 * files of such an owner or mode are not loaded. A hash tells damaged files, which are compiled
 * anew; it guards against nothing else. */
GT_API gt_status gt_open(const gt_options* options, gt_handle** handle);

/* Loads the plug-in of a kernel family of the user's, which gemm_tune_add_family() of the CMake
 * package has built: winners of the family then serve as those of the built-in ones. For the whole
 * process, from then on, and so before the first gt_open: later it is GT_INVALID_ARGUMENT, as for a
 * file that is no plug-in of this version. A file that is loaded already is GT_OK. The plug-in's
 * code runs in this process. */
GT_API gt_status gt_load_family(const char* file);

/* Reads the database again, and the layers that were read with it; calls that begin later use its
 * winners. Other threads may use the handle meanwhile. Where it fails, the winners stay as they
 * are. Each reading forgets which kernels serve the problems that were asked for, so that each is
 * chosen again at its next call: reload when the database has changed, not as a matter of course.
 */
GT_API gt_status gt_reload(gt_handle* handle);

/* The same as a matter of course, for a thread of the application's that calls it every few
 * seconds: does nothing while the database's file stays as it is, or holds no other winners that
 * were timed beside a library; asks the file system for two files then. *changed, where changed is
 * not NULL, is set to 1 if the winners are others now, else to 0. Waits for no other process: a
 * database that is locked is GT_DATABASE_ERROR, and the next call tries again. Layers are read
 * where the database has changed. Kernels that were loaded stay loaded, so that graphs run on. */
GT_API gt_status gt_refresh(gt_handle* handle, int* changed);

/* Unloads the handle's kernels: no call may be running and no launched kernel unfinished. NULL is
 * allowed. */
GT_API void gt_close(gt_handle* handle);

/* Which kernel serves the call on the device; NULL for the calling thread's current CUDA device.
 * Reads no matrix. Of an address only its alignment counts; NULL counts as a multiple of 16 bytes.
 * So a call of types and sizes alone asks for packed matrices at such addresses.
 * GT_INVALID_ARGUMENT where gt_gemm has it, but for a NULL, a prepared operand or a workspace, and
 * where M, N or batch is 0. A call that no kernel can serve is GT_OK with match GT_MATCH_NONE.
 *
 * Touches no disk. A question that was asked before costs no lock and no allocation: of tuned
 * problems each, of others the first 16,384. */
GT_API gt_status gt_lookup(const gt_handle* handle, const gt_device* device,
                           const gt_gemm_call* call, gt_recipe* recipe);

/* What gt_lookup answers, in one sentence: what was chosen and why, and the layer that a winner is
 * from. Chooses anew each time. *sentence is the calling thread's, valid until its next gt_explain;
 * it is set on GT_OK only. Statuses are those of gt_lookup. */
GT_API gt_status gt_explain(const gt_handle* handle, const gt_device* device,
                            const gt_gemm_call* call, const char** sentence);

/* Launches the product on the calling thread's current device and returns before it has run. stream
 * is a cudaStream_t of the thread's current context, NULL for the default stream. The first call
 * for a kernel compiles or loads it, which takes about a second. A batch above 65,535 takes several
 * launches.
 *
 * As in BLAS, beta 0 does not read C, and A and B may be NULL where K or alpha is 0. Nothing is
 * done where M, N or batch is 0, or where C is D, beta is 1, K or alpha is 0 and there is no
 * epilogue. Any leading dimensions and any addresses that elements may have are served; those
 * divisible by 16 bytes best. GT_NO_KERNEL where the device has no kernel of the types. */
GT_API gt_status gt_gemm(gt_handle* handle, struct CUstream_st* stream, const gt_gemm_call* call);

typedef enum gt_operand {
  GT_OPERAND_A = 0,
  GT_OPERAND_B = 1,
  GT_OPERAND_MAX = 0x7fffffff
} gt_operand;

/* Prepares A or B for many calls, as the weights of a layer: what kernels of the call's accuracy
 * class make of an operand before they multiply is made once and kept. A call that names it gives
 * the same bits as one that does not, without that launch. GT_ACCURACY_FP32_F16X3 and
 * GT_ACCURACY_FP32_BF16X6 have such kernels; GT_NO_KERNEL for other classes and for devices without
 * them.
 *
 * The operand, its size and storage, K, the batch and the class are the call's; of the rest of it
 * only follows which kernel is compiled, and the other operand and D may be NULL. *prepared is NULL
 * for a new object, set on GT_OK only. It holds about as many bytes as the operand, of
 * GT_ACCURACY_FP32_BF16X6 half as many again, on the current device, and serves every handle of the
 * process. Or *prepared is an object that is prepared anew, without an allocation, as after the
 * operand's values have changed, or in a graph: of the same device, class and sizes.
 *
 * The work runs in the stream: calls in other streams have to wait for it, as for every writer.
 * The operand must stay where it is and as it is: where parts of it or of the other operand would
 * lose too much, the product is computed from A and B themselves. That this holds for the prepared
 * operand is kept with it. Where it was prepared in a call beside an operand of 16 bits less is
 * kept: a call beside one of f32 may compute more of D from A and B themselves, in other bits than
 * without. gt_gemm refuses a call of another device, class, address, size or storage as
 * GT_INVALID_ARGUMENT; values that have changed it does not see.
 *
 * What is prepared suits every kernel that takes it, whichever wins, also after gt_reload. A call
 * is served by what serves it without: where that is a kernel that takes no prepared operand, as a
 * winner of the class fp32 (gt_lookup tells), it reads the operand itself.
 *
 * Any number of threads may name one object in calls; none may while it is prepared anew. */
GT_API gt_status gt_prepare(gt_handle* handle, struct CUstream_st* stream, const gt_gemm_call* call,
                            gt_operand operand, gt_prepared** prepared);

/* Frees it, and waits for the device before, as cudaFree does. No later call may name it, and no
 * graph with such a call may run. NULL is allowed. */
GT_API void gt_release(gt_prepared* prepared);

/* gt_gemm for one product of fp32 with the result in C, with the arguments of CBLAS. */
static inline gt_status gt_sgemm(gt_handle* handle, struct CUstream_st* stream, gt_order order,
                                 gt_transpose trans_a, gt_transpose trans_b, int64_t M, int64_t N,
                                 int64_t K, float alpha, const float* A, int64_t lda,
                                 const float* B, int64_t ldb, float beta, float* C, int64_t ldc) {
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.order = order;
  call.trans_a = trans_a;
  call.trans_b = trans_b;
  call.M = M;
  call.N = N;
  call.K = K;
  call.alpha = alpha;
  call.beta = beta;
  call.A = A;
  call.B = B;
  call.C = C;
  call.D = C;
  call.lda = lda;
  call.ldb = ldb;
  call.ldc = ldc;
  return gt_gemm(handle, stream, &call);
}

/* The epilogue of a text: parts with a plus between them, or "none". UINT32_MAX, which calls
 * refuse, where a part is unknown or two parts exclude each other. */
GT_API gt_epilogue gt_epilogue_named(const char* text);

/* A line for each part, in the order of application: its name, what it does, and its operand. A
 * static string. */
GT_API const char* gt_epilogue_list(void);

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

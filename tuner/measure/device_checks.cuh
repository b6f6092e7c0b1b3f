// SPDX-License-Identifier: Apache-2.0
// Kernels that make operands, compute the reference and judge a candidate's D. JIT-compiled by the
// measuring worker; independent of cuBLAS and of every family's product.
//
// Values are a function of (seed, position), so that C's initial values need no second buffer. The
// type of an element is looked at where it is loaded or stored; all else is computed in fp32 and
// fp64.
#include "core/types/error_bound.cuh"
#include "tuner/measure/element_bits.cuh"
#include "tuner/measure/epilogue_check.cuh"

namespace gemm_tune {

// Mirrored in verify.h: equally far apart matrices inside an allocation, each of rows stored one
// after another. In elements.
struct Matrices {
  long long rows, cols, ld;
  long long stride, count;
  long long guard;  // cells before the first matrix and after the last
  int type;         // of an element
};

namespace {

// Quiet NaNs, which no conversion gives; also what guards and row gaps hold. That of 16 bits is one
// of f16 and of bf16.
constexpr unsigned kPoisonBits = 0x7fc0dead, kPoisonBits16 = 0x7fed, kPoisonBits8 = 0xff;

__device__ unsigned poison_of(int type) {
  return type == kTypeF32 ? kPoisonBits : type == kTypeE4m3 ? kPoisonBits8 : kPoisonBits16;
}

__device__ float element(const void* cells, long long i, int type) {
  return value_of(load_bits(cells, i, type), type);
}

// SplitMix64 (Steele, Lea, Flood 2014): a well-mixed 64-bit value for every input.
__device__ unsigned long long mix(unsigned long long x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// integer_range > 0: a whole number of at most that magnitude; 0: uniform in [-1, 1), rounded to
// the type.
__device__ unsigned bits_at(unsigned long long seed, long long index, int integer_range, int type) {
  const unsigned long long bits = mix(seed ^ mix(static_cast<unsigned long long>(index)));
  if (integer_range > 0) {
    return bits_of(static_cast<float>(static_cast<int>((bits >> 32) % (2 * integer_range + 1)) -
                                      integer_range),
                   type);
  }
  return bits_of(static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f, type);
}

__device__ long long first_index() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ long long index_step() { return static_cast<long long>(gridDim.x) * blockDim.x; }

__device__ long long allocation_size(const Matrices& m) {
  return 2 * m.guard + (m.count - 1) * m.stride + m.rows * m.ld;
}

// The position of an allocation's cell among all elements, packed; -1 for a cell of a guard or gap.
__device__ long long element_at(const Matrices& m, long long cell) {
  cell -= m.guard;
  if (cell < 0) return -1;
  long long entry = cell / m.stride;
  if (entry >= m.count) entry = m.count - 1;
  const long long row = (cell - entry * m.stride) / m.ld, col = (cell - entry * m.stride) % m.ld;
  return row < m.rows && col < m.cols ? (entry * m.rows + row) * m.cols + col : -1;
}

// Of the element of this packed position, in this cell.
__device__ CheckedPlace place_of(const Matrices& m, long long index, long long cell) {
  return {index / m.cols % m.rows, index % m.cols, cell};
}

}  // namespace

// Cells outside the matrices hold poison; those inside too if `poisoned`.
extern "C" __global__ void fill_matrices(void* allocation, Matrices matrices,
                                         unsigned long long seed, int integer_range, int poisoned) {
  const long long total = allocation_size(matrices);
  for (long long i = first_index(); i < total; i += index_step()) {
    const long long index = element_at(matrices, i);
    store_bits(allocation, i, matrices.type,
               index >= 0 && !poisoned ? bits_at(seed, index, integer_range, matrices.type)
                                       : poison_of(matrices.type));
  }
}

// sum = A B and magnitude = |A| |B| in fp64, packed [batch, M, N]. transposed: the operand is
// stored so. 32 x 32 threads; the grid's x counts tiles of C, its y takes the batch in turns.
extern "C" __global__ void reference_gemm(const void* A, Matrices a, int transposed_a,
                                          const void* B, Matrices b, int transposed_b, int M, int N,
                                          int K, double* sum, double* magnitude) {
  __shared__ double a_tile[32][33], b_tile[32][33];
  const long long tiles_n = (N + 31LL) / 32;
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  const long long row0 = blockIdx.x / tiles_n * 32, col0 = blockIdx.x % tiles_n * 32;
  // The cell of a tile that this thread loads: neighbours along a stored row.
  const int a_row = transposed_a ? x : y, a_k = transposed_a ? y : x;
  const int b_col = transposed_b ? y : x, b_k = transposed_b ? x : y;
  for (long long entry = blockIdx.y; entry < a.count; entry += gridDim.y) {
    const long long a_first = entry * a.stride, b_first = entry * b.stride;
    double total = 0, absolute = 0;
    for (long long k0 = 0; k0 < K; k0 += 32) {
      const long long ak = k0 + a_k, am = row0 + a_row, bk = k0 + b_k, bn = col0 + b_col;
      a_tile[a_row][a_k] =
          am < M && ak < K
              ? element(A, a_first + (transposed_a ? ak * a.ld + am : am * a.ld + ak), a.type)
              : 0.0f;
      b_tile[b_k][b_col] =
          bk < K && bn < N
              ? element(B, b_first + (transposed_b ? bn * b.ld + bk : bk * b.ld + bn), b.type)
              : 0.0f;
      __syncthreads();
      for (int k = 0; k < 32; ++k) {
        total = fma(a_tile[y][k], b_tile[k][x], total);
        absolute = fma(fabs(a_tile[y][k]), fabs(b_tile[k][x]), absolute);
      }
      __syncthreads();
    }
    const long long row = row0 + y, col = col0 + x;
    if (row < M && col < N) {
      sum[(entry * M + row) * N + col] = total;
      magnitude[(entry * M + row) * N + col] = absolute;
    }
  }
}

struct CheckResult {
  unsigned long long wrong;                 // elements outside the bound, NaN included
  unsigned long long touched;               // guard and gap cells that changed
  unsigned long long first_wrong_inverted;  // ~(packed position) of the first; begins as zero
};

// Judges D against what the epilogue makes of alpha * sum + beta * C, where C is what fill_matrices
// wrote with c_seed, and what the epilogue writes beside it. Whole numbers that the epilogue keeps
// must be those of the reference rounded once to D's type; otherwise the error must lie within the
// bound, that of sums of whole numbers within 0.
extern "C" __global__ void check_matrices(const void* allocation, Matrices matrices,
                                          const double* sum, const double* magnitude, double alpha,
                                          double beta, unsigned long long c_seed, int integer_range,
                                          int keeps_whole_numbers, ErrorBound bound,
                                          CheckedOperands operands, CheckResult* result) {
  const Judge judge{matrices.type, bound, integer_range > 0 && keeps_whole_numbers != 0};
  const long long total = allocation_size(matrices);
  for (long long i = first_index(); i < total; i += index_step()) {
    const long long index = element_at(matrices, i);
    const unsigned bits = load_bits(allocation, i, matrices.type);
    if (index < 0) {
      const unsigned poison = poison_of(matrices.type);
      const bool is_left = bits == poison;
      if (!is_left || !CheckedEpilogue::leaves(i, poison, operands, matrices.type)) {
        atomicAdd(&result->touched, 1ull);
      }
      continue;
    }
    const float got = value_of(bits, matrices.type);
    double old = 0;
    if (beta != 0) {
      const unsigned c = bits_at(c_seed, index, integer_range, matrices.type);
      old = beta * static_cast<double>(value_of(c, matrices.type));
    }
    const double largest = bound.of_sums(fabs(alpha) * magnitude[index] + fabs(old), fabs(alpha));
    CheckedValue want{alpha * sum[index] + old, integer_range > 0 ? 0 : largest, true};
    CheckedEpilogue::apply(want, place_of(matrices, index, i), operands, judge);
    if (!want.good || !judge.takes(got, want.value, want.error)) {
      atomicAdd(&result->wrong, 1ull);
      atomicMax(&result->first_wrong_inverted, ~static_cast<unsigned long long>(index));
    }
  }
}

// Adds up, for each thread of the grid, the squares of D - R and of R over its elements, where R is
// what the epilogue makes of sum: the squares of differences first in `squares`. The host adds them
// in one order, so that equal results have equal errors.
extern "C" __global__ void sum_squares(const void* allocation, Matrices matrices, const double* sum,
                                       CheckedOperands operands, double* squares) {
  const Judge judge{matrices.type, {}, false};
  const long long total = allocation_size(matrices);
  double off = 0, all = 0;
  for (long long i = first_index(); i < total; i += index_step()) {
    const long long index = element_at(matrices, i);
    if (index < 0) continue;
    CheckedValue want{sum[index], 0, true};
    CheckedEpilogue::apply(want, place_of(matrices, index, i), operands, judge);
    const double error = static_cast<double>(element(allocation, i, matrices.type)) - want.value;
    off = fma(error, error, off);
    all = fma(want.value, want.value, all);
  }
  squares[first_index()] = off;
  squares[index_step() + first_index()] = all;
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// Kernels that make operands, compute the reference and judge a candidate's C. JIT-compiled by the
// measuring worker; independent of cuBLAS and of every family.
//
// Values are a function of (seed, position), so that C's initial values need no second buffer.

// Mirrored in verify.h: equally far apart matrices inside an allocation, each of rows stored one
// after another. In elements.
struct Matrices {
  long long rows, cols, ld;
  long long stride, count;
  long long guard;  // cells before the first matrix and after the last
};

namespace {

constexpr unsigned kPoisonBits = 0x7fc0dead;  // a quiet NaN; also what guards and row gaps hold

// SplitMix64 (Steele, Lea, Flood 2014): a well-mixed 64-bit value for every input.
__device__ unsigned long long mix(unsigned long long x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// integer_range > 0: a whole number of at most that magnitude; 0: uniform in [-1, 1).
__device__ float value_at(unsigned long long seed, long long index, int integer_range) {
  const unsigned long long bits = mix(seed ^ mix(static_cast<unsigned long long>(index)));
  if (integer_range > 0) {
    return static_cast<float>(static_cast<int>((bits >> 32) % (2 * integer_range + 1)) -
                              integer_range);
  }
  return static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
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

}  // namespace

// Cells outside the matrices hold poison; those inside too if `poisoned`.
extern "C" __global__ void fill_matrices(float* allocation, Matrices matrices,
                                         unsigned long long seed, int integer_range, int poisoned) {
  const long long total = allocation_size(matrices);
  for (long long i = first_index(); i < total; i += index_step()) {
    const long long index = element_at(matrices, i);
    allocation[i] = index >= 0 && !poisoned ? value_at(seed, index, integer_range)
                                            : __uint_as_float(kPoisonBits);
  }
}

// sum = A B and magnitude = |A| |B| in fp64, packed [batch, M, N]. transposed: the operand is
// stored so. 32 x 32 threads; the grid's x counts tiles of C, its y takes the batch in turns.
extern "C" __global__ void reference_gemm(const float* A, Matrices a, int transposed_a,
                                          const float* B, Matrices b, int transposed_b, int M,
                                          int N, int K, double* sum, double* magnitude) {
  __shared__ double a_tile[32][33], b_tile[32][33];
  const long long tiles_n = (N + 31LL) / 32;
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  const long long row0 = blockIdx.x / tiles_n * 32, col0 = blockIdx.x % tiles_n * 32;
  // The cell of a tile that this thread loads: neighbours along a stored row.
  const int a_row = transposed_a ? x : y, a_k = transposed_a ? y : x;
  const int b_col = transposed_b ? y : x, b_k = transposed_b ? x : y;
  for (long long entry = blockIdx.y; entry < a.count; entry += gridDim.y) {
    const float *A_entry = A + entry * a.stride, *B_entry = B + entry * b.stride;
    double total = 0, absolute = 0;
    for (long long k0 = 0; k0 < K; k0 += 32) {
      const long long ak = k0 + a_k, am = row0 + a_row, bk = k0 + b_k, bn = col0 + b_col;
      a_tile[a_row][a_k] =
          am < M && ak < K ? A_entry[transposed_a ? ak * a.ld + am : am * a.ld + ak] : 0.0f;
      b_tile[b_k][b_col] =
          bk < K && bn < N ? B_entry[transposed_b ? bn * b.ld + bk : bk * b.ld + bn] : 0.0f;
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

// Judges C against alpha * sum + beta * C0, where C0 is what fill_matrices wrote with c_seed.
// Without a tolerance (0) the result must be bitwise the fp32 value of the reference; otherwise
// |c - want| <= tolerance * (|alpha| magnitude + |beta C0|).
extern "C" __global__ void check_matrices(const float* allocation, Matrices matrices,
                                          const double* sum, const double* magnitude, double alpha,
                                          double beta, unsigned long long c_seed, int integer_range,
                                          double tolerance, CheckResult* result) {
  const long long total = allocation_size(matrices);
  for (long long i = first_index(); i < total; i += index_step()) {
    const long long index = element_at(matrices, i);
    const float got = allocation[i];
    if (index < 0) {
      if (__float_as_uint(got) != kPoisonBits) atomicAdd(&result->touched, 1ull);
      continue;
    }
    const double old =
        beta == 0 ? 0.0 : beta * static_cast<double>(value_at(c_seed, index, integer_range));
    const double want = alpha * sum[index] + old;
    const double error = fabs(static_cast<double>(got) - want);
    const double bound = tolerance * (fabs(alpha) * magnitude[index] + fabs(old));
    const bool good = tolerance == 0 ? got == static_cast<float>(want) : error <= bound;
    if (!good) {
      atomicAdd(&result->wrong, 1ull);
      atomicMax(&result->first_wrong_inverted, ~static_cast<unsigned long long>(index));
    }
  }
}

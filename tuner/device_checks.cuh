// Kernels that make operands, compute the reference and judge a candidate's C. JIT-compiled by the
// measuring worker; independent of cuBLAS and of every family.
//
// Values are a function of (seed, position), so that C's initial values need no second buffer.

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

}  // namespace

// A rows x cols matrix with leading dimension ld inside an allocation of guard + rows * ld + guard
// floats. Cells outside the matrix hold poison; those inside too if `poisoned`.
extern "C" __global__ void fill_matrix(float* allocation, long long guard, long long rows,
                                       long long cols, long long ld, unsigned long long seed,
                                       int integer_range, int poisoned) {
  const long long total = 2 * guard + rows * ld;
  for (long long i = first_index(); i < total; i += index_step()) {
    const long long cell = i - guard;
    const bool inside = cell >= 0 && cell < rows * ld && cell % ld < cols;
    allocation[i] = inside && !poisoned
                        ? value_at(seed, cell / ld * cols + cell % ld, integer_range)
                        : __uint_as_float(kPoisonBits);
  }
}

// sum = A B and magnitude = |A| |B| in fp64, packed [M, N]. 32 x 32 threads, grid over tiles of C.
extern "C" __global__ void reference_gemm(const float* A, long long lda, const float* B,
                                          long long ldb, int M, int N, int K, double* sum,
                                          double* magnitude) {
  __shared__ double a_tile[32][33], b_tile[32][33];
  const long long tiles_n = (N + 31LL) / 32;
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  const long long row = blockIdx.x / tiles_n * 32 + y, col = blockIdx.x % tiles_n * 32 + x;
  double total = 0, absolute = 0;
  for (long long k0 = 0; k0 < K; k0 += 32) {
    a_tile[y][x] = row < M && k0 + x < K ? A[row * lda + k0 + x] : 0.0;
    b_tile[y][x] = k0 + y < K && col < N ? B[(k0 + y) * ldb + col] : 0.0;
    __syncthreads();
    for (int k = 0; k < 32; ++k) {
      total = fma(a_tile[y][k], b_tile[k][x], total);
      absolute = fma(fabs(a_tile[y][k]), fabs(b_tile[k][x]), absolute);
    }
    __syncthreads();
  }
  if (row < M && col < N) {
    sum[row * N + col] = total;
    magnitude[row * N + col] = absolute;
  }
}

struct CheckResult {
  unsigned long long wrong;                 // elements outside the bound, NaN included
  unsigned long long touched;               // guard and gap cells that changed
  unsigned long long first_wrong_inverted;  // ~(row * N + col) of the first; begins as zero
};

// Judges C against alpha * sum + beta * C0, where C0 is what fill_matrix wrote with c_seed. Without
// gamma (0) the result must be bitwise the fp32 value of the reference; otherwise
// |c - want| <= gamma * (|alpha| magnitude + |beta C0|).
extern "C" __global__ void check_matrix(const float* allocation, long long guard, long long rows,
                                        long long cols, long long ld, const double* sum,
                                        const double* magnitude, double alpha, double beta,
                                        unsigned long long c_seed, int integer_range, double gamma,
                                        CheckResult* result) {
  const long long total = 2 * guard + rows * ld;
  for (long long i = first_index(); i < total; i += index_step()) {
    const long long cell = i - guard;
    const bool inside = cell >= 0 && cell < rows * ld && cell % ld < cols;
    const float got = allocation[i];
    if (!inside) {
      if (__float_as_uint(got) != kPoisonBits) atomicAdd(&result->touched, 1ull);
      continue;
    }
    const long long index = cell / ld * cols + cell % ld;
    const double old =
        beta == 0 ? 0.0 : beta * static_cast<double>(value_at(c_seed, index, integer_range));
    const double want = alpha * sum[index] + old;
    const double error = fabs(static_cast<double>(got) - want);
    const double bound = gamma * (fabs(alpha) * magnitude[index] + fabs(old));
    const bool good = gamma == 0 ? got == static_cast<float>(want) : error <= bound;
    if (!good) {
      atomicAdd(&result->wrong, 1ull);
      atomicMax(&result->first_wrong_inverted, ~static_cast<unsigned long long>(index));
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// Kernels for checking calls of gt_sgemm: they write operands and check every cell of C.
//
// A matrix is a buffer of floats with rows * cols elements for each entry of a batch, any distances
// apart; all other cells of the buffer are guards. Compiled by NVRTC; grids of any size.

struct Matrix {
  float* data;  // of the buffer's first element, behind `offset` guards
  long long rows, cols, row_step, col_step, stride, batch;
};

constexpr unsigned kGuard = 0x7fc0ffee;  // a NaN: what reads it shows it

__device__ inline long long first() { return blockIdx.x * (long long)blockDim.x + threadIdx.x; }
__device__ inline long long step() { return gridDim.x * (long long)blockDim.x; }

__device__ inline float* element(const Matrix& m, long long i) {
  const long long col = i % m.cols, row = i / m.cols % m.rows, entry = i / m.cols / m.rows;
  return m.data + entry * m.stride + row * m.row_step + col * m.col_step;
}

// splitmix64: https://prng.di.unimi.it/splitmix64.c
__device__ inline unsigned long long mixed(unsigned long long x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

extern "C" __global__ void fill_guards(unsigned* cells, long long count) {
  for (long long i = first(); i < count; i += step()) cells[i] = kGuard;
}

enum Fill { kWhole, kUniform, kNaN };  // whole: -8 to 7, so that sums are exact; in [-1, 1)

extern "C" __global__ void set_elements(Matrix m, unsigned long long seed, int fill) {
  for (long long i = first(); i < m.rows * m.cols * m.batch; i += step()) {
    const unsigned long long random = mixed(seed ^ mixed(i));
    float value = __uint_as_float(0x7fc00000);
    if (fill == kWhole) value = (float)((int)(random >> 60) - 8);
    if (fill == kUniform) value = (float)(random >> 40) * 0x1p-23f - 1;
    *element(m, i) = value;
  }
}

// Compares C with alpha * A * B + beta * before in fp64 and turns its elements into guards. An
// element may be off by what any order of fp32 sums may be (Higham, Accuracy and Stability, 3.1),
// or by nothing where `exact`. A and B: as op() leaves them.
extern "C" __global__ void check_elements(Matrix A, Matrix B, Matrix C, Matrix before, float alpha,
                                          float beta, int exact, unsigned long long* wrong) {
  const long long K = alpha == 0 ? 0 : A.cols;
  for (long long i = first(); i < C.rows * C.cols * C.batch; i += step()) {
    const long long col = i % C.cols, row = i / C.cols % C.rows, entry = i / C.cols / C.rows;
    const float* a = A.data + entry * A.stride + row * A.row_step;
    const float* b = B.data + entry * B.stride + col * B.col_step;
    double sum = 0, size = 0;
    for (long long k = 0; k < K; ++k) {
      const double product = (double)a[k * A.col_step] * (double)b[k * B.row_step];
      sum += product;
      size += fabs(product);
    }
    double want = alpha * sum;
    size *= fabs((double)alpha);
    if (beta != 0) {
      want += (double)beta * (double)*element(before, i);
      size += fabs((double)beta * (double)*element(before, i));
    }
    const double allowed = exact ? 0 : (double)(K + 8) * 0x1p-24 * size;
    float* const cell = element(C, i);
    if (!(fabs((double)*cell - want) <= allowed)) atomicAdd(wrong, 1ULL);
    *cell = __uint_as_float(kGuard);
  }
}

// Cells that are not the guard, or not the same bits as others'.
extern "C" __global__ void count_touched(const unsigned* cells, long long count,
                                         unsigned long long* touched) {
  for (long long i = first(); i < count; i += step()) {
    if (cells[i] != kGuard) atomicAdd(touched, 1ULL);
  }
}

extern "C" __global__ void count_different(const unsigned* cells, const unsigned* others,
                                           long long count, unsigned long long* different) {
  for (long long i = first(); i < count; i += step()) {
    if (cells[i] != others[i]) atomicAdd(different, 1ULL);
  }
}

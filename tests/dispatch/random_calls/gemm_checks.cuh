// SPDX-License-Identifier: Apache-2.0
// Kernels for checking calls of the library: they write operands and check every cell of the
// result against fp64.
//
// A matrix lies in a buffer of cells of its type, with rows * cols elements for each entry of a
// batch, any distances apart; all other cells of the buffer are guards. Compiled by NVRTC; grids of
// any size, blocks of whole warps.
#include "core/types/error_bound.cuh"
#include "tuner/measure/element_bits.cuh"

namespace gemm_tune {

struct Matrix {
  void* data;  // of the first element
  long long rows, cols, row_step, col_step, stride, batch;
  int type;  // of kernel_templates/device/element/element_type.cuh
};

namespace {

// NaNs that no rounding gives: reading one shows in the result. That of 16 bits is one of f16 and
// of bf16.
constexpr unsigned kGuard32 = 0x7fc0ffee, kGuard16 = 0x7fed;

__device__ unsigned guard_of(int type) { return type == kTypeF32 ? kGuard32 : kGuard16; }

__device__ long long first() {
  return blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
}
__device__ long long step() { return gridDim.x * static_cast<long long>(blockDim.x); }

// Where element i of all entries, counted row after row, lies.
__device__ long long place(const Matrix& m, long long i) {
  const long long col = i % m.cols, row = i / m.cols % m.rows, entry = i / m.cols / m.rows;
  return entry * m.stride + row * m.row_step + col * m.col_step;
}

__device__ double element(const Matrix& m, long long at) {
  return value_of(load_bits(m.data, at, m.type), m.type);
}

// splitmix64: https://prng.di.unimi.it/splitmix64.c
__device__ unsigned long long mixed(unsigned long long x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

__device__ double sum_over_warp(double value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(~0u, value, lanes);
  return value;
}

}  // namespace

extern "C" __global__ void fill_guards(void* cells, long long count, int type) {
  for (long long i = first(); i < count; i += step()) store_bits(cells, i, type, guard_of(type));
}

enum Fill { kWhole, kUniform, kNaN };  // whole: -8 to 7, so that sums are exact; in [-1, 1)

extern "C" __global__ void set_elements(Matrix m, unsigned long long seed, int fill) {
  for (long long i = first(); i < m.rows * m.cols * m.batch; i += step()) {
    const unsigned long long random = mixed(seed ^ mixed(i));
    float value = __uint_as_float(0x7fc00000);
    if (fill == kWhole) value = static_cast<float>(static_cast<int>(random >> 60) - 8);
    if (fill == kUniform) value = static_cast<float>(random >> 40) * 0x1p-23f - 1;
    store_bits(m.data, place(m, i), m.type,
               fill == kNaN ? guard_of(m.type) : bits_of(value, m.type));
  }
}

// Compares D with the product in fp64 and turns its elements into guards. An element must lie
// within the bound; where `exact`, it must be the product rounded once to D's type. A and B: as
// op() leaves them. C: not read where beta is 0. bias: of D's size, with steps of 0. A warp for
// each element.
extern "C" __global__ void check_elements(Matrix A, Matrix B, Matrix C, Matrix bias, Matrix D,
                                          float alpha, float beta, int has_bias, int has_relu,
                                          int exact, ErrorBound bound, unsigned long long* wrong) {
  const long long K = alpha == 0 ? 0 : A.cols;
  const int lane = threadIdx.x % 32;
  for (long long i = first() / 32; i < D.rows * D.cols * D.batch; i += step() / 32) {
    const long long col = i % D.cols, row = i / D.cols % D.rows, entry = i / D.cols / D.rows;
    const long long a = entry * A.stride + row * A.row_step;
    const long long b = entry * B.stride + col * B.col_step;
    double sum = 0, size = 0;
    for (long long k = lane; k < K; k += 32) {
      const double product = element(A, a + k * A.col_step) * element(B, b + k * B.row_step);
      sum += product;
      size += fabs(product);
    }
    sum = sum_over_warp(sum);
    size = sum_over_warp(size);
    if (lane != 0) continue;
    double want = alpha == 0 ? 0 : alpha * sum;
    size *= fabs(static_cast<double>(alpha));
    const auto add = [&](double term) {
      want += term;
      size += fabs(term);
    };
    if (beta != 0) add(static_cast<double>(beta) * element(C, place(C, i)));
    if (has_bias != 0) add(element(bias, place(bias, i)));
    const double largest = bound.at(fabs(want), size);
    if (has_relu != 0 && want < 0) want = 0;
    const long long at = place(D, i);
    const double got = element(D, at);
    const double rounded = value_of(bits_of(static_cast<float>(want), D.type), D.type);
    const bool good = exact ? got == rounded : fabs(got - want) <= largest || got == rounded;
    if (!good) atomicAdd(wrong, 1ULL);
    store_bits(D.data, at, D.type, guard_of(D.type));
  }
}

// Cells that are not the guard, or not the same bits as others'.
extern "C" __global__ void count_touched(const void* cells, long long count, int type,
                                         unsigned long long* touched) {
  for (long long i = first(); i < count; i += step()) {
    if (load_bits(cells, i, type) != guard_of(type)) atomicAdd(touched, 1ULL);
  }
}

extern "C" __global__ void count_different(const void* cells, const void* others, long long count,
                                           int type, unsigned long long* different) {
  for (long long i = first(); i < count; i += step()) {
    if (load_bits(cells, i, type) != load_bits(others, i, type)) atomicAdd(different, 1ULL);
  }
}

}  // namespace gemm_tune

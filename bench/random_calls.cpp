// SPDX-License-Identifier: Apache-2.0
// Checks random calls of gt_sgemm and gt_sgemm_strided_batched against fp64 on the GPU.
//
// usage: random_calls DATABASE CALLS [SEED [KERNEL_CACHE]]
//
// The calls vary: order, transposes, sizes from 0, leading dimensions, addresses and strides of
// each alignment, batches with and without gaps, alpha and beta with their special values, NaN in a
// C that beta 0 must not read, NULL operands that alpha 0 must not read, eager calls and calls
// captured into a graph. NaN guards lie around and between all matrices: a guard of A or B that is
// read shows in the result, and overwritten guards of C are counted. Half of the calls have whole
// numbers, whose results must be exact; the others must stay within the error of fp32 sums of that
// length. SEED (default: 1) and the number of a call determine the call. Needs a GPU. Exits with 1
// if a call is wrong.
#include <gemm_tune/gemm_tune.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "bench/sgemm_checks.h"
#include "core/error.h"
#include "gpu/stream.h"

namespace gemm_tune {
namespace {

constexpr double kMostMultiplications = 64e6;
constexpr std::int64_t kMargin = 64;  // guards before and behind a buffer's matrices

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t call) : engine_(seed * 1000003 + call) {}

  std::int64_t from(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool once_in(int n) { return from(1, n) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[from(0, static_cast<std::int64_t>(values.size()) - 1)];
  }
  // Mostly small, with whole tiles among them.
  std::int64_t edge(double most) {
    const double size = std::exp2(std::uniform_real_distribution<>(0, std::log2(most))(engine_));
    const auto edge = static_cast<std::int64_t>(size);
    return once_in(3) ? std::max<std::int64_t>(edge / 64 * 64, 64) : edge;
  }
  float scalar() { return std::uniform_real_distribution<float>(-2.0F, 2.0F)(engine_); }
  std::uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// A matrix of rows x cols as op() leaves it, stored by rows or by columns, in a buffer with guards.
struct Operand {
  std::int64_t ld = 0, stride = 0;
  DeviceBuffer<float> buffer;
  Matrix matrix;
};

// alignment: the class of leading dimension, address and stride, at least. is_c: entries must not
// overlap.
Operand make_operand(Random& random, std::int64_t rows, std::int64_t cols, bool by_rows,
                     std::int64_t batch, int alignment, bool is_c) {
  const auto aligned = [&](std::int64_t x) { return (x + alignment - 1) / alignment * alignment; };
  const std::int64_t lines = by_rows ? rows : cols, length = by_rows ? cols : rows;
  Operand x;
  x.ld = aligned(std::max<std::int64_t>(length, 1) + (random.once_in(2) ? random.from(0, 9) : 0));
  x.stride = aligned(lines * x.ld + (random.once_in(2) ? random.from(0, 40) : 0));
  if (batch > 1 && random.once_in(4)) {  // side by side in the same rows
    x.stride = aligned(std::max<std::int64_t>(length, 1));
    x.ld = aligned(batch * x.stride + random.from(0, 9));
  } else if (batch > 1 && !is_c && random.once_in(4)) {
    x.stride = 0;  // one for all
  }
  const std::int64_t offset = aligned(kMargin + random.from(0, 3));
  const std::int64_t used =
      lines * length == 0 ? 0 : (batch - 1) * x.stride + (lines - 1) * x.ld + length;
  x.buffer = DeviceBuffer<float>(static_cast<std::size_t>(offset + used + kMargin));
  x.matrix = {x.buffer.data() + offset,
              rows,
              cols,
              by_rows ? x.ld : 1,
              by_rows ? 1 : x.ld,
              batch > 1 ? x.stride : 0,
              x.stride == 0 ? 1 : batch};
  return x;
}

struct Call {
  gt_order order = GT_ROW_MAJOR;
  gt_transpose trans_a = GT_NO_TRANSPOSE, trans_b = GT_NO_TRANSPOSE;
  std::int64_t M = 0, N = 0, K = 0, batch = 1;
  int alignment = 4;
  float alpha = 1, beta = 0;
  bool whole_numbers = false, captured = false, default_stream = false, no_operands = false;
};

Call random_call(Random& random) {
  Call call;
  call.order = random.one_of({GT_ROW_MAJOR, GT_COLUMN_MAJOR});
  call.trans_a = random.one_of({GT_NO_TRANSPOSE, GT_TRANSPOSE});
  call.trans_b = random.one_of({GT_NO_TRANSPOSE, GT_TRANSPOSE});
  call.batch = random.once_in(3) ? random.from(2, 9) : 1;
  if (random.once_in(60)) call.batch = 0;
  call.alignment = random.one_of({1, 2, 4});
  do {
    call.M = random.once_in(60) ? 0 : random.edge(2000);
    call.N = random.once_in(60) ? 0 : random.edge(2000);
    call.K = random.once_in(40) ? 0 : random.edge(16000);
  } while (static_cast<double>(call.M * call.N) *
               static_cast<double>(std::max<std::int64_t>(call.K, 1) *
                                   std::max<std::int64_t>(call.batch, 1)) >
           kMostMultiplications);
  call.whole_numbers = random.once_in(2);
  // Random scalars round, and so do their products with whole numbers.
  const float any = call.whole_numbers ? 3.0F : random.scalar();
  call.alpha = random.one_of({1.0F, 1.0F, 0.0F, -0.0F, -1.0F, 2.0F, any});
  call.beta = random.one_of({0.0F, 0.0F, -0.0F, 1.0F, -1.0F, 0.5F, any});
  call.no_operands = (call.alpha == 0 || call.K == 0) && random.once_in(2);
  call.captured = random.once_in(8);
  call.default_stream = !call.captured && random.once_in(4);
  return call;
}

std::string text_of(const Call& c) {
  char text[256];
  std::snprintf(
      text, sizeof text, "%s %c%c %lldx%lldx%lld batch %lld align %d alpha %g beta %g%s%s%s%s",
      c.order == GT_ROW_MAJOR ? "row-major" : "column-major", c.trans_a == GT_TRANSPOSE ? 't' : 'n',
      c.trans_b == GT_TRANSPOSE ? 't' : 'n', static_cast<long long>(c.M),
      static_cast<long long>(c.N), static_cast<long long>(c.K), static_cast<long long>(c.batch),
      c.alignment, static_cast<double>(c.alpha), static_cast<double>(c.beta),
      c.whole_numbers ? ", whole numbers" : "", c.captured ? ", captured" : "",
      c.default_stream ? ", default stream" : "", c.no_operands ? ", NULL" : "");
  return text;
}

struct Totals {
  unsigned long long calls = 0, failed = 0, wrong = 0, touched = 0, captured = 0;
};

// Launches what enqueue() puts into the stream, as a graph if asked. The status is the call's.
template <class Enqueue>
gt_status launch(bool captured, cudaStream_t stream, const Enqueue& enqueue) {
  if (!captured) return enqueue();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  GT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  const gt_status status = enqueue();
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (status != GT_OK) {
    cudaGetLastError();  // the call's failure says more than that of the capture
    cudaGraphDestroy(graph);
    return status;
  }
  check_cuda(ended, "cudaStreamEndCapture");
  GT_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  GT_CUDA(cudaGraphLaunch(executable, stream));
  GT_CUDA(cudaStreamSynchronize(stream));
  GT_CUDA(cudaGraphExecDestroy(executable));
  GT_CUDA(cudaGraphDestroy(graph));
  return status;
}

// Whether all is as it should be; adds to the totals.
bool make_call(gt_handle* handle, const SgemmChecks& checks, const Stream& own, const Call& call,
               Random& random, Totals& totals) {
  const Counter wrong = new_counter(), touched = new_counter();
  const cudaStream_t stream = call.default_stream ? nullptr : own.get();
  const bool rows = call.order == GT_ROW_MAJOR;
  const auto operand = [&](std::int64_t height, std::int64_t width, gt_transpose trans, bool is_c) {
    return make_operand(random, height, width, rows == (trans == GT_NO_TRANSPOSE),
                        std::max<std::int64_t>(call.batch, 1), call.alignment, is_c);
  };
  const Operand A = operand(call.M, call.K, call.trans_a, false);
  const Operand B = operand(call.K, call.N, call.trans_b, false);
  const Operand C = operand(call.M, call.N, GT_NO_TRANSPOSE, true);
  const DeviceBuffer<float> a_before(A.buffer.size()), b_before(B.buffer.size()),
      c_before(C.buffer.size());
  const Fill fill = call.whole_numbers ? Fill::whole : Fill::uniform;
  const auto prepare = [&](const Operand& x, const DeviceBuffer<float>& before, Fill kind) {
    checks.fill_guards(x.buffer, stream);
    checks.set_elements(x.matrix, random.bits(), kind, stream);
    GT_CUDA(cudaMemcpyAsync(before.data(), x.buffer.data(), x.buffer.size_bytes(),
                            cudaMemcpyDeviceToDevice, stream));
  };
  prepare(A, a_before, fill);
  prepare(B, b_before, fill);
  prepare(C, c_before, call.beta == 0 ? Fill::nan : fill);
  const gt_status status = launch(call.captured, stream, [&] {
    return gt_sgemm_strided_batched(handle, stream, call.order, call.trans_a, call.trans_b, call.M,
                                    call.N, call.K, call.alpha,
                                    call.no_operands ? nullptr : A.matrix.data, A.ld, A.stride,
                                    call.no_operands ? nullptr : B.matrix.data, B.ld, B.stride,
                                    call.beta, C.matrix.data, C.ld, C.stride, call.batch);
  });
  Matrix before = C.matrix;
  before.data = c_before.data() + (C.matrix.data - C.buffer.data());
  if (call.batch > 0) {
    checks.check_elements(A.matrix, B.matrix, C.matrix, before, call.alpha, call.beta,
                          call.whole_numbers, wrong, stream);
    checks.count_touched(C.buffer, touched, stream);
  } else {
    checks.count_different(C.buffer, c_before, touched, stream);
  }
  checks.count_different(A.buffer, a_before, touched, stream);
  checks.count_different(B.buffer, b_before, touched, stream);
  const unsigned long long elements = value_of(wrong), guards = value_of(touched);
  ++totals.calls;
  totals.captured += call.captured ? 1 : 0;
  totals.failed += status != GT_OK ? 1 : 0;
  totals.wrong += elements > 0 ? 1 : 0;
  totals.touched += guards > 0 ? 1 : 0;
  if (status == GT_OK && elements == 0 && guards == 0) return true;
  std::printf("BAD  call %llu: %s: %s, %llu elements wrong, %llu guards touched\n",
              totals.calls - 1, text_of(call).c_str(),
              status == GT_OK ? gt_status_string(status) : gt_last_error(), elements, guards);
  std::fflush(stdout);
  return false;
}

int run(const char* database, std::uint64_t calls, std::uint64_t seed, const char* cache) {
  gt_handle* handle = nullptr;
  if (gt_open(database, cache, &handle) != GT_OK) throw Error(gt_last_error());
  const SgemmChecks checks;
  const Stream stream;
  Totals totals;
  for (std::uint64_t i = 0; i < calls; ++i) {
    Random random(seed, i);
    const Call call = random_call(random);
    make_call(handle, checks, stream, call, random, totals);
  }
  gt_close(handle);
  const bool good = totals.failed + totals.wrong + totals.touched == 0;
  std::printf(
      "%s: seed %llu, %llu random calls, %llu of them captured: %llu failed, %llu with wrong "
      "elements, %llu with touched guards\n",
      good ? "good" : "BAD", static_cast<unsigned long long>(seed), totals.calls, totals.captured,
      totals.failed, totals.wrong, totals.touched);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  const long long calls = argc > 2 ? std::atoll(argv[2]) : 0;
  if (argc < 3 || argc > 5 || calls < 1) {
    std::fprintf(stderr, "usage: random_calls DATABASE CALLS [SEED [KERNEL_CACHE]]\n");
    return 2;
  }
  try {
    return gemm_tune::run(argv[1], static_cast<std::uint64_t>(calls),
                          argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1,
                          argc > 4 ? argv[4] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "random_calls: %s\n", error.what());
    return 3;
  }
}

// SPDX-License-Identifier: Apache-2.0
// gt_gemm with every type on a GPU, against sums of small integers: exact in fp32 in any order,
// and rounded once to D's type.
#include <gemm_tune/gemm_tune.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/types/float16.h"
#include "dispatch/c_values.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/dispatch/gemm_case.h"
#include "tests/dispatch/sample_gpu_test.h"

namespace gemm_tune {
namespace {

struct Types {
  Types(gt_type of_ab, gt_type of_cd) : Types(of_ab, of_ab, of_cd) {}
  Types(gt_type of_a, gt_type of_b, gt_type of_cd) : a(of_a), b(of_b), cd(of_cd) {}

  gt_type a, b, cd;
};

std::size_t bytes_of(gt_type type) {
  return static_cast<std::size_t>(bytes_of(element_type_of("type", type)));
}
constexpr const char *kBias = "bias_column", *kBiasRelu = "bias_column+relu";

Float16Format format_of(gt_type type) { return type == GT_F16 ? kF16 : kBf16; }

std::vector<char> stored(const std::vector<float>& values, gt_type type) {
  std::vector<char> bytes(values.size() * bytes_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == GT_F32) {
      std::memcpy(bytes.data() + 4 * i, &values[i], 4);
    } else {
      const std::uint16_t bits = from_float(format_of(type), values[i]);
      std::memcpy(bytes.data() + 2 * i, &bits, 2);
    }
  }
  return bytes;
}

class GemmGpuTest : public SampleGpuTest {
 protected:
  bool has(const Types& types) const {
    return sm_ >= (types.a == GT_BF16 && types.b == GT_BF16 ? 80 : 75);
  }

  // Runs the case with NaN around and between D's elements and in them, C apart or, where it is
  // read, in D; compares every cell of D bit for bit.
  void expect_exact(const Case& x, const Types& types, float alpha, float beta,
                    const char* epilogue = "none", bool in_place = false) const {
    const Operand A(x, x.M, x.K, x.trans_a), B(x, x.K, x.N, x.trans_b),
        D(x, x.M, x.N, GT_NO_TRANSPOSE);
    const std::vector<float> a = integers(A.size(x.batch), 1), b = integers(B.size(x.batch), 2),
                             c = integers(D.size(x.batch), 3),
                             bias = integers(static_cast<std::size_t>(D.by_rows ? x.N : x.M), 4);
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    const bool has_bias = std::string_view(epilogue) != "none",
               has_relu = std::string_view(epilogue) == kBiasRelu;
    std::vector<float> before(c.size(), kNaN), want(c.size(), kNaN);
    for (std::int64_t entry = 0; entry < x.batch; ++entry) {
      for (std::int64_t m = 0; m < x.M; ++m) {
        for (std::int64_t n = 0; n < x.N; ++n) {
          float sum = 0;
          for (std::int64_t k = 0; k < x.K; ++k) sum += a[A.at(entry, m, k)] * b[B.at(entry, k, n)];
          const std::size_t at = D.at(entry, m, n);
          if (in_place && beta != 0) before[at] = c[at];
          want[at] = alpha * sum + beta * c[at];
          if (!has_bias) continue;
          want[at] += bias[static_cast<std::size_t>(D.by_rows ? n : m)];
          if (has_relu) want[at] = std::max(want[at], 0.0f);
        }
      }
    }
    const std::vector<char> poison = stored(before, types.cd);
    const std::vector<char> stored_a = stored(a, types.a), stored_b = stored(b, types.b),
                            stored_c = stored(c, types.cd), stored_bias = stored(bias, types.cd);
    DeviceBuffer<char> device_a(stored_a.size()), device_b(stored_b.size()),
        device_c(stored_c.size()), device_d(poison.size()), device_bias(stored_bias.size());
    device_a.copy_from_host(stored_a);
    device_b.copy_from_host(stored_b);
    device_c.copy_from_host(stored_c);
    device_d.copy_from_host(poison);
    device_bias.copy_from_host(stored_bias);

    gt_gemm_call call = call_of(x, alpha, beta);
    call.type_a = types.a;
    call.type_b = types.b;
    call.type_c = call.type_d = types.cd;
    call.A = device_a.data() + x.offset * bytes_of(types.a);
    call.B = device_b.data() + x.offset * bytes_of(types.b);
    call.C = beta == 0 ? nullptr : device_c.data() + x.offset * bytes_of(types.cd);
    call.D = device_d.data() + x.offset * bytes_of(types.cd);
    if (in_place) call.C = call.D;
    // Of each element of a stored line of D.
    const Epilogue of_rows = *find_epilogue(epilogue);
    call.epilogue = (D.by_rows ? of_rows : of_rows.transposed()).bits();
    call.operands[0] = has_bias ? device_bias.data() : nullptr;
    const DeviceBuffer<const void*> arrays = put_addresses(call);
    const Stream stream;
    ASSERT_EQ(gt_gemm(handle_, stream.get(), &call), GT_OK) << gt_last_error();
    stream.synchronize();
    std::vector<char> result(poison.size());
    device_d.copy_to_host(result);
    EXPECT_TRUE(result == stored(want, types.cd)) << x.M << "x" << x.N << "x" << x.K;
  }

  // Of a batch of pointers: puts arrays of addresses in place of the first ones.
  static DeviceBuffer<const void*> put_addresses(gt_gemm_call& call) {
    if (call.batch_kind == GT_STRIDED) return {};
    std::vector<const void*> all;
    const auto add = [&](const void* first, std::int64_t stride, gt_type type) {
      const auto step = static_cast<std::size_t>(stride) * bytes_of(type);
      for (std::size_t entry = 0; entry < static_cast<std::size_t>(call.batch); ++entry) {
        all.push_back(static_cast<const char*>(first) + entry * step);
      }
    };
    add(call.A, call.stride_a, call.type_a);
    add(call.B, call.stride_b, call.type_b);
    add(call.D, call.stride_c, call.type_d);
    if (call.C != nullptr) add(call.C, call.stride_c, call.type_c);
    DeviceBuffer<const void*> arrays(all.size());
    arrays.copy_from_host(all);
    const bool in_place = call.C == call.D;
    call.A = arrays.data();
    call.B = arrays.data() + call.batch;
    call.D = arrays.data() + 2 * call.batch;
    if (call.C != nullptr) call.C = in_place ? call.D : arrays.data() + 3 * call.batch;
    call.stride_a = call.stride_b = call.stride_c = 0;
    return arrays;
  }

  // A handle of a database whose only winner is this one. A look-up of the problem gives `served`.
  void open_with(const std::string& problem_text, const std::string& config,
                 const std::string& served) {
    const std::filesystem::path file = temp_.path() / "one_winner.db";
    std::filesystem::remove(file);
    const Problem problem = parse_problem(problem_text);
    {
      Database database(file, Database::Mode::create_or_open);
      database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 64", 1});
      const Outcome measured = measured_in(150);
      const std::string family = config.substr(0, config.find('/'));
      database.store(device_key(query_device(0)), problem, config, current_revisions().at(family),
                     measured, Source::measured);
    }
    ASSERT_NO_FATAL_FAILURE(open(file));
    gt_gemm_call asked = GT_GEMM_CALL_INIT;
    asked.M = problem.M;
    asked.N = problem.N;
    asked.K = problem.K;
    asked.trans_a = transposes_a(problem.layout) ? GT_TRANSPOSE : GT_NO_TRANSPOSE;
    asked.trans_b = transposes_b(problem.layout) ? GT_TRANSPOSE : GT_NO_TRANSPOSE;
    asked.type_a = c_type_of(problem.signature.a);
    asked.type_b = c_type_of(problem.signature.b);
    asked.type_c = asked.type_d = c_type_of(problem.signature.d);
    gt_recipe recipe;
    ASSERT_EQ(gt_lookup(handle_, nullptr, &asked, &recipe), GT_OK) << gt_last_error();
    ASSERT_EQ(recipe.config, served);
  }
};

const Types kEveryTypes[] = {{GT_F16, GT_F16},          {GT_F16, GT_F32},
                             {GT_BF16, GT_BF16},        {GT_BF16, GT_F32},
                             {GT_F32, GT_F32},          {GT_F32, GT_BF16, GT_F32},
                             {GT_BF16, GT_F32, GT_F32}, {GT_F32, GT_F16, GT_F32}};

TEST_F(GemmGpuTest, MultipliesEveryTypeOrderLayoutAndAlignment) {
  int ran = 0;
  for (const Types& types : kEveryTypes) {
    if (!has(types)) continue;
    ++ran;
    for (const gt_order order : {GT_ROW_MAJOR, GT_COLUMN_MAJOR}) {
      for (const gt_transpose trans_a : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
        for (const gt_transpose trans_b : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
          expect_exact({64, 128, 96, 0, 0, order, trans_a, trans_b}, types, 1, 0);
          expect_exact({72, 80, 40, 8, 8, order, trans_a, trans_b, 3, 16}, types, 0.5f, -2);
          expect_exact({65, 33, 17, 3, 1, order, trans_a, trans_b, 2, 5}, types, 2, 1);
        }
      }
    }
    expect_exact({5, 7, 0}, types, 1, 3);
  }
  EXPECT_GE(ran, 3);
}

TEST_F(GemmGpuTest, MultipliesBatchesOfPointersAlsoToUnalignedMatrices) {
  for (const Types& types : kEveryTypes) {
    if (!has(types)) continue;
    for (const gt_order order : {GT_ROW_MAJOR, GT_COLUMN_MAJOR}) {
      for (const gt_transpose trans : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
        for (const bool in_place : {false, true}) {
          const auto check = [&](Case x, float alpha, float beta, const char* epilogue = "none") {
            x.order = order;
            x.trans_a = trans;
            x.trans_b = trans;
            x.batch_kind = GT_POINTERS;
            expect_exact(x, types, alpha, beta, epilogue, in_place);
          };
          Case whole{64, 128, 96};
          whole.batch = 3;
          check(whole, 1, 0);
          Case unaligned{72, 80, 40, 8};  // all entries but the first
          unaligned.batch = 3;
          unaligned.gap = 5;
          check(unaligned, 0.5f, -2);
          Case ragged{65, 33, 17, 3, 1};
          ragged.batch = 2;
          check(ragged, 2, 1, kBiasRelu);
          check({5, 7, 0}, 1, 3);
        }
      }
    }
  }
}

TEST_F(GemmGpuTest, AddsABiasAndTakesItsReluInEveryTypeAndOrder) {
  int ran = 0;
  for (const Types& types : kEveryTypes) {
    if (!has(types)) continue;
    ++ran;
    for (const char* const epilogue : {kBias, kBiasRelu}) {
      for (const bool in_place : {false, true}) {
        for (const gt_order order : {GT_ROW_MAJOR, GT_COLUMN_MAJOR}) {
          const Case whole{64, 128, 96, 0, 0, order};
          const Case ragged{65, 33, 17, 3, 1, order, GT_NO_TRANSPOSE, GT_TRANSPOSE, 2, 5};
          expect_exact(whole, types, 1, 0, epilogue, in_place);
          expect_exact(ragged, types, -1, 2, epilogue, in_place);
          expect_exact(ragged, types, 0, 1, epilogue, in_place);
        }
      }
    }
  }
  EXPECT_GE(ran, 3);
}

TEST_F(GemmGpuTest, AddsABiasOnceToTheSumOfAllShares) {
  constexpr const char* kSharing =
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=1,ASYNC=0,"
      "FRAGMENTS=1,VEC=2,RASTER=8,CTAS=1,SPLIT_K=16,TAIL=0,TA=1,TB=1,PRED=1";
  open_with("64x64x4096:layout=tt", kSharing, kSharing);
  for (const char* const epilogue : {kBias, kBiasRelu}) {
    expect_exact({64, 64, 4096, 0, 0, GT_ROW_MAJOR, GT_TRANSPOSE, GT_TRANSPOSE}, {GT_F32, GT_F32},
                 1, 0, epilogue);
  }
}

TEST_F(GemmGpuTest, AddsUpSharesInALaunchAfter) {
  const std::string tile =
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=1,ASYNC=0,"
      "FRAGMENTS=1,VEC=4,RASTER=8,CTAS=1,SPLIT_K=";
  for (const char* shares : {"19,TAIL=0", "1,TAIL=1"}) {
    const std::string config = tile + shares + ",TA=0,TB=0,PRED=1,REDUCE=1";
    open_with("128x64x4096", config, config);
    for (const char* const epilogue : {"none", kBiasRelu}) {
      expect_exact({128, 64, 4096}, {GT_F32, GT_F32}, 1, 0, epilogue);
      expect_exact({121, 64, 4100}, {GT_F32, GT_F32}, -1, 2, epilogue);
      expect_exact({121, 64, 4100}, {GT_F32, GT_F32}, 0, 2, epilogue);
      expect_exact({61, 63, 501}, {GT_F32, GT_F32}, 2, 1,
                   epilogue);  // by the narrower specialisation
    }
  }
}

// Copies of A, of B, of both and of neither, by which of them lie at an address that is no multiple
// of 16 bytes, and by K; with partial sums before them in the workspace.
TEST_F(GemmGpuTest, CopiesUnalignedOperandsInALaunchBefore) {
  const std::string warp_tiled =
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=1,ASYNC=0,"
      "FRAGMENTS=1,VEC=4,RASTER=8,CTAS=1,SPLIT_K=4,TAIL=0,TA=";
  const std::string mma =
      "mma/AB=2,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
      "SPLIT_K=1,TA=";
  for (const gt_transpose trans_a : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
    for (const gt_transpose trans_b : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
      const Layout layout = layout_of(trans_a != 0, trans_b != 0);
      const std::string size = "64x128x501";
      const std::string of_layout = ":layout=" + std::string(to_string(layout));
      const std::string rest =
          std::to_string(trans_a) + ",TB=" + std::to_string(trans_b) + ",PRED=1";
      // In TN no row is K long: packed operands are aligned, and one launch serves.
      const std::string served = rest + (layout == Layout::tn ? "" : ",REPACK=1");
      const auto expect_all = [&](const Types& types) {
        for (const std::int64_t K : {501, 512}) {
          expect_exact({64, 128, K, 0, 0, GT_ROW_MAJOR, trans_a, trans_b}, types, 1, 0);
          expect_exact({61, 128, K, 0, 0, GT_ROW_MAJOR, trans_a, trans_b}, types, -1, 2, kBiasRelu);
          expect_exact({64, 127, K, 3, 1, GT_ROW_MAJOR, trans_a, trans_b}, types, 2, 1);
        }
      };
      open_with(size + of_layout, warp_tiled + rest + ",REPACK=1", warp_tiled + served);
      expect_all({GT_F32, GT_F32});
      if (!has({GT_BF16, GT_F32})) continue;
      open_with(size + ":type=bf16/bf16/f32/f32" + of_layout, mma + rest + ",REPACK=1",
                mma + served);
      expect_all({GT_BF16, GT_F32});
    }
  }
}

// Weights of 16 bits beside rows of f32, as a router has them: streamed, in every layout, by the
// winner and by its narrower specialisations.
TEST_F(GemmGpuTest, StreamsOperandsOf16BitsBesideOnesOfF32) {
  const std::string start = "skinny/CLUSTER=0,BS=8,TL=2,WARPS=4,LANES_K=", end = ",PRED=1,TYPE_B=";
  for (const gt_transpose trans_a : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
    for (const gt_transpose trans_b : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
      for (const gt_type type : {GT_BF16, GT_F16}) {
        const Layout layout = layout_of(trans_a != 0, trans_b != 0);
        const std::string config = start +
                                   (trans_b != 0 ? "8,UNROLL=4,VEC=4" : "1,UNROLL=8,VEC=2") +
                                   ",SPLIT_K=4,SKINNY_N=0,TA=" + std::to_string(trans_a) +
                                   ",TB=" + std::to_string(trans_b) + end + std::to_string(type);
        const std::string types = type == GT_BF16 ? "f32/bf16/f32/f32" : "f32/f16/f32/f32";
        open_with("8x256x2048:type=" + types + ":layout=" + std::string(to_string(layout)), config,
                  config);
        const Types of = {GT_F32, type, GT_F32};
        expect_exact({8, 256, 2048, 0, 0, GT_ROW_MAJOR, trans_a, trans_b}, of, 1, 0);
        expect_exact({8, 256, 2048, 0, 0, GT_ROW_MAJOR, trans_a, trans_b}, of, -1, 2, kBiasRelu);
        expect_exact({1, 255, 2047, 3, 1, GT_ROW_MAJOR, trans_a, trans_b}, of, 2, 1);
        expect_exact({61, 250, 2050, 0, 0, GT_ROW_MAJOR, trans_a, trans_b}, of, 1, 1);
      }
    }
  }
}

}  // namespace
}  // namespace gemm_tune

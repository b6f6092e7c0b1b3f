// SPDX-License-Identifier: Apache-2.0
// GT_POLICY_BATCH_INVARIANT on a GPU: the bits of a row of D do not depend on M, on the row's
// place, or on the tile that serves.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <gemm_tune/gemm_tune.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/types/float16.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/db/fixture.h"
#include "tests/gpu/gpu_test.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

constexpr std::int64_t kM = 1024, kN = 512, kK = 2048;

std::vector<std::uint16_t> random_bf16(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(from_float(kBf16, normal(random)));
  return values;
}

class BatchInvariantGpuTest : public GpuTest {
 protected:
  // Opens a database in which each config has won at one M.
  Handle opened(const std::vector<std::string>& configs) {
    const std::filesystem::path file = folder_.path() / "winners.db";
    std::filesystem::remove(file);
    Database database(file, Database::Mode::create_or_open);
    const KernelRevisions revisions = current_revisions();
    database.begin_run(kRun, revisions);
    std::int64_t m = 1;
    for (const std::string& config : configs) {
      Problem problem = packed_problem(m, kN, kK, Layout::nt, 1,
                                       signature_of(ElementType::bf16, ElementType::f32));
      database.store(device_key(query_device(0)), problem, config,
                     revisions.at(config.substr(0, config.find('/'))), measured(10),
                     Source::measured);
      m *= 8;
    }
    gt_options options = GT_OPTIONS_INIT;
    const std::string path = file.string();
    options.database_path = path.c_str();
    options.policy = GT_POLICY_BATCH_INVARIANT;
    return Handle(options);
  }

  // Rows `first` to `first + rows - 1` of A times B^T.
  std::vector<float> rows(Handle& handle, std::int64_t first, std::int64_t rows) {
    DeviceBuffer<float> d(static_cast<std::size_t>(rows * kN));
    gt_gemm_call call = make_call(rows, kN, kK);
    call.type_a = call.type_b = GT_BF16;
    call.trans_b = GT_TRANSPOSE;
    call.A = a_.data() + first * kK;
    call.B = b_.data();
    call.D = d.data();
    configs_.insert(handle.lookup(call).config);
    const Stream stream;
    handle.gemm(stream.get(), call);
    stream.synchronize();
    std::vector<float> host(static_cast<std::size_t>(rows * kN));
    d.copy_to_host(host);
    return host;
  }

  void expect_equal_rows(const std::vector<std::string>& configs) {
    a_.copy_from_host(random_bf16(kM * kK, 1));
    b_.copy_from_host(random_bf16(kN * kK, 2));
    Handle handle = opened(configs);
    const std::vector<float> all = rows(handle, 0, kM);
    for (const std::int64_t m : {1, 2, 7, 8, 33, 64, 100, 512}) {
      for (const std::int64_t first : {std::int64_t{0}, std::int64_t{5}, kM - m}) {
        const std::vector<float> some = rows(handle, first, m);
        EXPECT_EQ(std::memcmp(some.data(), all.data() + first * kN, some.size() * sizeof(float)), 0)
            << m << " rows from " << first;
      }
    }
    EXPECT_GE(configs_.size(), configs.size());
  }

  const TempFolder folder_;
  std::set<std::string> configs_;
  DeviceBuffer<std::uint16_t> a_{static_cast<std::size_t>(kM * kK)},
      b_{static_cast<std::size_t>(kN * kK)};
};

std::string mma(int bm, int bn, int stages, int split_k, bool cluster) {
  return "mma/AB=2,CD=0,BM=" + std::to_string(bm) + ",BN=" + std::to_string(bn) +
         ",BK=64,WM=16,WN=16,MMA_K=16,STAGES=" + std::to_string(stages) +
         ",ASYNC=1,VEC=8,RASTER=8,SPLIT_K=" + std::to_string(split_k) + ",TA=0,TB=1,PRED=1" +
         (cluster ? ",CLUSTER=1" : "");
}

TEST_F(BatchInvariantGpuTest, RowsByMmaHaveEqualBitsForEveryM) {
  if (query_device(0).sm() < 80) GTEST_SKIP() << "bf16 needs sm_80";
  expect_equal_rows({mma(16, 32, 3, 1, false), mma(32, 32, 4, 1, false), mma(64, 64, 2, 1, false)});
}

TEST_F(BatchInvariantGpuTest, SharesAlongKKeepThem) {
  if (query_device(0).sm() < 90) GTEST_SKIP() << "clusters need sm_90";
  expect_equal_rows({mma(16, 32, 3, 4, true), mma(32, 32, 2, 4, false), mma(64, 32, 3, 4, true)});
}

TEST_F(BatchInvariantGpuTest, RowsByWgmmaHaveEqualBitsWhicheverOperandIsLeft) {
  if (query_device(0).sm() != 90) GTEST_SKIP() << "wgmma needs sm_90";
  const std::string rest = ",GROUPS=1,PINGPONG=0";
  expect_equal_rows({"wgmma/AB=2,CD=0,BM=64,BN=16" + rest + ",SWAP=1,TA=0,TB=1",
                     "wgmma/AB=2,CD=0,BM=64,BN=32" + rest + ",TA=0,TB=1",
                     "wgmma/AB=2,CD=0,BM=64,BN=128" + rest + ",TA=0,TB=1"});
}

TEST_F(BatchInvariantGpuTest, SharesAlongKByWgmmaHaveEqualBitsInAClusterAndInOneCta) {
  if (query_device(0).sm() != 90) GTEST_SKIP() << "wgmma needs sm_90";
  const std::string type = "wgmma/AB=2,CD=0,", rest = ",TA=0,TB=1";
  const std::string of_one = "GROUPS=1,PINGPONG=0,", of_two = "GROUPS=2,PINGPONG=0,";
  expect_equal_rows({type + "BM=64,BN=16," + of_one + "SPLIT_K=2,SWAP=1" + rest,
                     type + "BM=64,BN=64," + of_one + "SPLIT_K=2" + rest,
                     type + "BM=128,BN=128," + of_two + "K_SHARES=2" + rest});
  expect_equal_rows({type + "BM=64,BN=32," + of_one + "SPLIT_K=4,SWAP=1,K_SHARES=4" + rest,
                     type + "BM=64,BN=64," + of_one + "K_SHARES=4" + rest,
                     type + "BM=128,BN=96,GROUPS=2,PINGPONG=1,K_SHARES=4" + rest});
}

}  // namespace
}  // namespace gemm_tune

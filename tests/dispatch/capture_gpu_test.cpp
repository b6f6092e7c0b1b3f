// SPDX-License-Identifier: Apache-2.0
// Calls that need scratch memory, captured into CUDA graphs: right whatever runs beside them.
#include <gemm_tune/gemm_tune.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_database.h"
#include "tests/gpu/gpu_test.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

constexpr std::int64_t kEdge = 256, kDepth = 4096;  // M and N; K
constexpr std::size_t kCells = kEdge * kEdge;
constexpr const char* kSplitConfig =
    "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
    "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=8,TAIL=0,TA=0,TB=0,PRED=0";
constexpr cudaStreamCaptureMode kModes[] = {
    cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed};

struct Destroy {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraph_st, Destroy>;
using Executable = std::unique_ptr<CUgraphExec_st, Destroy>;

// C = A * B with A all 1 and B all `factor`: each of C is kDepth * factor. What another call's
// partial sums left behind has another factor.
struct Product {
  float factor;
  DeviceBuffer<float> a{kEdge * kDepth}, b{kDepth * kEdge}, c{kCells};

  explicit Product(float factor) : factor(factor) {
    a.copy_from_host(std::vector<float>(kEdge * kDepth, 1.0F));
    b.copy_from_host(std::vector<float>(kDepth * kEdge, factor));
    forget();
  }
  void forget() {
    c.fill_bytes(0xff);
    GT_CUDA(cudaDeviceSynchronize());
  }
  gt_status enqueue(gt_handle* handle, cudaStream_t stream) {
    return gt_sgemm(handle, stream, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, kEdge, kEdge,
                    kDepth, 1, a.data(), kDepth, b.data(), kEdge, 0, c.data(), kEdge);
  }
  // Cells that are not the product, once the device is idle.
  std::ptrdiff_t wrong() const {
    GT_CUDA(cudaDeviceSynchronize());
    std::vector<float> result(kCells);
    c.copy_to_host(result);
    return std::count_if(result.begin(), result.end(),
                         [&](float x) { return x != static_cast<float>(kDepth) * factor; });
  }
};

class CaptureGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Database database(directory_ / "winners.db", Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 256x256x4096", 1});
    const Outcome measured = measured_in(30);
    database.store(device_key(query_device(0)), packed_problem(kEdge, kEdge, kDepth), kSplitConfig,
                   current_revisions().at("warp_tiled"), measured, Source::measured);
    open();
  }
  void TearDown() override { gt_close(handle_); }

  // Anew: without kernels and scratch memory. Kernels come from a cache on disk.
  void open() {
    gt_close(handle_);
    handle_ = nullptr;
    ASSERT_EQ(open_kernels((directory_ / "winners.db").c_str(), (directory_ / "kernels").c_str(),
                           &handle_),
              GT_OK)
        << gt_last_error();
    gt_gemm_call call = GT_GEMM_CALL_INIT;
    call.M = call.N = kEdge;
    call.K = kDepth;
    gt_recipe recipe{};
    ASSERT_EQ(gt_lookup(handle_, nullptr, &call, &recipe), GT_OK) << gt_last_error();
    ASSERT_STREQ(recipe.config, kSplitConfig);
    ASSERT_GT(recipe.workspace_bytes, 0);
  }

  template <class Enqueue>
  static Graph capture(cudaStream_t stream, cudaStreamCaptureMode mode, const Enqueue& enqueue) {
    GT_CUDA(cudaStreamBeginCapture(stream, mode));
    enqueue();
    cudaGraph_t graph = nullptr;
    GT_CUDA(cudaStreamEndCapture(stream, &graph));
    return Graph(graph);
  }
  Graph capture(cudaStream_t stream, cudaStreamCaptureMode mode, Product& product) {
    return capture(stream, mode,
                   [&] { EXPECT_EQ(product.enqueue(handle_, stream), GT_OK) << gt_last_error(); });
  }
  static Executable instantiate(const Graph& graph) {
    cudaGraphExec_t executable = nullptr;
    GT_CUDA(cudaGraphInstantiate(&executable, graph.get(), 0));
    return Executable(executable);
  }
  static std::uint64_t graph_memory() {
    std::uint64_t bytes = 0;
    GT_CUDA(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &bytes));
    return bytes;
  }

  const TempFolder temp_;
  const std::filesystem::path directory_ = temp_.path();
  gt_handle* handle_ = nullptr;
};

TEST_F(CaptureGpuTest, AGivenWorkspaceMakesAGraphThatMayBeTheChildOfAnother) {
  Product product(3);
  const Stream stream;
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.M = call.N = kEdge;
  call.K = call.lda = kDepth;
  call.ldb = call.ldc = kEdge;
  call.A = product.a.data();
  call.B = product.b.data();
  call.C = call.D = product.c.data();
  gt_recipe recipe{};
  ASSERT_EQ(gt_lookup(handle_, nullptr, &call, &recipe), GT_OK) << gt_last_error();
  DeviceBuffer<char> memory(static_cast<std::size_t>(recipe.workspace_bytes));
  memory.fill_bytes(0xff);
  call.workspace = memory.data();
  call.workspace_bytes = recipe.workspace_bytes;
  const Graph child = capture(stream.get(), cudaStreamCaptureModeThreadLocal, [&] {
    EXPECT_EQ(gt_gemm(handle_, stream.get(), &call), GT_OK) << gt_last_error();
    call.workspace_bytes = recipe.workspace_bytes - 1;
    EXPECT_EQ(gt_gemm(handle_, stream.get(), &call), GT_NO_KERNEL);
  });
  cudaGraph_t made = nullptr;
  GT_CUDA(cudaGraphCreate(&made, 0));
  const Graph parent(made);
  cudaGraphNode_t node = nullptr;
  GT_CUDA(cudaGraphAddChildGraphNode(&node, parent.get(), nullptr, 0, child.get()));
  const Executable executable = instantiate(parent);
  for (int i = 0; i < 3; ++i) {
    product.forget();
    GT_CUDA(cudaGraphLaunch(executable.get(), stream.get()));
    EXPECT_EQ(product.wrong(), 0) << "launch " << i;
  }
}

TEST_F(CaptureGpuTest, TheFirstCallOfAHandleMayBeACapturedOneInEveryMode) {
  Product product(3);
  const Stream stream;
  for (const cudaStreamCaptureMode mode : kModes) {
    open();
    product.forget();
    const Graph graph = capture(stream.get(), mode, product);
    EXPECT_EQ(product.wrong(), static_cast<std::ptrdiff_t>(kCells)) << "ran while captured";
    const Executable executable = instantiate(graph);
    for (int i = 0; i < 3; ++i) {
      product.forget();
      GT_CUDA(cudaGraphLaunch(executable.get(), stream.get()));
      EXPECT_EQ(product.wrong(), 0) << "mode " << mode << ", launch " << i;
    }
  }
}

TEST_F(CaptureGpuTest, ACallAfterAnEagerOneIsCapturedInEveryKindOfStream) {
  cudaStream_t blocking = nullptr;
  GT_CUDA(cudaStreamCreate(&blocking));
  const Stream other;
  Product product(2);
  for (const cudaStream_t stream : {blocking, cudaStreamPerThread, other.get()}) {
    EXPECT_EQ(product.enqueue(handle_, stream), GT_OK) << gt_last_error();
    EXPECT_EQ(product.wrong(), 0);
    product.forget();
    const Executable executable =
        instantiate(capture(stream, cudaStreamCaptureModeGlobal, product));
    GT_CUDA(cudaGraphLaunch(executable.get(), stream));
    EXPECT_EQ(product.wrong(), 0);
    product.forget();
  }
  GT_CUDA(cudaStreamDestroy(blocking));
}

TEST_F(CaptureGpuTest, TwoGraphsOfAStreamAndTheStreamItselfRunAtOnce) {
  const Stream captured, first, second;
  std::array<Product, 3> products = {Product(1), Product(2), Product(3)};
  ASSERT_EQ(products[2].enqueue(handle_, captured.get()), GT_OK) << gt_last_error();
  const Executable graphs[] = {
      instantiate(capture(captured.get(), cudaStreamCaptureModeGlobal, products[0])),
      instantiate(capture(captured.get(), cudaStreamCaptureModeGlobal, products[1]))};
  for (int round = 0; round < 20; ++round) {
    for (Product& product : products) product.forget();
    for (int i = 0; i < 10; ++i) {
      GT_CUDA(cudaGraphLaunch(graphs[0].get(), first.get()));
      GT_CUDA(cudaGraphLaunch(graphs[1].get(), second.get()));
      ASSERT_EQ(products[2].enqueue(handle_, captured.get()), GT_OK) << gt_last_error();
    }
    for (const Product& product : products) {
      ASSERT_EQ(product.wrong(), 0) << "factor " << product.factor << ", round " << round;
    }
  }
}

TEST_F(CaptureGpuTest, BranchesOfOneGraphDoNotShareScratchMemory) {
  const Stream stream, branch;
  Event fork, join;
  std::array<Product, 2> products = {Product(1), Product(2)};
  const Executable graph = instantiate(capture(stream.get(), cudaStreamCaptureModeGlobal, [&] {
    fork.record(stream.get());
    GT_CUDA(cudaStreamWaitEvent(branch.get(), fork.get()));
    EXPECT_EQ(products[0].enqueue(handle_, stream.get()), GT_OK) << gt_last_error();
    EXPECT_EQ(products[1].enqueue(handle_, branch.get()), GT_OK) << gt_last_error();
    join.record(branch.get());
    GT_CUDA(cudaStreamWaitEvent(stream.get(), join.get()));
  }));
  for (int i = 0; i < 20; ++i) {
    for (Product& product : products) product.forget();
    GT_CUDA(cudaGraphLaunch(graph.get(), stream.get()));
    for (const Product& product : products) ASSERT_EQ(product.wrong(), 0);
  }
}

TEST_F(CaptureGpuTest, AFirstEagerCallBesideACaptureLeavesTheCaptureValid) {
  const Stream captured, eager;
  Product product(2), beside(3);
  const Graph graph = capture(captured.get(), cudaStreamCaptureModeGlobal, [&] {
    EXPECT_EQ(beside.enqueue(handle_, eager.get()), GT_OK) << gt_last_error();
    EXPECT_EQ(product.enqueue(handle_, captured.get()), GT_OK) << gt_last_error();
  });
  EXPECT_EQ(beside.wrong(), 0);
  const Executable executable = instantiate(graph);
  GT_CUDA(cudaGraphLaunch(executable.get(), captured.get()));
  EXPECT_EQ(product.wrong(), 0);
}

TEST_F(CaptureGpuTest, ASecondExecutableInstanceOfAGraphIsRefused) {
  Product product(2);
  const Stream stream;
  const Graph graph = capture(stream.get(), cudaStreamCaptureModeGlobal, product);
  Executable first = instantiate(graph);
  cudaGraphExec_t second = nullptr;
  EXPECT_NE(cudaGraphInstantiate(&second, graph.get(), 0), cudaSuccess);
  cudaGetLastError();
  first.reset();
  GT_CUDA(cudaGraphLaunch(instantiate(graph).get(), stream.get()));
  EXPECT_EQ(product.wrong(), 0);
}

TEST_F(CaptureGpuTest, GraphsThatAreNeverRunOrDestroyedAfterwardsHoldNoMemory) {
  Product product(2);
  const Stream stream;
  const auto run = [&] {
    const Graph unused = capture(stream.get(), cudaStreamCaptureModeGlobal, product);
    const Executable executable =
        instantiate(capture(stream.get(), cudaStreamCaptureModeGlobal, product));
    GT_CUDA(cudaGraphLaunch(executable.get(), stream.get()));
    stream.synchronize();
  };
  run();  // the driver counts 32 MiB from the first graph on
  const std::uint64_t before = graph_memory();
  for (int i = 0; i < 40; ++i) run();  // of 2 MiB each: what they held would be seen
  EXPECT_EQ(graph_memory(), before);
}

TEST_F(CaptureGpuTest, AnInvalidCaptureIsADeviceErrorAndTheNextOneWorks) {
  Product product(2);
  const Stream stream;
  GT_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  EXPECT_NE(cudaStreamSynchronize(stream.get()), cudaSuccess);  // makes the capture invalid
  cudaGetLastError();
  EXPECT_EQ(product.enqueue(handle_, stream.get()), GT_DEVICE_ERROR);
  cudaGraph_t graph = nullptr;
  EXPECT_NE(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
  cudaGetLastError();
  const Executable executable =
      instantiate(capture(stream.get(), cudaStreamCaptureModeGlobal, product));
  GT_CUDA(cudaGraphLaunch(executable.get(), stream.get()));
  EXPECT_EQ(product.wrong(), 0);
}

}  // namespace
}  // namespace gemm_tune

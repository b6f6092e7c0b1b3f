// SPDX-License-Identifier: Apache-2.0
// Calls beside a CUDA context of the application's own, which only the driver's interface can make:
// the library serves them or says why not, and the primary context stays usable.
#include <dlfcn.h>
#include <gemm_tune/gemm_tune.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/cuda_libraries/cuda_library.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/dispatch/gemm_case.h"
#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_database.h"
#include "tests/gpu/gpu_test.h"
#include "tests/temp_folder.h"

struct CUctx_st;

namespace gemm_tune {
namespace {

constexpr std::int64_t kSide = 96;

// As cuda.h declares them; statuses are int. cuCtxCreate_v2 has no parameters but these.
struct Driver {
  using Context = CUctx_st*;
  using Create = int(Context*, unsigned flags, int device);
  using Destroy = int(Context);
  using GetCurrent = int(Context*);
  using SetCurrent = int(Context);

  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);  // open already: there is a device
  Create* create = find_function<Create>(library, "cuCtxCreate_v2");
  Destroy* destroy = find_function<Destroy>(library, "cuCtxDestroy_v2");
  GetCurrent* get_current = find_function<GetCurrent>(library, "cuCtxGetCurrent");
  SetCurrent* set_current = find_function<SetCurrent>(library, "cuCtxSetCurrent");
};

// C = A * B of integers, in the context that was current when it was made.
class IntegerProduct {
 public:
  IntegerProduct()
      : a_(integers(kSize, 1)), b_(integers(kSize, 2)), A_(kSize), B_(kSize), C_(kSize) {
    A_.copy_from_host(a_);
    B_.copy_from_host(b_);
  }

  cudaStream_t stream() const { return stream_.get(); }

  // C is NaN then. Its context must be current.
  void clear() {
    C_.fill_bytes(0xFF);
    GT_CUDA(cudaDeviceSynchronize());
  }

  gt_status call(gt_handle* handle, cudaStream_t stream) {
    return gt_sgemm(handle, stream, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, kSide, kSide,
                    kSide, 1, A_.data(), kSide, B_.data(), kSide, 0, C_.data(), kSide);
  }

  // Its context must be current.
  void expect_right() const {
    GT_CUDA(cudaDeviceSynchronize());
    std::vector<float> result(kSize), want(kSize);
    C_.copy_to_host(result);
    const auto edge = static_cast<std::size_t>(kSide);
    for (std::size_t m = 0; m < edge; ++m) {
      for (std::size_t k = 0; k < edge; ++k) {
        for (std::size_t n = 0; n < edge; ++n) {
          want[m * edge + n] += a_[m * edge + k] * b_[k * edge + n];
        }
      }
    }
    EXPECT_EQ(result, want);
  }

 private:
  static constexpr std::size_t kSize = static_cast<std::size_t>(kSide * kSide);

  std::vector<float> a_, b_;
  DeviceBuffer<float> A_, B_, C_;
  Stream stream_;
};

class ContextGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const std::string file = temp_.path() / "winners.db";
    write_sample_database(file, query_device(0).arch);
    ASSERT_EQ(open_kernels(file.c_str(), nullptr, &handle_), GT_OK) << gt_last_error();
    driver_ = std::make_unique<Driver>();
    of_primary_ = std::make_unique<IntegerProduct>();
    ASSERT_EQ(driver_->get_current(&primary_), 0);
    ASSERT_EQ(driver_->create(&second_, 0, 0), 0);  // makes it current
    of_second_ = std::make_unique<IntegerProduct>();
    make_current(primary_);
  }
  void TearDown() override {
    gt_close(handle_);
    end_second();
  }

  void make_current(Driver::Context context) const { ASSERT_EQ(driver_->set_current(context), 0); }
  void end_second() {
    if (second_ == nullptr) return;
    make_current(second_);
    of_second_.reset();
    make_current(primary_);
    EXPECT_EQ(driver_->destroy(std::exchange(second_, nullptr)), 0);
  }

  // The second context's product, while `current` is: the right result or a sentence. Leaves the
  // second current.
  void expect_right_or_a_sentence(Driver::Context current, cudaStream_t stream) {
    make_current(second_);
    of_second_->clear();
    make_current(current);
    const gt_status status = of_second_->call(handle_, stream);
    const std::string sentence = gt_last_error();
    make_current(second_);
    if (status == GT_OK) return of_second_->expect_right();
    EXPECT_NE(sentence, "");
    std::printf("refused: %s\n", sentence.c_str());
  }

  void expect_that_the_primary_context_is_served() {
    make_current(primary_);
    of_primary_->clear();
    EXPECT_EQ(of_primary_->call(handle_, of_primary_->stream()), GT_OK) << gt_last_error();
    of_primary_->expect_right();
  }

  const TempFolder temp_;
  gt_handle* handle_ = nullptr;
  std::unique_ptr<Driver> driver_;
  Driver::Context primary_ = nullptr, second_ = nullptr;
  std::unique_ptr<IntegerProduct> of_primary_, of_second_;
};

// cuLaunchKernel takes the context of a cudaKernel_t from the stream.
TEST_F(ContextGpuTest, AStreamOfAnotherContextIsServedThereOrRefusedInASentence) {
  for (int sight = 0; sight < 2; ++sight) {  // the first compiles
    expect_right_or_a_sentence(primary_, of_second_->stream());
    expect_that_the_primary_context_is_served();
  }
}

TEST_F(ContextGpuTest, AnotherCurrentContextIsServedOrRefusedInASentence) {
  for (int sight = 0; sight < 2; ++sight) {
    expect_right_or_a_sentence(second_, of_second_->stream());
    expect_right_or_a_sentence(second_, nullptr);
    expect_that_the_primary_context_is_served();
  }
}

TEST_F(ContextGpuTest, TheHandleOutlivesAContextThatItServed) {
  expect_right_or_a_sentence(second_, of_second_->stream());
  end_second();
  expect_that_the_primary_context_is_served();
}

}  // namespace
}  // namespace gemm_tune

#include <vector>

#include "gpu/cublas.h"
#include "gpu/memory.h"
#include "gpu/stream.h"
#include "tests/gpu/gpu_test.h"

namespace gemm_tune {
namespace {

using CublasGpuTest = GpuTest;

// A [2,3] with lda 4, B [3,2] with ldb 3, C [2,2] with ldc 3, all row-major; A * B is
// [[58, 64], [139, 154]].
template <class T>
struct Operands {
  DeviceBuffer<T> a{8}, b{9}, c{6};

  Operands() {
    a.copy_from_host(std::vector<T>{1, 2, 3, -1, 4, 5, 6, -1});
    b.copy_from_host(std::vector<T>{7, 8, -1, 9, 10, -1, 11, 12, -1});
    c.copy_from_host(std::vector<T>{1, 1, -5, 1, 1, -5});
  }
  std::vector<T> result() const {
    std::vector<T> host(6);
    c.copy_to_host(host);
    return host;
  }
};

TEST_F(CublasGpuTest, MultipliesRowMajorMatricesWithLeadingDimensions) {
  for (const Cublas::Math math : {Cublas::Math::standard, Cublas::Math::pedantic}) {
    Operands<float> x;
    const Stream stream;
    Cublas cublas;
    cublas.set_stream(stream.get());
    cublas.sgemm(2, 2, 3, 2.0F, x.a.data(), 4, x.b.data(), 3, 10.0F, x.c.data(), 3, math);
    stream.synchronize();
    EXPECT_EQ(x.result(), (std::vector<float>{126, 138, -5, 288, 318, -5}));
  }
}

TEST_F(CublasGpuTest, MultipliesInDoublePrecision) {
  Operands<double> x;
  const Stream stream;
  Cublas cublas;
  cublas.set_stream(stream.get());
  cublas.dgemm(2, 2, 3, 1.0, x.a.data(), 4, x.b.data(), 3, 0.0, x.c.data(), 3);
  stream.synchronize();
  EXPECT_EQ(x.result(), (std::vector<double>{58, 64, -5, 139, 154, -5}));
}

TEST_F(CublasGpuTest, RefusesSizesBeyond32Bits) {
  Operands<float> x;
  Cublas cublas;
  EXPECT_THROW(
      cublas.sgemm(2, 2, 3, 1, x.a.data(), std::int64_t{1} << 32, x.b.data(), 3, 0, x.c.data(), 3),
      DeviceError);
}

TEST_F(CublasGpuTest, IsVersion13) {
  const Cublas cublas;
  EXPECT_EQ(cublas.version().substr(0, 3), "13.");
}

}  // namespace
}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// The table of cuBLAS's functions beside NVIDIA's header, where the toolkit has it.
#include <gtest/gtest.h>

#include <type_traits>

#include "core/problem/cublas_functions.h"

#if __has_include(<cublas_api.h>)
#include <cublas_api.h>

namespace gemm_tune {
namespace {

// What the table has in the place of NVIDIA's type.
template <class T>
auto in_table() {
  using Pointee = std::remove_cv_t<std::remove_pointer_t<T>>;
  if constexpr (std::is_same_v<T, cublasHandle_t>) {
    return static_cast<void*>(nullptr);
  } else if constexpr (std::is_enum_v<T>) {
    return 0;
  } else if constexpr (std::is_pointer_v<T> && std::is_enum_v<Pointee>) {
    return static_cast<const int*>(nullptr);
  } else {
    return T{};
  }
}

template <class Function>
struct InTable;
template <class Status, class... Parameters>
struct InTable<Status(Parameters...)> {
  using Type = decltype(in_table<Status>())(decltype(in_table<Parameters>())...);
};

TEST(CublasHeaderTest, TheTablesPrototypesAreNvidias) {
#define GT_SAME(Int, symbol, Scalar, type, batch, computing)                                   \
  EXPECT_TRUE((std::is_same_v<InTable<decltype(symbol)>::Type,                                 \
                              int GT_CUBLAS_PARAMETERS(Int, Scalar, type, batch, computing)>)) \
      << #symbol;
// Those that name an algorithm have an overload for C++: their variants for 64-bit integers must
// do.
#define GT_SAME_F32 GT_SAME
#define GT_SAME_F64 GT_SAME
#define GT_SAME_NAMED_TYPE GT_SAME
#define GT_SAME_NAMED(...)
#define GT_ROW(name, suffix, Scalar, type, batch, computing)             \
  GT_SAME_##computing(int, name##suffix, Scalar, type, batch, computing) \
      GT_SAME(std::int64_t, name##suffix##_64, Scalar, type, batch, computing)
  GT_CUBLAS_FUNCTIONS(GT_ROW)
#undef GT_ROW
#undef GT_SAME_NAMED
#undef GT_SAME_NAMED_TYPE
#undef GT_SAME_F64
#undef GT_SAME_F32
#undef GT_SAME
}

}  // namespace
}  // namespace gemm_tune
#endif

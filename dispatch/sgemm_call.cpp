#include "dispatch/sgemm_call.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace gemm_tune {
namespace {

constexpr std::uintptr_t kFloatBytes = sizeof(float);

void check_size(const char* name, std::int64_t size) {
  if (size < 0 || size > kMaxEdge) {
    throw UsageError(std::string(name) + " is " + std::to_string(size) + ": it must be 0 to " +
                     std::to_string(kMaxEdge));
  }
}

void check_ld(const char* name, std::int64_t ld, const char* width_name, std::int64_t width) {
  if (ld < std::max<std::int64_t>(1, width)) {
    throw UsageError(std::string(name) + " is " + std::to_string(ld) +
                     ": it must be at least 1 and " + width_name + " = " + std::to_string(width));
  }
}

void check_pointer(const char* name, const float* pointer, bool is_used) {
  if (pointer == nullptr && is_used) throw UsageError(std::string(name) + " is NULL");
  if (reinterpret_cast<std::uintptr_t>(pointer) % kFloatBytes != 0) {
    throw UsageError(std::string(name) + " is not aligned to 4 bytes");
  }
}

std::int64_t address_in_elements(const float* pointer) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer) / kFloatBytes);
}

}  // namespace

void check(const SgemmCall& call) {
  check_size("M", call.M);
  check_size("N", call.N);
  check_size("K", call.K);
  check_ld("lda", call.lda, "K", call.K);
  check_ld("ldb", call.ldb, "N", call.N);
  check_ld("ldc", call.ldc, "N", call.N);
  const bool writes_c = call.M > 0 && call.N > 0;
  const bool reads_ab = writes_c && call.K > 0 && call.alpha != 0.0F;
  check_pointer("A", call.A, reads_ab);
  check_pointer("B", call.B, reads_ab);
  check_pointer("C", call.C, writes_c);
}

bool changes_nothing(const SgemmCall& call) {
  return call.M == 0 || call.N == 0 || (call.beta == 1.0F && (call.K == 0 || call.alpha == 0.0F));
}

Problem problem_of(const SgemmCall& call) {
  Problem problem = packed_problem(call.M, call.N, call.K);
  problem.alignment =
      std::min(alignment_class(call.lda, call.ldb, call.ldc),
               alignment_class(address_in_elements(call.A), address_in_elements(call.B),
                               address_in_elements(call.C)));
  return problem;
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// One config of one family as a shared object: GT_KERNEL_TEXT names the family's kernel.cuh,
// GT_FAMILY the family, GT_EPILOGUE_TEXT the epilogue, and GT_ENTRIES, as in GT_ENTRY(repack), its
// kernels beside the product.
#include <cstddef>
#include <utility>

#include GT_KERNEL_TEXT

#define GT_EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

template <class... Parameters, std::size_t... I>
void call(void (*kernel)(Parameters...), void* const* parameters, std::index_sequence<I...>) {
  kernel(*static_cast<const Parameters*>(parameters[I])...);
}

template <class... Parameters>
void call(void (*kernel)(Parameters...), void* const* parameters) {
  call(kernel, parameters, std::index_sequence_for<Parameters...>());
}

}  // namespace

GT_EXPORTED const bool gt_is_in_place = gemm_tune::kInPlace;
GT_EXPORTED const char gt_epilogue[] = GT_EPILOGUE_TEXT;

#define GT_ENTRY(kernel)                                                               \
  GT_EXPORTED void gt_emulated_##kernel(emulator::Cta& cta, void* const* parameters) { \
    emulator::current = &cta;                                                          \
    call(kernel, parameters);                                                          \
  }

namespace gemm_tune::GT_FAMILY {
GT_ENTRY(gemm)
GT_ENTRIES
}  // namespace gemm_tune::GT_FAMILY

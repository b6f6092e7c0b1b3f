// SPDX-License-Identifier: Apache-2.0
// One config of one family as a shared object: GT_KERNEL_TEXT names the family's .cuh.
#include GT_KERNEL_TEXT

#ifdef TUNED_IN_PLACE
extern "C" __attribute__((visibility("default"))) const bool gt_emulated_in_place = true;
#endif

#ifdef TUNED_EPILOGUE
extern "C" __attribute__((visibility("default"))) const int gt_emulated_epilogue = TUNED_EPILOGUE;
#endif

#ifdef TUNED_REPACK
extern "C" __attribute__((visibility("default"))) void gt_emulated_repack_thread(
    gemm_tune::emulator::Cta& cta, const gemm_tune::RepackArgs& args) {
  gemm_tune::emulator::current = &cta;
  gemm_tune::repack(args);
}
#endif

#ifdef TUNED_REDUCE
extern "C" void reduce(gemm_tune::GemmArgs args);

extern "C" __attribute__((visibility("default"))) void gt_emulated_reduce_thread(
    gemm_tune::emulator::Cta& cta, const gemm_tune::GemmArgs& args) {
  gemm_tune::emulator::current = &cta;
  reduce(args);
}
#endif

extern "C" void gemm(gemm_tune::GemmArgs args);  // the kernel, whichever namespace it lives in

extern "C" __attribute__((visibility("default"))) void gt_emulated_thread(
    gemm_tune::emulator::Cta& cta, const gemm_tune::GemmArgs& args) {
  gemm_tune::emulator::current = &cta;
  gemm(args);
}

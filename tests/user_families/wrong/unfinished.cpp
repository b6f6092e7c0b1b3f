// SPDX-License-Identifier: Apache-2.0
// A shared library that is no plug-in; with UNDEFINED one that needs what nobody has.
#ifdef UNDEFINED
extern "C" void gt_nobody_has_this();
extern "C" __attribute__((visibility("default"))) void gemm_tune_plugin() { gt_nobody_has_this(); }
#endif

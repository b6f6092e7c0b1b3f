// SPDX-License-Identifier: Apache-2.0
// The pre-pass kernel, in the program of a config that launches it: TUNED_REPACK is defined there.
#pragma once

#ifdef TUNED_REPACK
#include "kernel_templates/device/copy/repack.cuh"
#endif

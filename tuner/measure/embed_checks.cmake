# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT: a C++ file that holds the texts of CHECKS and BOUND as raw string literals. Run by the build.
file(READ "${CHECKS}" checks)
file(READ "${BOUND}" bound)
file(WRITE "${OUTPUT}" "#include \"tuner/measure/device_checks_text.h\"\n\nnamespace gemm_tune {\n\n"
     "const char* const kDeviceChecksText = R\"gt_text(${checks})gt_text\";\n"
     "const char* const kErrorBoundText = R\"gt_text(${bound})gt_text\";\n\n}  // namespace gemm_tune\n")

# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT: a C++ file that holds the text of INPUT as a raw string literal. Run by the build.
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "#include \"tuner/measure/device_checks_text.h\"\n\nnamespace gemm_tune {\n\n"
     "const char* const kDeviceChecksText = R\"gt_text(${text})gt_text\";\n\n}  // namespace gemm_tune\n")

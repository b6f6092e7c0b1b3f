# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT: a C++ file that holds texts as raw string literals, in the constants that HEADER declares. TEXTS:
# constants and files in turn, separated by '|'. Run by the build.
string(REPLACE "|" ";" rest "${TEXTS}")
set(constants "")
while(rest)
  list(POP_FRONT rest constant file)
  file(READ "${file}" text)
  string(APPEND constants "const char* const ${constant} = R\"gt_text(${text})gt_text\";\n")
endwhile()
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"\n\nnamespace gemm_tune {\n\n${constants}\n}  // namespace gemm_tune\n")

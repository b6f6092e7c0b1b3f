# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT: a C++ file that holds the texts of FILES (paths relative to ROOT, separated by
# commas) as raw string literals. Run by the build whenever one of them changes.
string(CONCAT body
  "#include \"kernel_templates/source/embedded_texts.h\"\n\nnamespace gemm_tune {\n\n"
  "const std::map<std::string, std::string, std::less<>>& embedded_texts() {\n"
  "  static const std::map<std::string, std::string, std::less<>> texts = {\n")
string(REPLACE "," ";" files "${FILES}")
foreach(file IN LISTS files)
  file(READ "${ROOT}/${file}" text)
  string(LENGTH "${text}" length)
  if(length GREATER 60000)
    message(FATAL_ERROR "${file} is too long for a string literal: split it")
  endif()
  string(APPEND body "      {\"${file}\", R\"gt_text(${text})gt_text\"},\n")
endforeach()
string(APPEND body "  };\n  return texts;\n}\n\n}  // namespace gemm_tune\n")
file(WRITE "${OUTPUT}" "${body}")

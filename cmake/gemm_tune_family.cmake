# SPDX-License-Identifier: Apache-2.0
# gemm_tune_add_family(NAME [FOLDER folder]): the plug-in NAME.so of a kernel family, for `gemm-tune --family` and
# gt_load_family(). The folder, by default NAME, has what the folder of a built-in family has: family.cpp, which defines
# KernelFamily gemm_tune::NAME::family(), and the texts for NVRTC, *.cuh, which name each other without a folder. The texts
# become part of the plug-in.
function(gemm_tune_add_family name)
  cmake_parse_arguments(ARG "" "FOLDER" "" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gemm_tune_add_family(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER "${name}")
  endif()
  get_filename_component(folder "${ARG_FOLDER}" ABSOLUTE)
  file(GLOB texts CONFIGURE_DEPENDS "${folder}/*.cuh")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${texts})
  set(entries "")
  foreach(file IN LISTS texts)
    get_filename_component(file_name "${file}" NAME)
    file(READ "${file}" text)
    string(APPEND entries "      {\"${file_name}\", R\"gt_text(${text})gt_text\"},\n")
  endforeach()
  set(plugin "${CMAKE_CURRENT_BINARY_DIR}/${name}_plugin.cpp")
  file(CONFIGURE OUTPUT "${plugin}" @ONLY CONTENT [=[
#include "kernel_templates/plugin.h"

namespace gemm_tune::@name@ {

KernelFamily family();

static KernelTexts texts() {
  return {
@entries@  };
}

}  // namespace gemm_tune::@name@

GT_FAMILY_PLUGIN(gemm_tune::@name@::family, gemm_tune::@name@::texts)
]=])
  add_library(${name} MODULE "${folder}/family.cpp" "${plugin}")
  target_link_libraries(${name} PRIVATE gemm_tune::family)
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD OFF)
endfunction()

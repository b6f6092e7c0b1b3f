# SPDX-License-Identifier: Apache-2.0
# gt_fmt: fmt for tuner/ and its fuzz targets, without the shared library, which the program must not need. cmake/fmt.cpp
# names what fmt 9 leaves to its library, so that it is compiled once. With later ones every source compiles its own copy.
find_package(fmt QUIET)
if(fmt_FOUND AND fmt_VERSION VERSION_LESS 10)
  add_library(gt_fmt STATIC "${PROJECT_SOURCE_DIR}/cmake/fmt.cpp")
  target_link_libraries(gt_fmt PRIVATE gt_flags)
elseif(fmt_FOUND)
  add_library(gt_fmt INTERFACE)
  target_compile_definitions(gt_fmt INTERFACE FMT_HEADER_ONLY)
endif()

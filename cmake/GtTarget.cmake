# SPDX-License-Identifier: Apache-2.0
# One folder, one target, one set of flags.
add_library(gt_flags INTERFACE)
target_include_directories(gt_flags INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
target_compile_options(gt_flags INTERFACE -Wall -Wextra -Wconversion $<$<BOOL:${GT_WERROR}>:-Werror>)
# g++ collects its garbage from 128 MB on, which takes a tenth of a batch's time and frees a fifth of its memory.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(gt_flags INTERFACE --param=ggc-min-heapsize=1048576)
endif()
# Precompiled headers: for tuner/ and the tests, whose headers are heavy. ccache's default settings do not cache
# compilations that use them.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)  # a compiler of a batch takes 1.2 GB at most
# What most sources of these include in any case.
set(GT_STANDARD_HEADERS <algorithm> <chrono> <filesystem> <fstream> <functional> <map> <memory> <optional> <random> <set>
                        <sstream> <string> <string_view> <thread> <vector>)

# g++ 12 sees an overlap in every optimised "text" + std::string (GCC bug 105329, fixed in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(gt_flags INTERFACE -Wno-restrict)
endif()
if(GT_SANITIZE)
  target_compile_options(gt_flags INTERFACE -fsanitize=${GT_SANITIZE} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all)
  target_compile_definitions(gt_flags INTERFACE GT_SANITIZED)
  target_link_options(gt_flags INTERFACE -fsanitize=${GT_SANITIZE})
endif()

# The C++ library as an archive, of which only what is called stays: std::random_device of Debian's calls a function of
# glibc 2.36, and what needs that would not start on Ubuntu 22.04 (core/random_word.h).
set(GT_STATIC_CPP -static-libstdc++ -static-libgcc LINKER:--gc-sections)

# gt_library(folder SOURCES... [DEPENDS targets...] [PRIVATE_DEPENDS targets...]): the static library gt_<folder>.
function(gt_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(gt_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(gt_${folder} PUBLIC ${ARG_DEPENDS} PRIVATE gt_flags ${ARG_PRIVATE_DEPENDS})
  target_include_directories(gt_${folder} PUBLIC "${PROJECT_SOURCE_DIR}")
endfunction()

# gt_executable(name SOURCES... [DEPENDS targets...]): a program in bin/ that runs on another machine of the
# same or a later distribution which has CUDA: of the C++ side, nothing is shared.
function(gt_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE gt_flags ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  if(NOT GT_SANITIZE)
    target_link_options(${name} PRIVATE ${GT_STATIC_CPP})
  endif()
endfunction()

# gt_test_headers: the precompiled headers of every gt_test. An executable, because those of a library are compiled with
# -fPIC and suit no executable.
function(gt_add_test_headers)
  file(CONFIGURE OUTPUT test_headers.cpp CONTENT "int main() {}\n")
  add_executable(gt_test_headers EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp")
  target_link_libraries(gt_test_headers PRIVATE gt_flags GTest::gmock)
  target_precompile_headers(gt_test_headers PRIVATE ${GT_STANDARD_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# gt_only_for_gpu_tests(targets...): what only tests labelled gpu run. The target gpu_tests builds it: ./run tests where there
# is a GPU, .ci/run in any case.
function(gt_only_for_gpu_tests)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(gpu_tests ${ARGN})
endfunction()

# gt_test(name LABEL label SOURCES... [DEPENDS targets...] [ENV NAME=VALUE] [SLOW filter] [MANY_ROUNDS filter] [PARTS n]):
# one GoogleTest program; each of its tests is a ctest named <name>.<Suite>.<Test>, because suites of two programs may
# share names. With PARTS the tests, which then share processes, are dealt out to n ctests named <name>.part_<i>: for
# hundreds of tests that change nothing of their process, each shorter than its start, or for a few that share what takes long
# to make. No test has a timeout of its own: ctest's of 25 minutes ends a test that hangs, and a loaded machine reaches it with
# none. Tests that the GoogleTest filter SLOW names get the label slow instead: `./run slow` runs them,
# `./run tests` does not. Those that MANY_ROUNDS names are run once more there, as <name>.many_rounds, for the many
# rounds of tests/rounds.h.
function(gt_test name)
  cmake_parse_arguments(ARG "" "LABEL;ENV;SLOW;MANY_ROUNDS;PARTS" "SOURCES;DEPENDS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_LABEL MATCHES "^(unit|emulator|mutants|package|gpu)$")
    message(FATAL_ERROR "gt_test(${name}): LABEL is unit, emulator, mutants, package or gpu, not '${ARG_LABEL}'; "
                        "unknown arguments: '${ARG_UNPARSED_ARGUMENTS}'")
  endif()
  # What no sanitizers' preset runs is not built for one.
  if(GT_SANITIZE AND NOT ARG_LABEL STREQUAL "unit")
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE gt_flags ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM gt_test_headers)
  set(_gt_rest)
  if(ARG_SLOW)
    set(_gt_rest TEST_FILTER "-${ARG_SLOW}")
    gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 600 TEST_FILTER "${ARG_SLOW}"
      TEST_LIST ${name}_SLOW_TESTS PROPERTIES LABELS slow ENVIRONMENT "${ARG_ENV}")
  endif()
  if(ARG_PARTS)
    math(EXPR _gt_last "${ARG_PARTS} - 1")
    foreach(part RANGE ${_gt_last})
      add_test(NAME ${name}.part_${part} COMMAND ${name} "--gtest_filter=-${ARG_SLOW}")
      set(_gt_environment GTEST_TOTAL_SHARDS=${ARG_PARTS} GTEST_SHARD_INDEX=${part} ${ARG_ENV})
      set_tests_properties(${name}.part_${part} PROPERTIES LABELS "${ARG_LABEL}" ENVIRONMENT "${_gt_environment}")
    endforeach()
  else()
    gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 600 ${_gt_rest}
      PROPERTIES LABELS "${ARG_LABEL}" ENVIRONMENT "${ARG_ENV}")
  endif()
  if(ARG_LABEL STREQUAL "gpu")
    gt_only_for_gpu_tests(${name})
    # Where the program is not built, CMake has one test in place of its tests, which fails and has no label.
    set(_gt_label "${CMAKE_CURRENT_BINARY_DIR}/${name}_label.cmake")
    file(CONFIGURE OUTPUT "${_gt_label}" CONTENT "set_tests_properties(${name}_NOT_BUILT PROPERTIES LABELS gpu)\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${_gt_label}")
  endif()
  if(ARG_MANY_ROUNDS)
    add_test(NAME ${name}.many_rounds COMMAND ${name} "--gtest_filter=${ARG_MANY_ROUNDS}")
    set(_gt_environment GT_MANY_ROUNDS=1 ${ARG_ENV})
    set_tests_properties(${name}.many_rounds PROPERTIES LABELS slow ENVIRONMENT "${_gt_environment}")
  endif()
endfunction()

# One set of flags for every target of the project.
add_library(gt_flags INTERFACE)
target_include_directories(gt_flags INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
target_compile_options(gt_flags INTERFACE -Wall -Wextra -Wconversion $<$<BOOL:${GT_WERROR}>:-Werror>)
if(GT_SANITIZE)
  target_compile_options(gt_flags INTERFACE -fsanitize=${GT_SANITIZE} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all)
  target_link_options(gt_flags INTERFACE -fsanitize=${GT_SANITIZE})
endif()

# gt_library(folder SOURCES... [DEPENDS targets...] [PRIVATE_DEPENDS targets...]): the static library gt_<folder>.
function(gt_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(gt_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(gt_${folder} PUBLIC ${ARG_DEPENDS} PRIVATE gt_flags ${ARG_PRIVATE_DEPENDS})
  target_include_directories(gt_${folder} PUBLIC "${PROJECT_SOURCE_DIR}")
endfunction()

# gt_test(name LABEL label SOURCES... DEPENDS targets...): one GoogleTest program, each test a ctest.
function(gt_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE gt_flags ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} PROPERTIES LABELS "${ARG_LABEL}" DISCOVERY_TIMEOUT 60)
endfunction()

# SPDX-License-Identifier: Apache-2.0
# Finds what the project uses of CUDA 13 to build: cuda_runtime_api.h, nvrtc.h and libcudart_static.a. No nvcc;
# the libraries NVRTC and cuBLAS are opened at run time. FindCUDAToolkit is not used: it wants nvcc, and does not
# understand NVIDIA's wheels.
#
# The runtime is linked statically, as cuBLAS does it: what is built starts on a machine without CUDA, and works in a
# process whatever CUDA runtime, of CUDA 12 too, the process has loaded besides. Contexts, streams, events and memory
# are the driver's, and so common to all runtimes of a process.
#
# Sets GT_CUDA_FOUND, GT_CUDA_FOLDER and its GT_CUDA_LIBRARIES, and defines gt::cudart. Not finding CUDA is no error (core,
# kernel_templates, search, db and choose build without it); finding another version is.
set(GT_CUDA_ROOT "" CACHE PATH "CUDA 13 toolkit, or the folder nvidia/cu13 of NVIDIA's wheels; 'none' builds without")

# The first that is set decides; with neither set, the usual places and what ./run has fetched.
if(GT_CUDA_ROOT)
  set(_gt_roots "${GT_CUDA_ROOT}")
elseif(DEFINED ENV{CUDA_HOME})
  set(_gt_roots "$ENV{CUDA_HOME}")
else()
  set(_gt_roots /usr/local/cuda "${PROJECT_SOURCE_DIR}/build/cuda/nvidia/cu13")
endif()

set(GT_CUDA_FOUND FALSE)
foreach(_gt_candidate IN LISTS _gt_roots)
  if(EXISTS "${_gt_candidate}/include/nvrtc.h" AND EXISTS "${_gt_candidate}/include/cuda_runtime_api.h")
    set(GT_CUDA_FOUND TRUE)
    set(GT_CUDA_FOLDER "${_gt_candidate}")
    break()
  endif()
endforeach()

if(GT_CUDA_FOUND)
  file(STRINGS "${GT_CUDA_FOLDER}/include/cuda_runtime_api.h" _gt_version REGEX "^#define CUDART_VERSION")
  string(REGEX MATCH "[0-9]+" _gt_version "${_gt_version}")
  if(NOT _gt_version GREATER_EQUAL 13000 OR NOT _gt_version LESS 14000)
    math(EXPR _gt_major "${_gt_version} / 1000")
    math(EXPR _gt_minor "${_gt_version} % 1000 / 10")
    message(FATAL_ERROR "CUDA ${_gt_major}.${_gt_minor} in ${GT_CUDA_FOLDER} is not CUDA 13; set GT_CUDA_ROOT to one "
                        "that is, to 'none' to build without, or use ./run, which fetches it.")
  endif()
  find_library(_gt_cudart NAMES libcudart_static.a PATHS "${GT_CUDA_FOLDER}" PATH_SUFFIXES lib64 lib
               NO_DEFAULT_PATH NO_CACHE)
  if(NOT _gt_cudart)
    message(FATAL_ERROR "CUDA in ${GT_CUDA_FOLDER} lacks libcudart_static.a: install it (package cuda-cudart-dev-13-0 of "
                        "NVIDIA's Debian repository, nvidia-cuda-runtime of pip), or set GT_CUDA_ROOT to another.")
  endif()
  find_package(Threads REQUIRED)
  add_library(gt::cudart STATIC IMPORTED)
  # DT_RPATH, not DT_RUNPATH: the sanitizers' dlopen() calls the loader from an object of their own, and only DT_RPATH
  # of the program counts for that.
  set_target_properties(gt::cudart PROPERTIES
    IMPORTED_LOCATION "${_gt_cudart}"
    INTERFACE_INCLUDE_DIRECTORIES "${GT_CUDA_FOLDER}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};rt"
    INTERFACE_LINK_OPTIONS "LINKER:--disable-new-dtags")
  # For the libraries that are opened: where this machine has CUDA, then where another one is likely to have it.
  # gpu/cuda_libraries/cuda_folders.cpp looks further.
  get_filename_component(GT_CUDA_LIBRARIES "${_gt_cudart}" DIRECTORY)
  set(CMAKE_BUILD_RPATH "${GT_CUDA_LIBRARIES};/usr/local/cuda/lib64")
  list(REMOVE_DUPLICATES CMAKE_BUILD_RPATH)
  message(STATUS "CUDA: ${GT_CUDA_FOLDER}")
else()
  message(STATUS "CUDA 13 not found in ${_gt_roots}: building core, kernel_templates, search, db and choose only")
endif()

# gt_search_path(target folder component): where an installed target looks for the libraries that it opens. No folder of
# the machine that built it is among them. CMake's own change of a search path would fill the built one up with an empty
# entry, which is the working directory to the loader.
function(gt_search_path target folder component)
  if(NOT GT_CUDA_FOUND)
    return()
  endif()
  list(JOIN CMAKE_BUILD_RPATH ":" built)
  string(APPEND built ":$ORIGIN/../lib")
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${built}")
  install(CODE "file(RPATH_CHANGE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/$<TARGET_FILE_NAME:${target}>\"
                     OLD_RPATH \"${built}\" NEW_RPATH \"\$ORIGIN/../lib:/usr/local/cuda/lib64\")" COMPONENT ${component} ${ARGN})
endfunction()

# Finds what the project uses of CUDA: headers, libcudart and libnvrtc. No nvcc; cuBLAS is opened at
# run time, only its headers are needed here. Understands a toolkit and the layout of NVIDIA's wheels.
set(GT_CUDA_ROOT "" CACHE PATH "CUDA toolkit or the nvidia/cu13 folder of NVIDIA's wheels")
set(_gt_roots ${GT_CUDA_ROOT} $ENV{CUDA_HOME} /usr/local/cuda)
find_path(GT_CUDA_INCLUDE nvrtc.h PATHS ${_gt_roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(GT_CUDA_NVRTC NAMES nvrtc libnvrtc.so.13 PATHS ${_gt_roots} PATH_SUFFIXES lib64 lib NO_DEFAULT_PATH)
find_library(GT_CUDA_CUDART NAMES cudart libcudart.so.13 PATHS ${_gt_roots} PATH_SUFFIXES lib64 lib NO_DEFAULT_PATH)
if(GT_CUDA_INCLUDE AND GT_CUDA_NVRTC AND GT_CUDA_CUDART)
  set(GT_CUDA_FOUND TRUE)
  foreach(_gt_part nvrtc cudart)
    string(TOUPPER ${_gt_part} _gt_upper)
    add_library(gt::${_gt_part} SHARED IMPORTED)
    set_target_properties(gt::${_gt_part} PROPERTIES
      IMPORTED_LOCATION "${GT_CUDA_${_gt_upper}}"
      INTERFACE_INCLUDE_DIRECTORIES "${GT_CUDA_INCLUDE}")
  endforeach()
else()
  set(GT_CUDA_FOUND FALSE)
  message(STATUS "CUDA not found: building core, kernel_templates, search and db only")
endif()

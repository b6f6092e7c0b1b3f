// SPDX-License-Identifier: Apache-2.0
// Folders that may hold CUDA's libraries where the dynamic loader does not find them.
//
// A toolkit lies in one of few places. NVIDIA's wheels (pip install nvidia-cuda-nvrtc) lie in a
// folder nvidia/cu13/lib below a Python environment's packages, which the loader never searches.
// Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gemm_tune {

// The values of the environment's variables; empty where one is not set.
struct CudaEnvironment {
  std::string cuda_home;    // CUDA_HOME: a toolkit
  std::string virtual_env;  // VIRTUAL_ENV: the active Python environment
  std::string path;         // PATH: the folders of python3
  std::string home;         // HOME: pip install --user
};

// Those that exist of: CUDA_HOME's, the usual ones of a toolkit.
std::vector<std::filesystem::path> toolkit_folders(const CudaEnvironment& environment);

// Those that exist, of the active Python environment, of each python3 on PATH (of all versions
// where pyenv provides it), and of the user.
std::vector<std::filesystem::path> wheel_folders(const CudaEnvironment& environment);

// That of wheels in the folder of packages that holds the binary's package, if it exists: of
// site-packages/gemm_tune/libgemm_tune.so.0 and site-packages/gemm_tune/bin/gemm-tune,
// site-packages/nvidia/cu13/lib.
std::vector<std::filesystem::path> wheel_folders_beside(const std::filesystem::path& binary);

// From now on cuda_folders() also follows the environment as it is at this call. For the program
// and for gt_open(NULL): a library reads the environment nowhere else. A process with more rights
// than its user (setuid) gets nothing from the environment.
void look_for_cuda_in_environment();

// Further folders of wheels, of whoever knows them otherwise: Python's own search path. They
// replace those of an earlier call.
void look_for_cuda_in(std::vector<std::filesystem::path> folders);

// Where to look for CUDA's libraries, the most likely folder first: a toolkit's, those of wheels
// beside the Python package that holds this library or program, those that were named, those of
// wheels in the environment.
std::vector<std::filesystem::path> cuda_folders();

// Whether look_for_cuda_in_environment() was called.
bool looks_for_cuda_in_environment();

}  // namespace gemm_tune

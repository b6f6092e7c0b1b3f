# SPDX-License-Identifier: Apache-2.0
# cpack -G DEB, in the build folder, after its target installed (`./run packages`): gemm-tune, libgemm-tune0, libgemm-tune-dev and gemm-tune-defaults for Debian and Ubuntu. CUDA's libraries
# are no dependency: they are opened when needed, and the program says what to install where they are missing.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gemm-tune)
set(CPACK_PACKAGE_VENDOR gemm-tune)
# The project has no mail address of its own: RFC 2606 reserves .invalid for addresses that nobody has. Who distributes
# packages names a reachable one: ./run packages "Name <address>", or cpack -D CPACK_PACKAGE_CONTACT="Name <address>".
set(CPACK_PACKAGE_CONTACT "gemm-tune developers <noreply@gemm-tune.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program preload library development defaults)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
# The drop-in is of use with the program alone.
set(CPACK_COMPONENT_PROGRAM_GROUP program)
set(CPACK_COMPONENT_PRELOAD_GROUP program)
set(CPACK_COMPONENT_LIBRARY_GROUP library)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP development)
set(CPACK_COMPONENT_DEFAULTS_GROUP defaults)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(_gt_same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME gemm-tune)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libgemm-tune0 ${_gt_same_version}")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "autotuner of matrix multiplication on NVIDIA GPUs
Finds the fastest GEMM kernel for a GPU and matrix sizes, verified and
timed, and serves the winners to programs that call cuBLAS. Kernels are
compiled by NVRTC 13, from NVIDIA's package cuda-nvrtc-13-0.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libgemm-tune0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "tuned matrix multiplication on NVIDIA GPUs, shared library
Launches the kernels that gemm-tune found to be the fastest. CUDA's
libraries are opened when a kernel is compiled.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libgemm-tune-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libgemm-tune0 ${_gt_same_version}")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "tuned matrix multiplication on NVIDIA GPUs, headers
The headers, the CMake package and the pkg-config file of libgemm-tune0.")

set(CPACK_DEBIAN_DEFAULTS_PACKAGE_NAME gemm-tune-defaults)
set(CPACK_DEBIAN_DEFAULTS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEFAULTS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEFAULTS_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEFAULTS_DESCRIPTION "tuned matrix multiplication on NVIDIA GPUs, winners for some GPUs
Measured winners for common sizes, which gemm-tune and libgemm-tune0
use where a size was not tuned on the machine.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS gemm-tune-defaults)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS gemm-tune-defaults)

# The loader's cache is renewed after both packages that have libraries.
file(WRITE "${PROJECT_BINARY_DIR}/debian/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/debian/triggers")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/debian/triggers")

# What Debian's policy asks of each package, and of none that is installed otherwise.
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/debian_files.cmake")
include(CPack)

// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_libraries/cuda_folders.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

#include "gpu/cuda_libraries/cuda_library.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

class CudaFolders : public ::testing::Test {
 protected:
  // As `pip install nvidia-cuda-nvrtc` makes it below a folder of packages.
  fs::path make_wheel(const std::string& packages) {
    const fs::path folder = root() / packages / "nvidia/cu13/lib";
    fs::create_directories(folder);
    return folder;
  }

  void make_python_in(const std::string& bin) {
    fs::create_directories(root() / bin);
    write_file(root() / bin / "python3", "");
  }

  fs::path root() const { return folder_.path(); }
  std::string path(const std::string& below) const { return (root() / below).string(); }

 private:
  TempFolder folder_;
};

TEST_F(CudaFolders, AWheelIsFoundInTheActivePythonEnvironment) {
  const fs::path wheel = make_wheel("venv/lib/python3.12/site-packages");
  EXPECT_THAT(wheel_folders({"", path("venv"), "", ""}), ElementsAre(wheel));
}

TEST_F(CudaFolders, AWheelIsFoundInTheEnvironmentOfEachPython3OnPath) {
  const fs::path first = make_wheel("conda/lib/python3.11/site-packages");
  const fs::path second = make_wheel("usr/local/lib/python3.11/dist-packages");  // Debian's pip
  make_python_in("conda/bin");
  make_python_in("usr/bin");
  make_wheel("other/lib/python3.11/site-packages");
  fs::create_directories(root() / "other/bin");  // without a python3
  EXPECT_THAT(
      wheel_folders(
          {"", "", path("conda/bin/") + ":" + path("other/bin") + "::" + path("usr/bin"), ""}),
      ElementsAre(first, second));
}

TEST_F(CudaFolders, WheelsOfEachVersionOfPyenvAreFoundTheLatestFirst) {
  make_python_in("pyenv/shims");
  const fs::path earlier = make_wheel("pyenv/versions/3.11.7/lib/python3.11/site-packages");
  const fs::path later = make_wheel("pyenv/versions/3.12.1/lib/python3.12/site-packages");
  EXPECT_THAT(wheel_folders({"", "", path("pyenv/shims"), ""}), ElementsAre(later, earlier));
}

TEST_F(CudaFolders, AWheelOfTheUserIsFoundAfterThatOfTheActiveEnvironment) {
  const fs::path users = make_wheel("home/.local/lib/python3.11/site-packages");
  const fs::path active = make_wheel("venv/lib/python3.11/site-packages");
  EXPECT_THAT(wheel_folders({"", path("venv"), "", path("home")}), ElementsAre(active, users));
}

TEST_F(CudaFolders, WheelsOfAnotherCudaAndRelativePathsAreNotTaken) {
  fs::create_directories(root() / "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib");
  EXPECT_THAT(wheel_folders({"", path("venv"), "bin:.:", "home"}), IsEmpty());
  EXPECT_THAT(wheel_folders({}), IsEmpty());
}

TEST_F(CudaFolders, TheToolkitOfCudaHomeIsTakenFirst) {
  fs::create_directories(root() / "toolkit/lib64");
  const auto folders = toolkit_folders({path("toolkit"), "", "", ""});
  ASSERT_FALSE(folders.empty());
  EXPECT_EQ(folders.front(), root() / "toolkit/lib64");
}

TEST_F(CudaFolders, AWheelIsFoundBesideThePackageThatHoldsTheLibraryOrTheProgram) {
  const fs::path wheel = make_wheel("site-packages");
  EXPECT_THAT(wheel_folders_beside(path("site-packages/gemm_tune/libgemm_tune.so.0")),
              ElementsAre(wheel));
  EXPECT_THAT(wheel_folders_beside(path("site-packages/gemm_tune/bin/gemm-tune")),
              ElementsAre(wheel));
  EXPECT_THAT(wheel_folders_beside(path("site-packages/a/b/c/gemm-tune")), IsEmpty());
  EXPECT_THAT(wheel_folders_beside({}), IsEmpty());
}

TEST_F(CudaFolders, AFolderThatWasNamedIsSearchedUntilOthersAre) {
  const fs::path wheel = make_wheel("elsewhere");
  look_for_cuda_in({wheel, root() / "missing"});
  EXPECT_THAT(cuda_folders(), Contains(wheel));
  EXPECT_THAT(cuda_folders(), Not(Contains(root() / "missing")));
  look_for_cuda_in({});
  EXPECT_THAT(cuda_folders(), Not(Contains(wheel)));
}

TEST_F(CudaFolders, ALibraryOfTheEnvironmentIsOpenedOnlyByWhoLooksThere) {
  const fs::path wheel = make_wheel("venv/lib/python3.12/site-packages");
  void* const any = open_cuda_library({"libm.so.6", "", "", ""});
  const link_map* map = nullptr;
  ASSERT_EQ(::dlinfo(any, RTLD_DI_LINKMAP, &map), 0);
  fs::copy_file(map->l_name, wheel / "libfaked.so.13");
  const CudaLibrary faked{"libfaked.so.13", "Faked 13", "cuda-faked-13-0", "nvidia-cuda-faked"};

  ::setenv("VIRTUAL_ENV", path("venv").c_str(), 1);
  EXPECT_ANY_THROW(open_cuda_library(faked));
  look_for_cuda_in_environment();
  ::unsetenv("VIRTUAL_ENV");
  EXPECT_THAT(cuda_folders(), Contains(wheel));
  EXPECT_NE(open_cuda_library(faked), nullptr);
}

}  // namespace
}  // namespace gemm_tune

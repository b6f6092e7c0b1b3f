// SPDX-License-Identifier: Apache-2.0
#include "gpu/compile/nvrtc.h"

#include <nvrtc.h>
#include <signal.h>

#include <algorithm>
#include <iterator>

#include "core/candidate/compile_options.h"
#include "core/error.h"
#include "gpu/compile/ptxas_log.h"
#include "gpu/cuda_libraries/cuda_library.h"

namespace gemm_tune {
namespace {

// NVRTC's functions, by their own names.
struct Nvrtc {
  void* const library =
      open_cuda_library({"libnvrtc.so.13", "NVRTC 13", "cuda-nvrtc-13-0", "nvidia-cuda-nvrtc"});
#define GT_FUNCTION(name) \
  decltype(::name)* const name = find_function<decltype(::name)>(library, #name)
  GT_FUNCTION(nvrtcVersion);
  GT_FUNCTION(nvrtcGetErrorString);
  GT_FUNCTION(nvrtcGetNumSupportedArchs);
  GT_FUNCTION(nvrtcGetSupportedArchs);
  GT_FUNCTION(nvrtcCreateProgram);
  GT_FUNCTION(nvrtcDestroyProgram);
  GT_FUNCTION(nvrtcCompileProgram);
  GT_FUNCTION(nvrtcGetProgramLogSize);
  GT_FUNCTION(nvrtcGetProgramLog);
  GT_FUNCTION(nvrtcGetCUBINSize);
  GT_FUNCTION(nvrtcGetCUBIN);
  GT_FUNCTION(nvrtcGetPTXSize);
  GT_FUNCTION(nvrtcGetPTX);
#undef GT_FUNCTION
};

// Opened at the first call. Throws DeviceError where that is impossible; the next call tries again.
const Nvrtc& nvrtc() {
  static const Nvrtc opened;
  return opened;
}

void check_nvrtc(nvrtcResult code, const char* function) {
  if (code == NVRTC_SUCCESS) return;
  if (code == NVRTC_ERROR_OUT_OF_MEMORY) {
    throw MemoryError(std::string(function) + " had no memory");
  }
  throw DeviceError(std::string(function) + " failed with " + nvrtc().nvrtcGetErrorString(code));
}

// Of the library's package, beside the library itself.
std::string builtins_file(const std::pair<int, int>& version) {
  return "libnvrtc-builtins.so." + std::to_string(version.first) + "." +
         std::to_string(version.second);
}

#define GT_NVRTC(function, ...) check_nvrtc(nvrtc().function(__VA_ARGS__), #function)

// While it lives, SIGINT and SIGTERM to this thread wait. NVRTC handles both itself while it
// compiles, by ending the process with 4, and then puts back the handlers that were there. A signal
// that another thread may take still meets NVRTC's.
class EndingSignalsWait {
 public:
  EndingSignalsWait() {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &both, &before_);
  }
  ~EndingSignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndingSignalsWait(const EndingSignalsWait&) = delete;
  EndingSignalsWait& operator=(const EndingSignalsWait&) = delete;

 private:
  sigset_t before_;
};

// One program from source to cubin.
class Program {
 public:
  explicit Program(const NvrtcSource& source) {
    std::vector<const char*> names, texts;
    for (const auto& header : source.headers) {
      names.push_back(header.first.c_str());
      texts.push_back(header.second.c_str());
    }
    GT_NVRTC(nvrtcCreateProgram, &program_, source.text.c_str(), source.path.c_str(),
             static_cast<int>(names.size()), texts.data(), names.data());
  }
  ~Program() { nvrtc().nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const EndingSignalsWait until_it_has_compiled;
    return nvrtc().nvrtcCompileProgram(program_, static_cast<int>(pointers.size()),
                                       pointers.data());
  }

  std::string log() const {
    return text_of(
        fetched(nvrtc().nvrtcGetProgramLogSize, nvrtc().nvrtcGetProgramLog, "nvrtcGetProgramLog"));
  }

  std::string cubin() const {
    return fetched(nvrtc().nvrtcGetCUBINSize, nvrtc().nvrtcGetCUBIN, "nvrtcGetCUBIN");
  }

  std::string ptx() const {
    return text_of(fetched(nvrtc().nvrtcGetPTXSize, nvrtc().nvrtcGetPTX, "nvrtcGetPTX"));
  }

 private:
  // What a pair of NVRTC's functions gives of the program.
  std::string fetched(nvrtcResult (*size_of)(nvrtcProgram, std::size_t*),
                      nvrtcResult (*get)(nvrtcProgram, char*), const char* function) const {
    std::size_t size = 0;
    check_nvrtc(size_of(program_, &size), function);
    std::string bytes(size, '\0');
    check_nvrtc(get(program_, bytes.data()), function);
    return bytes;
  }

  // Without the closing zero byte.
  static std::string text_of(std::string bytes) {
    bytes.resize(std::min(bytes.size(), bytes.find('\0')));
    return bytes;
  }

  nvrtcProgram program_ = nullptr;
};

std::pair<int, int> checked_version() {
  int major = 0, minor = 0;
  GT_NVRTC(nvrtcVersion, &major, &minor);
  if (major < 13) {
    throw DeviceError("NVRTC " + std::to_string(major) + "." + std::to_string(minor) +
                      " is too old: install CUDA 13.0 or newer");
  }
  return {major, minor};
}

// NVRTC opens its builtins by their name at the first compilation and has no path of its own: it
// finds them beside itself only where they are open. It says itself where they are missing.
void open_builtins(const std::pair<int, int>& version) {
  static void* const builtins [[maybe_unused]] =
      open_beside(nvrtc().library, builtins_file(version));
}

[[noreturn]] void refuse_without_builtins() {
  const std::string file = builtins_file(checked_version());
  throw DeviceError("NVRTC " + nvrtc_version() + " finds no " + file +
                    " that fits it: the file belongs beside libnvrtc.so.13, in " +
                    folder_of_library(nvrtc().library) +
                    "; install the whole package cuda-nvrtc-13-0 (of pip: nvidia-cuda-nvrtc)");
}

// "sm_90a" counts as sm_90: NVRTC lists base architectures only.
void check_arch(const std::string& arch) {
  const std::vector<std::string> supported = nvrtc_supported_archs();
  std::string base = arch;
  if (!base.empty() && (base.back() == 'a' || base.back() == 'f')) base.pop_back();
  if (std::find(supported.begin(), supported.end(), base) != supported.end()) return;
  std::string list;
  for (const std::string& name : supported) list += (list.empty() ? "" : ", ") + name;
  throw DeviceError("'" + arch + "' is not an architecture that NVRTC " + nvrtc_version() +
                    " compiles for: use one of " + list);
}

// Some failures leave no error line in the log; the known case is static shared memory over 48 KB.
std::string explain_silent_failure(const std::string& log, const std::string& entry) {
  constexpr int kStaticSmemLimitBytes = 48 * 1024;
  const auto resources = parse_ptxas_log(log, entry);
  if (resources && resources->smem_bytes > kStaticSmemLimitBytes) {
    return "error: " + std::to_string(resources->smem_bytes) +
           " bytes of static shared memory exceed 49152: take it as dynamic shared memory\n";
  }
  return "error: the compiler failed without giving a reason\n";
}

}  // namespace

CompileResult nvrtc_compile(const NvrtcSource& source, const std::vector<std::string>& definitions,
                            const std::string& arch, const std::string& entry) {
  open_builtins(checked_version());
  check_arch(arch);
  // If there is a driver, NVRTC answers from a cache, and cached answers lack the log that we read.
  std::vector<std::string> options(std::begin(kCodeOptions), std::end(kCodeOptions));
  options.insert(options.end(), {"--gpu-architecture=" + arch, "--ptxas-options=-v", "--no-cache"});
  for (const std::string& definition : definitions) options.push_back("-D" + definition);

  Program program(source);
  const nvrtcResult code = program.compile(options);
  // A text that does not compile is the candidate's failure, even if the compiler reports an
  // internal error. All other errors (memory, missing builtins library, options) are the
  // environment's.
  if (code == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) refuse_without_builtins();
  if (code != NVRTC_ERROR_COMPILATION && code != NVRTC_ERROR_INTERNAL_ERROR) {
    check_nvrtc(code, "nvrtcCompileProgram");
  }
  CompileResult result;
  result.log = program.log();
  if (code != NVRTC_SUCCESS) {
    if (result.log.find("error") == std::string::npos) {
      result.log += explain_silent_failure(result.log, entry);
    }
    return result;
  }
  const auto resources = parse_ptxas_log(result.log, entry);
  if (!resources) {
    result.log += "error: the text has no entry function '" + entry + "'\n";
    return result;
  }
  if (const auto line = serialised_wgmma(result.log)) {
    result.log += "error: wgmma would not overlap, by the compiler: " + std::string(*line) + "\n";
    return result;
  }
  result.ok = true;
  result.resources = *resources;
  result.cubin = program.cubin();
  result.ptx = program.ptx();
  return result;
}

std::string nvrtc_version() {
  const auto version = checked_version();
  return std::to_string(version.first) + "." + std::to_string(version.second);
}

std::string nvrtc_version_if_there() {
  try {
    return nvrtc_version();
  } catch (const DeviceError&) {
    return "";
  }
}

std::vector<std::string> nvrtc_supported_archs() {
  int count = 0;
  GT_NVRTC(nvrtcGetNumSupportedArchs, &count);
  std::vector<int> numbers(static_cast<std::size_t>(count));
  GT_NVRTC(nvrtcGetSupportedArchs, numbers.data());
  std::vector<std::string> names;
  for (const int number : numbers) names.push_back("sm_" + std::to_string(number));
  return names;
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "cli/output/failure.h"

#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "cli/output/exit_code.h"
#include "cli/output/standard_output.h"
#include "core/error.h"
#include "core/text/printable.h"

namespace gemm_tune {
namespace {

int tell_failure(const std::exception& error, int code) {
  return gemm_tune::tell_failure(std::string(error.what()), code);
}

}  // namespace

int tell_failure(const std::string& sentence, int code) {
  std::fprintf(stderr, "gemm-tune: %s\n", printable(sentence).c_str());
  return code;
}

int with_failures_told(const std::function<int()>& run) {
  try {
    return run();
  } catch (const UsageError& error) {
    return tell_failure(error, kExitUsage);
  } catch (const DeviceError& error) {
    return tell_failure(error, kExitNoDevice);
  } catch (const NothingFound& error) {
    return tell_failure(error, kExitNothingSurvived);
  } catch (const DatabaseError& error) {
    return tell_failure(error, kExitDatabase);
  } catch (const OutputError& error) {
    return tell_failure(error, kExitOutput);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) {  // of fmt::print()
      return tell_failure(standard_output_error(error.code()), kExitOutput);
    }
    if (error.code() != std::errc::resource_unavailable_try_again) {
      return tell_failure(error, kExitInternal);
    }
    return tell_failure("the system starts no further thread (" + error.code().message() +
                            "): raise the limits on processes and memory (ulimit -u, -v)",
                        kExitNoDevice);  // the code for a worker process that cannot start
  } catch (const std::bad_alloc&) {
    return tell_failure(
        "the system gives no more memory: free some, or raise the limit on it (ulimit -v)",
        kExitNoDevice);
  } catch (const std::exception& error) {
    return tell_failure(error, kExitInternal);
  }
}

}  // namespace gemm_tune

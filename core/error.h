// SPDX-License-Identifier: Apache-2.0
// The exceptions of the project: the environment or the caller failed.
//
// A candidate that fails is data (core/candidate/outcome.h), not an exception. Exceptions are
// caught in three places only: in main, at the worker's edge and at the C API's edge. The message
// is one sentence that names the offending thing and says what would be right; the user sees it
// unchanged.
#pragma once

#include <stdexcept>
#include <string>

namespace gemm_tune {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The caller asked for something malformed or impossible: an option, a size, a config text.
class UsageError : public Error {
 public:
  using Error::Error;
};

// A GPU, driver or CUDA library that is needed is missing, too old or failing.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// The system is out of memory. The request itself may be fine.
class MemoryError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// The database cannot be opened, read or written.
class DatabaseError : public Error {
 public:
  using Error::Error;
};

// The database was read and holds nothing that answers the query.
class NothingFound : public Error {
 public:
  using Error::Error;
};

// No kernel can serve a product.
class NoKernelError : public Error {
 public:
  using Error::Error;
};

// Standard output or an output file could not be written completely.
class OutputError : public Error {
 public:
  using Error::Error;
};

}  // namespace gemm_tune

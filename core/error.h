// SPDX-License-Identifier: Apache-2.0
// The kinds of failure that are not a candidate's own.
//
// A candidate that fails is data (core/outcome.h). An exception of one of these kinds means that
// the environment or the caller failed; it is caught in main, at the worker's edge and at the C
// API's edge, nowhere else. The message is one sentence that names the offending thing and what
// would be right; it is shown to the user as it stands.
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

// The system has no memory for the work at hand, which says nothing of that work.
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

// Standard output or an output file took fewer bytes than there were.
class OutputError : public Error {
 public:
  using Error::Error;
};

}  // namespace gemm_tune

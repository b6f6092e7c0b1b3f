// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.h"
#include "core/files/descriptor_limit.h"

namespace gemm_tune {

Bell::Bell() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ >= 0) return;
  throw DeviceError(std::string("the system gives no event descriptor (") + std::strerror(errno) +
                    "): " + kRaiseDescriptorLimit);
}

Bell::~Bell() { close(fd_); }

void Bell::ring() { eventfd_write(fd_, 1); }

void Bell::quiet() {
  eventfd_t count = 0;
  eventfd_read(fd_, &count);
}

}  // namespace gemm_tune

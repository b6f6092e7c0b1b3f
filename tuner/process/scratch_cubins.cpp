// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/scratch_cubins.h"

#include <unistd.h>

#include <stdexcept>

#include "core/error.h"
#include "tuner/process/scratch_dir.h"

namespace gemm_tune {
namespace {

bool write_at(int file, std::string_view bytes, off_t at) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(file, bytes.data(), bytes.size(), at);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    at += count;
  }
  return true;
}

bool read_at(int file, std::string& bytes, off_t at) {
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count =
        pread(file, bytes.data() + size, bytes.size() - size, at + static_cast<off_t>(size));
    if (count <= 0) return false;
    size += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

ScratchCubins::ScratchCubins() : folder_(temporary_folder()), file_(open_nameless_file(folder_)) {}

ScratchCubins::~ScratchCubins() { close(file_); }

void ScratchCubins::store(std::string_view key, std::string_view cubin) {
  const std::lock_guard lock(mutex_);
  if (!write_at(file_, cubin, end_)) {
    throw DeviceError("compiled kernels cannot be written to '" + folder_.string() +
                      "': make room or set TMPDIR to a folder with some");
  }
  places_.insert_or_assign(std::string(key), Place{end_, cubin.size()});
  end_ += static_cast<off_t>(cubin.size());
}

std::string ScratchCubins::load(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) throw std::out_of_range("no cubin of '" + std::string(key) + "'");
  std::string cubin(place->second.bytes, '\0');
  if (read_at(file_, cubin, place->second.begin)) return cubin;
  throw DeviceError("a compiled kernel cannot be read back from '" + folder_.string() + "'");
}

}  // namespace gemm_tune

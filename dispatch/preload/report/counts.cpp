// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/report/counts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <new>

#include "core/files/write_signals.h"
#include "dispatch/preload/report/report.h"

namespace gemm_tune::preload {
namespace {

// What differs between versions stands in the bits that kVarying leaves out.
constexpr std::uint64_t kLayout = 0x67742d636e740001ULL ^ (sizeof(Shape) << 32U) ^ kReasons << 16U;
constexpr std::uint64_t kVarying = 0x00000fff00ff0000ULL;
static_assert(sizeof(Shape) < 4096 && kReasons < 256);

bool is_of_another_version(std::uint64_t layout) {
  return layout != kLayout && (layout & ~kVarying) == (kLayout & ~kVarying);
}

// Null where it cannot be made. Its blocks are all there: a write into it must not find a full
// disk.
CountsContent* map_file(const std::string& folder, std::string& file) {
  std::string name = folder + "/counts.XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  constexpr std::size_t kBytes = sizeof(CountsContent);
  const WriteSignalsHeld held;
  void* const at = ::posix_fallocate(descriptor, 0, kBytes) != 0
                       ? MAP_FAILED
                       : ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  if (at == MAP_FAILED) {
    ::unlink(name.c_str());
    return nullptr;
  }
  file = name;
  return static_cast<CountsContent*>(at);
}

template <std::size_t size>
void copy_text(const std::string& text, std::array<char, size>& to) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::copy_n(text.data(), length, to.data());
  to[length] = '\0';
}

std::string text_of(const CountsContent& content) {
  const auto pid = static_cast<int>(content.pid);
  std::string text = process_line(pid, content.program.data(),
                                  content.has_error.load() ? content.error.data() : "",
                                  content.beyond_table.load());
  for (const CountsContent::Place& place : content.places) {
    if (!place.is_counted.load(std::memory_order_acquire)) continue;
    text += shape_line(pid, *reinterpret_cast<const Shape*>(place.shape.data()));
  }
  return text;
}

}  // namespace

Counts::Counts(const std::string& folder) {
  if (!folder.empty()) content_ = map_file(folder, file_);
  if (content_ == nullptr) {
    void* const at = ::mmap(nullptr, sizeof(CountsContent), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    content_ = static_cast<CountsContent*>(at);
  }
  std::error_code unreadable;
  copy_text(std::filesystem::read_symlink("/proc/self/exe", unreadable).string(),
            content_->program);
  content_->pid = ::getpid();
  content_->layout = kLayout;
}

Counts::~Counts() { ::munmap(content_, sizeof(CountsContent)); }

Shape* Counts::make(const ShapeKey& key) {
  const std::size_t place = content_->used.fetch_add(1, std::memory_order_relaxed);
  if (place >= CountsContent::kShapes) return nullptr;
  return new (content_->places[place].shape.data()) Shape(key);
}

void Counts::publish(const Shape* shape) {
  const auto offset = reinterpret_cast<const std::byte*>(shape) -
                      reinterpret_cast<const std::byte*>(content_->places.data());
  const auto place = static_cast<std::size_t>(offset) / sizeof(CountsContent::Place);
  content_->places[place].is_counted.store(true, std::memory_order_release);
}

void Counts::set_error(const std::string& sentence) {
  if (content_->error[0] != '\0') return;
  copy_text(sentence, content_->error);
  content_->has_error = true;
}

void Counts::forget_error() {
  content_->has_error = false;
  content_->error[0] = '\0';
}

std::string Counts::report() const { return text_of(*content_); }

void Counts::remove_file() const {
  if (!file_.empty()) ::unlink(file_.c_str());
}

std::optional<std::string> report_of(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  struct stat status {};
  const bool fits = ::fstat(descriptor, &status) == 0 &&
                    status.st_size == static_cast<off_t>(sizeof(CountsContent));
  std::uint64_t layout = 0;
  const bool is_foreign = ::pread(descriptor, &layout, sizeof layout, 0) == sizeof layout &&
                          is_of_another_version(layout);
  void* const at =
      fits ? ::mmap(nullptr, sizeof(CountsContent), PROT_READ, MAP_PRIVATE, descriptor, 0)
           : MAP_FAILED;
  ::close(descriptor);
  if (at == MAP_FAILED) return is_foreign ? std::nullopt : std::optional<std::string>("");
  const auto& content = *static_cast<const CountsContent*>(at);
  std::optional<std::string> text;
  if (!is_foreign) text = content.layout == kLayout ? text_of(content) : "";
  ::munmap(at, sizeof(CountsContent));
  return text;
}

}  // namespace gemm_tune::preload

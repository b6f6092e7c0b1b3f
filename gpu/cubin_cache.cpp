#include "gpu/cubin_cache.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "core/error.h"

namespace gemm_tune {
namespace {

// FNV-1a, 64 bit: http://www.isthe.com/chongo/tech/comp/fnv/. Guards against damage, not malice.
std::string hash(std::string_view bytes) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(value));
  return hex;
}

// The file: this line, the key, the cubin.
std::string header(std::string_view key, std::string_view cubin) {
  return "gemm-tune cubin 1 " + std::to_string(key.size()) + " " + std::to_string(cubin.size()) +
         " " + hash(cubin) + "\n";
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

CubinCache::CubinCache(std::filesystem::path directory) : directory_(std::move(directory)) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (!std::filesystem::is_directory(directory_)) {
    throw Error("'" + directory_.string() + "' cannot serve as kernel cache: " +
                (error ? error.message() : "it is no directory"));
  }
}

std::filesystem::path CubinCache::file(std::string_view key) const {
  return directory_ / (hash(key) + ".cubin");
}

std::optional<std::string> CubinCache::load(std::string_view key) const {
  std::ifstream in(file(key), std::ios::binary);
  if (!in) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::size_t line_end = text.find('\n');
  if (line_end == std::string::npos) return std::nullopt;
  const std::size_t key_begin = line_end + 1;
  // The key stands in the file, so that two keys of one hash cannot be taken for each other.
  if (text.compare(key_begin, key.size(), key) != 0) return std::nullopt;
  if (text.size() < key_begin + key.size()) return std::nullopt;
  std::string cubin = text.substr(key_begin + key.size());
  if (text.substr(0, key_begin) != header(key, cubin)) return std::nullopt;
  return cubin;
}

bool CubinCache::store(std::string_view key, std::string_view cubin) const {
  std::string aside = (directory_ / "writing-XXXXXX").string();
  const int descriptor = ::mkstemp(aside.data());
  if (descriptor < 0) return false;
  const bool written = write_all(descriptor, header(key, cubin)) && write_all(descriptor, key) &&
                       write_all(descriptor, cubin);
  const bool closed = ::close(descriptor) == 0;
  std::error_code error;
  if (written && closed) {
    std::filesystem::rename(aside, file(key), error);
    if (!error) return true;
  }
  std::filesystem::remove(aside, error);
  return false;
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/frame.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/error.h"
#include "core/text/printable.h"

namespace gemm_tune {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 4;

enum class Kind { natural, negative, bytes, text, array, map, tag, other };

// The number behind an item's first byte: a value, a length, or a float's bits.
std::optional<std::uint64_t> take_argument(std::string_view& rest, unsigned info) {
  if (info < 24) return info;
  if (info > 27)
    return std::nullopt;  // a length that is told by an end mark; the program sends none
  const std::size_t size = std::size_t{1} << (info - 24);
  if (rest.size() < size) return std::nullopt;
  std::uint64_t argument = 0;
  for (const char byte : rest.substr(0, size)) {
    argument = argument << 8 | static_cast<unsigned char>(byte);
  }
  rest.remove_prefix(size);
  return argument;
}

// false, true, null and finite floats.
bool is_plain(unsigned info, std::uint64_t bits) {
  constexpr std::uint64_t kFloatExponent = 0x7f800000, kDoubleExponent = 0x7ff0000000000000;
  if (info == 26) return (bits & kFloatExponent) != kFloatExponent;
  if (info == 27) return (bits & kDoubleExponent) != kDoubleExponent;
  return info >= 20 && info <= 22;
}

// Takes one value off the bytes; false where no message has it. nlohmann-json's reader is not
// enough: it takes texts of any bytes, and follows any nesting with a stack frame for each level.
// (RFC 8949, section 3.)
bool take_value(std::string_view& rest, int depth = 0) {
  if (rest.empty() || depth > kMaxFrameNesting) return false;
  const auto first = static_cast<unsigned char>(rest.front());
  const unsigned info = first & 31U;
  rest.remove_prefix(1);
  const std::optional<std::uint64_t> argument = take_argument(rest, info);
  if (!argument) return false;
  const auto kind = static_cast<Kind>(first >> 5);
  if (kind == Kind::bytes || kind == Kind::text) {
    if (*argument > rest.size()) return false;
    const std::string_view content = rest.substr(0, *argument);
    rest.remove_prefix(content.size());
    return kind == Kind::bytes || is_utf8(content);
  }
  if (kind == Kind::array || kind == Kind::map) {
    for (std::uint64_t i = 0; i < *argument; ++i) {
      if (kind == Kind::map && !take_value(rest, depth + 1)) return false;
      if (!take_value(rest, depth + 1)) return false;
    }
    return true;
  }
  return kind == Kind::other ? is_plain(info, *argument) : kind != Kind::tag;
}

// Discarded where the bytes are no message.
json message_of(std::string_view bytes) {
  std::string_view rest = bytes;
  if (!take_value(rest) || !rest.empty()) return json(json::value_t::discarded);
  return json::from_cbor(bytes.begin(), bytes.end(), /*strict=*/true, /*allow_exceptions=*/false);
}

std::string length_prefix(std::size_t length) {
  std::string prefix;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    prefix += static_cast<char>(length >> (8 * i) & 0xff);
  }
  return prefix;
}

std::size_t length_in(std::string_view prefix) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::size_t{static_cast<unsigned char>(prefix[i])} << (8 * i);
  }
  return length;
}

// False at the end of what can be read.
bool append_some(int descriptor, FrameReader& reader) {
  std::array<char, 65536> chunk{};
  ssize_t count = 0;
  do {
    count = read(descriptor, chunk.data(), chunk.size());
  } while (count < 0 && errno == EINTR);
  if (count > 0) reader.append({chunk.data(), static_cast<std::size_t>(count)});
  return count > 0;
}

}  // namespace

std::string to_frame(const json& message) {
  std::string body;
  json::to_cbor(message, body);
  if (body.size() > kMaxFrameBytes) {
    throw Error("a message between the program and a worker has " + std::to_string(body.size()) +
                " bytes: " + std::to_string(kMaxFrameBytes) + " at most are sent");
  }
  return length_prefix(body.size()) + body;
}

std::optional<json> FrameReader::next() {
  if (buffer_.size() < kLengthBytes) return std::nullopt;
  const std::size_t length = length_in(buffer_);
  // In place: a conversion of json to std::optional may be the serialiser's.
  if (length > kMaxFrameBytes) return std::optional<json>(std::in_place, json::value_t::discarded);
  if (buffer_.size() - kLengthBytes < length) return std::nullopt;
  std::optional<json> message(std::in_place,
                              message_of(std::string_view(buffer_).substr(kLengthBytes, length)));
  buffer_.erase(0, kLengthBytes + length);
  return message;
}

std::optional<json> read_message(int descriptor) {
  FrameReader reader;
  while (true) {
    std::optional<json> message = reader.next();
    if (message) return message->is_discarded() ? std::nullopt : message;
    if (!append_some(descriptor, reader)) return std::nullopt;
  }
}

bool write_frame(int descriptor, std::string_view frame) {
  while (!frame.empty()) {
    const ssize_t written = write(descriptor, frame.data(), frame.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    frame.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace gemm_tune

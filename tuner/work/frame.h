// SPDX-License-Identifier: Apache-2.0
// How messages cross the pipe between the program and its workers: frames of a length and so many
// bytes of CBOR, since JSON's text cannot hold a cubin.
//
// The length has four bytes, the lowest first. The other side may have been spoilt by a kernel: a
// frame is refused where it is longer than kMaxFrameBytes, or is no CBOR whose texts are UTF-8,
// whose numbers are finite and whose nesting is shallow. Any thread; one object from one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace gemm_tune {

// Room for the cubins of a problem's finals, which cross together: 24 of up to 10 MB.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{1} << 28;
// The largest message of the protocol nests 6 deep.
inline constexpr int kMaxFrameNesting = 32;

// Throws Error where the message is too long for a frame.
std::string to_frame(const nlohmann::json& message);

// Puts messages together from bytes as they come.
class FrameReader {
 public:
  void append(std::string_view bytes) { buffer_.append(bytes); }

  // The next message once all its bytes are there; a discarded value where they are no message,
  // after which nothing more can be read.
  std::optional<nlohmann::json> next();

 private:
  std::string buffer_;
};

// For a worker, which has one conversation and waits for it. The next message from the descriptor;
// nothing at its end and after bytes that are no message.
std::optional<nlohmann::json> read_message(int descriptor);

// Writes all of the frame; false where the other side is gone.
bool write_frame(int descriptor, std::string_view frame);

}  // namespace gemm_tune

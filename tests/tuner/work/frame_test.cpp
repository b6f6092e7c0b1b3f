// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/frame.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace gemm_tune {
namespace {

using nlohmann::json;

// A frame around any bytes.
std::string framed(const std::string& body) {
  std::string frame;
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>(body.size() >> shift);
  return frame + body;
}

bool is_refused(const std::string& bytes) {
  FrameReader reader;
  reader.append(bytes);
  const std::optional<json> message = reader.next();
  return message && message->is_discarded();
}

TEST(FrameTest, AMessageSurvivesWhateverThePiecesItComesIn) {
  const json message = {{"natural", 0xffffffffffffffffu},
                        {"negative", -5},
                        {"single", 1.5},
                        {"double", 0.1},
                        {"nothing", nullptr},
                        {"flags", {true, false}},
                        {"text", "h\xc3\xbc\n"},
                        {"bytes", json::binary({0, 10, 255})}};
  FrameReader reader;
  const std::string two = to_frame(message) + to_frame(json::object());
  for (const char byte : to_frame(message)) {
    EXPECT_FALSE(reader.next());
    reader.append({&byte, 1});
  }
  EXPECT_EQ(reader.next().value(), message);
  reader.append(two);
  EXPECT_EQ(reader.next().value(), message);
  EXPECT_EQ(reader.next().value(), json::object());
  EXPECT_FALSE(reader.next());
}

TEST(FrameTest, AFrameOfMoreThanItsMaximumIsRefusedBeforeItsBytesCome) {
  EXPECT_TRUE(is_refused(std::string("\x01\x00\x00\x10", 4)));
  FrameReader reader;
  reader.append(std::string("\x00\x00\x00\x10", 4));
  EXPECT_FALSE(reader.next());
  EXPECT_THROW(to_frame(std::string(kMaxFrameBytes, 'x')), Error);
}

TEST(FrameTest, NestingBeyondItsLimitIsRefusedHoweverDeep) {
  const std::string limit(kMaxFrameNesting, '\x81');
  EXPECT_FALSE(is_refused(framed(limit + '\x01')));
  EXPECT_TRUE(is_refused(framed('\x81' + limit + '\x01')));
  for (const char opening : {'\x81', '\x9f', '\xa1', '\xbf', '\x5f', '\x7f', '\xc1'}) {
    EXPECT_TRUE(is_refused(framed(std::string(1 << 20, opening)))) << opening;
  }
}

TEST(FrameTest, TextThatIsNotUtf8AndNumbersThatAreNotFiniteAreRefused) {
  EXPECT_TRUE(is_refused(to_frame("\xff")));
  EXPECT_TRUE(is_refused(to_frame({{"\xff", 1}})));
  EXPECT_TRUE(is_refused(to_frame(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(is_refused(to_frame(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(is_refused(framed(std::string("\xfa\x7f\x80\0\0", 5))));  // infinite, as a float
  EXPECT_FALSE(is_refused(to_frame(std::numeric_limits<double>::max())));
}

TEST(FrameTest, BytesThatAreNoMessageAreRefused) {
  EXPECT_TRUE(is_refused(framed("")));
  EXPECT_TRUE(is_refused(framed("{\"ready\": true}")));
  EXPECT_TRUE(is_refused(framed("\x01\x01")));                              // two values
  EXPECT_TRUE(is_refused(framed("\xa1\x01\x01")));                          // a key that is no text
  EXPECT_TRUE(is_refused(framed("\x62x")));                                 // a text cut short
  EXPECT_TRUE(is_refused(framed("\x9b\xff\xff\xff\xff\xff\xff\xff\xff")));  // endless elements
  EXPECT_TRUE(is_refused(framed("\x1c")));                                  // reserved
}

}  // namespace
}  // namespace gemm_tune

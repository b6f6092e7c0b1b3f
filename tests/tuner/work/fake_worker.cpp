// SPDX-License-Identifier: Apache-2.0
// A fake worker behind the pipe. usage: fake_worker START FOLDER. It sets itself up as START says,
// and acts as a request's verb says.
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "tuner/work/frame.h"

namespace {

constexpr int kPipe = 3;

bool say(const nlohmann::json& words) {
  return gemm_tune::write_frame(kPipe, gemm_tune::to_frame(words));
}

// Bytes that are no frame of the program's.
bool say_raw(const std::string& bytes) { return gemm_tune::write_frame(kPipe, bytes); }

// The length of a body of so many bytes, as a frame has it.
std::string length_of(unsigned bytes) {
  std::string length;
  for (int shift = 0; shift < 32; shift += 8) length += static_cast<char>(bytes >> shift & 0xffU);
  return length;
}

// Until the program has read what was sent.
void await_reader() {
  for (int unread = 1; ioctl(kPipe, SIOCOUTQ, &unread) == 0 && unread > 0;) sched_yield();
}

void note_pid(const std::filesystem::path& folder) {
  std::ofstream(folder / std::to_string(getpid()));
}

// Until so many workers have noted themselves.
void meet(const std::filesystem::path& folder, int count) {
  const auto met = [&] {
    return std::distance(std::filesystem::directory_iterator(folder), {}) >= count;
  };
  while (!met()) sched_yield();
}

}  // namespace

int main(int, char** argv) {
  const std::string start = argv[1];
  const std::filesystem::path folder = argv[2];
  if (start == "die") return 4;
  if (start == "note_pid") note_pid(folder);
  const bool failed = start == "greet_with_error";
  if (!say(failed ? nlohmann::json{{"error", "no GPU today"}} : nlohmann::json{{"ready", true}})) {
    return 8;
  }
  if (start == "write_first") {  // more than a pipe holds, once a request begins to come
    pollfd request{kPipe, POLLIN, 0};
    poll(&request, 1, -1);
    if (!say({{"text", std::string(4 << 20, 'x')}})) return 8;
  }
  if (start == "starve_first") {  // no memory for a request of which some is still to come
    pollfd request{kPipe, POLLIN, 0};
    poll(&request, 1, -1);
    return say({{"no_memory", true}, {"leaving", true}}) ? 0 : 8;
  }
  while (const std::optional<nlohmann::json> message = gemm_tune::read_message(kPipe)) {
    const nlohmann::json& request = *message;
    const std::string verb = request.items().begin().key();
    nlohmann::json reply = {{"echo", request.items().begin().value()}, {"pid", getpid()}};
    if (verb == "refuse") reply = {{"error", "no such device"}};
    if (verb == "crash") {
      signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit
      raise(SIGSEGV);
    }
    if (verb == "exit") _exit(3);
    if (verb == "nonsense") reply = "no reply";
    if (verb == "no_memory") reply = {{"no_memory", true}, {"leaving", true}};
    if (verb == "meet_3") {  // so that nobody answers everything
      note_pid(folder);
      meet(folder, 3);
    }
    if (verb == "hang") pause();
    if (verb == "large") reply["text"] = std::string(1 << 20, 'x');
    if (verb == "reply_and_leave" || verb == "reply_and_stay") reply["leaving"] = true;
    if (verb == "endless_frame" && !say_raw("\xff\xff\xff\xff")) return 8;
    if (verb == "deep_frame" && !say_raw(length_of(1 << 20) + std::string(1 << 20, '\x81')))
      return 8;
    // A byte after another, so that none of them comes with the next.
    const std::string frame = gemm_tune::to_frame(reply);
    for (std::size_t i = 0; verb == "slow_frame" && i < frame.size(); ++i) {
      if (!say_raw(frame.substr(i, 1))) return 8;
      await_reader();
    }
    if (verb == "half_frame") {
      say_raw(frame.substr(0, frame.size() / 2));
      return 0;
    }
    if (verb != "slow_frame" && !say_raw(frame)) return 8;
    if (verb == "reply_and_stay") pause();
    if (reply.contains("leaving")) return 0;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A fake worker behind the pipe: it sets itself up as its argument says, and acts as a request's
// verb says.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

int main(int, char** argv) {
  constexpr int kPipe = 3;
  FILE* in = fdopen(kPipe, "r");
  if (in == nullptr) return 9;
  const std::string start = argv[1];
  if (start == "die") return 4;
  if (start == "greet_slowly") usleep(400'000);
  const bool failed = start == "greet_with_error";
  if (dprintf(kPipe, failed ? "{\"error\": \"no GPU today\"}\n" : "{\"ready\": true}\n") < 0)
    return 8;
  char* line = nullptr;
  std::size_t capacity = 0;
  while (getline(&line, &capacity, in) > 0) {
    const auto request = nlohmann::json::parse(line);
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
    if (verb == "work") {  // some 300 ms that a stop does not shorten
      for (int i = 0; i < 30; ++i) usleep(10'000);
    }
    if (verb == "think") usleep(50'000);  // so that nobody answers everything
    if (verb == "hang") pause();
    if (verb == "large") reply["text"] = std::string(1 << 20, 'x');
    if (verb == "reply_and_leave") reply["leaving"] = true;
    const std::string text = reply.dump() + "\n";
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n = write(kPipe, text.data() + sent, text.size() - sent);
      if (n <= 0) return 8;
      sent += static_cast<std::size_t>(n);
    }
    if (reply.contains("leaving")) return 0;
  }
  return 0;
}

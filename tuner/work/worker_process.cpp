// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/files/descriptor_limit.h"
#include "tuner/work/protocol.h"
#include "tuner/work/worker.h"

extern char** environ;

namespace gemm_tune {
namespace {

constexpr std::chrono::seconds kGrace{5};  // for a worker to leave by itself

// What a user, a batch system or the kernel's out-of-memory killer sends; a fault of a process's
// own raises other signals.
constexpr std::array kSignalsOfOthers = {SIGKILL, SIGTERM, SIGHUP, SIGINT, SIGQUIT};

Error no_pipe(int error) {
  return Error(std::string("cannot make a pipe to a worker: ") + std::strerror(error) +
               (is_descriptor_limit(error) ? std::string(": ") + kRaiseDescriptorLimit : ""));
}

// A pipe end that the child sees under a number it knows, and under no other.
class SpawnActions {
 public:
  explicit SpawnActions(int child_fd) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, child_fd, kWorkerFd);
  }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// A thread of the program may have all signals blocked, and a child would inherit that.
class NoSignalsBlocked {
 public:
  NoSignalsBlocked() {
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  ~NoSignalsBlocked() { posix_spawnattr_destroy(&attributes_); }
  NoSignalsBlocked(const NoSignalsBlocked&) = delete;
  NoSignalsBlocked& operator=(const NoSignalsBlocked&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// This process's environment without the drop-in, under which it may run itself: cuBLAS's times are
// not those of what serves its calls.
class OwnEnvironment {
 public:
  OwnEnvironment() {
    for (char** at = environ; *at != nullptr; ++at) lines_.push_back(without_drop_in(*at));
    for (std::string& line : lines_) pointers_.push_back(line.data());
    pointers_.push_back(nullptr);
  }

  char* const* get() const { return pointers_.data(); }

 private:
  static std::string without_drop_in(const std::string& line) {
    const std::size_t name = line.find('=') + 1;
    if (!line.starts_with("LD_PRELOAD=") && !line.starts_with("LD_AUDIT=")) return line;
    std::string others;
    for (std::size_t begin = name, end; begin < line.size(); begin = end + 1) {
      end = std::min(line.find_first_of(": ", begin), line.size());
      const std::string file = line.substr(begin, end - begin);
      if (file.find("libgemm_tune_blas") != file.npos) continue;
      others += (others.empty() ? "" : ":") + file;
    }
    return line.substr(0, name) + others;
  }

  std::vector<std::string> lines_;
  std::vector<char*> pointers_;
};

}  // namespace

WorkerProcess::WorkerProcess(WorkerCommand command, WorkerClock clock) : clock_(std::move(clock)) {
  std::array<int, 2> ends{};
  // Close-on-exec: a child must not hold its siblings' pipes open, or they would outlive the
  // parent.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw no_pipe(errno);
  }
  // Moved above kWorkerFd, so that dup2 onto it always makes a fresh, inherited descriptor.
  const int child_fd = fcntl(ends[1], F_DUPFD_CLOEXEC, kWorkerFd + 1);
  const int error_of_copy = errno;
  close(ends[1]);
  if (child_fd < 0) {
    close(ends[0]);
    throw no_pipe(error_of_copy);
  }
  fd_ = ends[0];
  fcntl(fd_, F_SETFL, O_NONBLOCK);

  std::vector<char*> pointers;
  for (std::string& argument : command) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const SpawnActions actions(child_fd);
  const NoSignalsBlocked attributes;
  const OwnEnvironment environment;
  const int error = posix_spawn(&pid_, pointers[0], actions.get(), attributes.get(),
                                pointers.data(), environment.get());
  close(child_fd);
  if (error != 0) {
    close(fd_);
    throw Error("cannot start a worker process: " + std::string(std::strerror(error)));
  }
  busy_since_ = now();
}

WorkerProcess::~WorkerProcess() { end(); }

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : clock_(std::move(other.clock_)),
      pid_(std::exchange(other.pid_, -1)),
      fd_(std::exchange(other.fd_, -1)),
      state_(other.state_),
      is_garbled_(other.is_garbled_),
      busy_since_(other.busy_since_),
      let_go_at_(other.let_go_at_),
      served_(other.served_),
      unsent_(std::move(other.unsent_)),
      received_(std::move(other.received_)),
      reply_(std::move(other.reply_)) {}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  if (this == &other) return *this;
  end();
  clock_ = std::move(other.clock_);
  pid_ = std::exchange(other.pid_, -1);
  fd_ = std::exchange(other.fd_, -1);
  state_ = other.state_;
  is_garbled_ = other.is_garbled_;
  busy_since_ = other.busy_since_;
  let_go_at_ = other.let_go_at_;
  served_ = other.served_;
  unsent_ = std::move(other.unsent_);
  received_ = std::move(other.received_);
  reply_ = std::move(other.reply_);
  return *this;
}

void WorkerProcess::send(const std::string& verb, const nlohmann::json& request) {
  unsent_ = to_frame({{verb, request}});
  state_ = State::busy;
  busy_since_ = now();
  take_stops(/*keep=*/false);  // of earlier requests
  send_some();
}

// What the pipe has room for. A worker that reads nothing while it writes must not stop the
// program, which then reads.
void WorkerProcess::send_some() {
  std::string_view rest = unsent_;
  while (!rest.empty()) {
    // MSG_NOSIGNAL: a dead child is reported by receive(), not by a signal to the parent.
    const ssize_t n = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  unsent_.erase(0, unsent_.size() - rest.size());
}

WorkerProcess::Status WorkerProcess::receive() {
  send_some();
  std::array<char, 65536> chunk{};
  while (true) {
    if (std::optional<nlohmann::json> message = received_.next()) return take(*std::move(message));
    const ssize_t n = read(fd_, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Status::partial;
    if (n <= 0) return Status::died;
    received_.append({chunk.data(), static_cast<std::size_t>(n)});
  }
}

// A whole message. Only a worker without memory for the request answers before it has all of it.
WorkerProcess::Status WorkerProcess::take(nlohmann::json message) {
  reply_ = std::move(message);
  const bool gives_up = reply_.is_object() && reply_.contains(kNoMemoryKey);
  is_garbled_ = !reply_.is_object() || state_ == State::idle || (is_sending() && !gives_up);
  if (is_garbled_) return Status::died;
  unsent_.clear();
  const bool greeting = state_ == State::starting;
  state_ = State::idle;
  if (!greeting) ++served_;
  return greeting ? Status::greeting : Status::reply;
}

WorkerProcess::Ending WorkerProcess::ending() {
  close(std::exchange(fd_, -1));
  // Its pipe closes shortly before it can be reaped; only one that lives on is killed here.
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  int status = 0;
  bool gone = false;
  while (!is_garbled_ && !(gone = waitpid(pid_, &status, WNOHANG) == pid_) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!gone) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return {is_garbled_ ? "sent something that is no reply" : "closed its pipe"};
  }
  pid_ = -1;
  if (!WIFSIGNALED(status)) {
    return {"exited with code " + std::to_string(WEXITSTATUS(status))};
  }
  const int signal = WTERMSIG(status);
  return {"was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")",
          std::find(kSignalsOfOthers.begin(), kSignalsOfOthers.end(), signal) !=
              kSignalsOfOthers.end()};
}

bool WorkerProcess::take_stops(bool keep) const {
  siginfo_t info{};
  const int options = WSTOPPED | WCONTINUED | WNOHANG | (keep ? WNOWAIT : 0);
  return waitid(P_PID, static_cast<id_t>(pid_), &info, options) == 0 && info.si_pid == pid_;
}

void WorkerProcess::let_go() noexcept {
  if (fd_ >= 0) {
    close(std::exchange(fd_, -1));
    let_go_at_ = now();
  }
  if (pid_ >= 0 && state_ != State::idle) kill(pid_, SIGKILL);
}

// An idle worker leaves by itself when its pipe closes, so that tools around it can finish. One
// that is stopped or waits in the driver does not.
bool WorkerProcess::is_gone() noexcept {
  if (pid_ >= 0 && waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;
  if (pid_ >= 0 && now() - let_go_at_ >= kGrace) kill(pid_, SIGKILL);
  return pid_ < 0;
}

void WorkerProcess::end() noexcept {
  let_go();
  while (!is_gone()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace gemm_tune

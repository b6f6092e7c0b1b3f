// SPDX-License-Identifier: Apache-2.0
#include "tuner/mpi/mpi_transport.h"

// Not the C++ bindings, which MPI-3 has removed.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <climits>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "core/error.h"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace gemm_tune {
namespace {

constexpr int kTag = 1;
constexpr std::chrono::milliseconds kLookInterval{100};
constexpr std::chrono::seconds kFinalizeLimit{5};

void leave(int code) {
  std::fflush(nullptr);
  _exit(code);
}

std::string reason(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace

struct MpiTransport::Unsent {
  int peer;
  std::string message;
  MPI_Request request;
};

MpiSession::MpiSession(int& argc, char**& argv) {
  int provided = 0;
  const int code = MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  if (code != MPI_SUCCESS) throw Error("MPI does not start: " + reason(code));
  if (provided < MPI_THREAD_FUNNELED) {
    throw Error("this MPI serves no program with threads (MPI_THREAD_FUNNELED)");
  }
  // A rank that dies is for the transport to see.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

MpiSession::~MpiSession() {
  if (has_lost_) leave(exit_code_);
  // A rank may be lost while the others are at their end.
  std::jthread watch([code = exit_code_](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    ended.wait_for(lock, stop, kFinalizeLimit, [] { return false; });
    if (!stop.stop_requested()) leave(code);
  });
  MPI_Finalize();
}

MpiTransport::MpiTransport(MpiSession& session)
    : session_(session), rank_(session.rank()), size_(session.size()) {}

MpiTransport::~MpiTransport() {
  for (Unsent& one : unsent_) {
    MPI_Cancel(&one.request);
    MPI_Request_free(&one.request);
  }
}

std::vector<int> MpiTransport::peers() const {
  if (rank_ != 0) return {0};
  std::vector<int> others;
  for (int rank = 1; rank < size_; ++rank) others.push_back(rank);
  return others;
}

void MpiTransport::send(int peer, std::string message) {
  if (lost_.contains(peer)) return;
  if (message.size() > INT_MAX) throw Error("a message is too long for MPI");
  Unsent& one = unsent_.emplace_back(Unsent{peer, std::move(message), MPI_REQUEST_NULL});
  const int code = MPI_Isend(one.message.data(), static_cast<int>(one.message.size()), MPI_BYTE,
                             peer, kTag, MPI_COMM_WORLD, &one.request);
  if (code == MPI_SUCCESS) return;
  unsent_.pop_back();
  next_look_ = {};
}

void MpiTransport::send_on() {
  for (auto one = unsent_.begin(); one != unsent_.end();) {
    int is_done = 0;
    const int code = MPI_Test(&one->request, &is_done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) next_look_ = {};
    one = is_done != 0 || code != MPI_SUCCESS ? unsent_.erase(one) : std::next(one);
  }
}

void MpiTransport::lose(int peer) {
  if (!lost_.insert(peer).second) return;
  session_.note_lost_rank();
  events_.push_back({peer, std::nullopt});
}

// Without ULFM's extensions nobody is ever seen to be lost. MPICH declares them, but aborts in them
// with its usual device, ch4.
void MpiTransport::look_for_lost() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + kLookInterval;
#if defined(OPEN_MPI) && defined(MPIX_ERR_PROC_FAILED)
  // Receptions from any rank fail until the failures are acknowledged.
  MPIX_Comm_failure_ack(MPI_COMM_WORLD);
  MPI_Group failed = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  if (MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed) != MPI_SUCCESS) return;
  int count = 0;
  MPI_Group_size(failed, &count);
  if (count > 0 && static_cast<std::size_t>(count) != lost_.size()) {
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < count; ++i) {
      int rank = 0;
      MPI_Group_translate_ranks(failed, 1, &i, world, &rank);
      lose(rank);
    }
    MPI_Group_free(&world);
  }
  if (failed != MPI_GROUP_EMPTY) MPI_Group_free(&failed);
#endif
}

std::optional<Transport::Event> MpiTransport::receive() {
  send_on();
  int has_message = 0;
  MPI_Status status;
  int code = MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &has_message, &status);
  if (code == MPI_SUCCESS && has_message != 0) {
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    std::string message(static_cast<std::size_t>(size), '\0');
    const int peer = status.MPI_SOURCE;
    code = MPI_Recv(message.data(), size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &status);
    if (code == MPI_SUCCESS) return Event{peer, std::move(message)};
  }
  if (code != MPI_SUCCESS) next_look_ = {};
  look_for_lost();
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.back());
  events_.pop_back();
  return event;
}

void MpiTransport::flush(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!unsent_.empty() && std::chrono::steady_clock::now() < deadline) {
    send_on();
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace gemm_tune

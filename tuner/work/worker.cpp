// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/text/parse_number.h"
#include "gpu/device.h"
#include "gpu/nvml.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/registry/user_families.h"
#include "runtime/compile.h"
#include "tuner/measure/measure.h"
#include "tuner/work/frame.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

// The line of a compiler log that says what is wrong.
std::string first_error_line(const std::string& log) {
  std::size_t at = log.find("error");
  if (at == std::string::npos) at = 0;
  const std::size_t begin = log.rfind('\n', at) == std::string::npos ? 0 : log.rfind('\n', at) + 1;
  return log.substr(begin, log.find('\n', begin) - begin);
}

// A compiler's log and the name of a process may hold any bytes.
nlohmann::json as_utf8(nlohmann::json words) {
  using Handler = nlohmann::json::error_handler_t;
  if (words.is_string()) {
    return nlohmann::json::parse(words.dump(-1, ' ', false, Handler::replace));
  }
  if (words.is_structured()) {
    for (nlohmann::json& one : words) one = as_utf8(std::move(one));
  }
  return words;
}

// What a library prints on standard error while this lives, which the user would else see between
// the program's own lines. Where the system refuses, nothing is kept.
class KeptStderr {
 public:
  KeptStderr() : kept_(memfd_create("stderr", MFD_CLOEXEC)), own_(dup(STDERR_FILENO)) {
    if (kept_ >= 0 && own_ >= 0) dup2(kept_, STDERR_FILENO);
  }
  ~KeptStderr() {
    if (own_ >= 0) dup2(own_, STDERR_FILENO);
    close(own_);
    close(kept_);
  }
  KeptStderr(const KeptStderr&) = delete;
  KeptStderr& operator=(const KeptStderr&) = delete;

  std::string text() const {
    constexpr std::size_t kMost = 4096;
    std::string text(kMost, '\0');
    const ssize_t size = pread(kept_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

 private:
  int kept_, own_;
};

// The front end says the one, in its log, and ptxas the other, on standard error.
bool tells_of_no_memory(const std::string& text) {
  return text.find("error: out of memory") != std::string::npos ||
         text.find("Memory allocation failure") != std::string::npos;
}

constexpr const char* kCompileRole = "compile";
constexpr const char* kMeasureRole = "measure";
constexpr const char* kProbeRole = "probe";

// Of address space; NVRTC and the largest candidate seen need 1 GiB. Only for workers without a
// GPU: CUDA reserves address space by the terabyte, and so do sanitizers.
#ifdef GT_SANITIZED
constexpr rlim_t kCompileMemoryBytes = RLIM_INFINITY;
#else
constexpr rlim_t kCompileMemoryBytes = rlim_t{6} << 30;
#endif

// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Worker {
 public:
  // A GPU that cannot be used throws DeviceError.
  void open_gpu(int ordinal) { measurer_ = std::make_unique<Measurer>(ordinal); }

  nlohmann::json answer(const nlohmann::json& request) {
    const auto entry = request.items().begin();
    const std::string& verb = entry.key();
    const auto& body = entry.value();
    if (verb == "compile") return compile(body.get<CompileRequest>());
    if (verb == "device") return device(body.get<DeviceRequest>());
    if (verb == "propose") return measurer().propose(body.get<ProposalsRequest>());
    if (verb == "measure") return measure(body.get<MeasureRequest>());
    if (verb == "finals") return measurer().finals(body.get<FinalsRequest>());
    throw Error("worker got the unknown request '" + verb + "'");
  }

  // After a kernel's fault nothing can run in this process any more, and one that wrote where it
  // should not may have spoilt what later candidates read.
  bool must_leave() const { return must_leave_; }

 private:
  const KernelSource& own_source(const KernelFamily& family) {
    const auto found = sources_.find(family.name);
    if (found != sources_.end()) return found->second;
    return sources_.emplace(family.name, kernel_source(family)).first->second;
  }

  CompileReply compile(const CompileRequest& request) {
    const KnownConfig config = check_config(parse_config(request.config));
    const KernelSource& text = request.source ? *request.source : own_source(*config.family);
    const KeptStderr kept;
    const Stopwatch watch;
    const CallForm form(COperand::in_place, parse_epilogue(request.epilogue));
    CompileResult result = compile_kernel(text, config, form, request.arch);
    if (!result.ok && tells_of_no_memory(result.log + kept.text())) {
      throw MemoryError("the compiler had no memory");
    }
    CompileReply reply;
    reply.config = request.config;
    reply.epilogue = request.epilogue;
    reply.ok = result.ok;
    reply.seconds = watch.seconds();
    if (!result.ok) {
      reply.log = first_error_line(result.log);
      return reply;
    }
    reply.cubin = std::move(result.cubin);
    if (request.wants_ptx) reply.ptx = std::move(result.ptx);
    reply.cubin_key = kernel_key(text, config, form, request.arch);
    reply.resources = result.resources;
    return reply;
  }

  DeviceReply device(const DeviceRequest& request) {
    check_driver();
    return {query_device(request.ordinal), driver_version().value_or(""), device_count(),
            Nvml(request.ordinal).settings(), device_uuid(request.ordinal)};
  }

  MeasureReply measure(const MeasureRequest& request) {
    const Stopwatch watch;
    MeasureReply reply = measurer().measure(request);
    reply.outcome.gpu_s = watch.seconds();
    const Disposition disposition = reply.outcome.disposition;
    must_leave_ = disposition != Disposition::ok && disposition != Disposition::rejected;
    return reply;
  }

  Measurer& measurer() {
    if (!measurer_) throw Error("a measure request reached a worker that has no GPU open");
    return *measurer_;
  }

  std::map<std::string, KernelSource> sources_;
  std::unique_ptr<Measurer> measurer_;
  bool must_leave_ = false;
};

// Nobody outlives the program, and what a Ctrl-C, a SIGTERM or the end of the terminal means is
// decided there. Batch systems send SIGTERM to whole groups. Blocked, not ignored: NVRTC sets
// handlers that end the process while it compiles for the first time.
void follow_parent(pid_t parent) {
  sigset_t decided_there;
  sigemptyset(&decided_there);
  for (const int signal : {SIGINT, SIGHUP, SIGTERM}) sigaddset(&decided_there, signal);
  pthread_sigmask(SIG_BLOCK, &decided_there, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before that took effect
}

void set_up(Worker& worker, const std::string& role, int ordinal) {
  if (role == kCompileRole) {
    rlimit limit{};  // the user's may be lower
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max =
        std::min({limit.rlim_cur, limit.rlim_max, kCompileMemoryBytes});
    setrlimit(RLIMIT_AS, &limit);
  } else if (role == kMeasureRole) {
    worker.open_gpu(ordinal);
  }
}

std::string frame_of(nlohmann::json words) { return to_frame(as_utf8(std::move(words))); }

bool say(nlohmann::json words) { return write_frame(kWorkerFd, frame_of(std::move(words))); }

WorkerCommand in_role(WorkerCommand program, const std::string& role, int ordinal) {
  program.insert(program.end(), {role, std::to_string(ordinal), std::to_string(getpid())});
  return program;
}

}  // namespace

WorkerCommand compile_worker(WorkerCommand program) {
  return in_role(std::move(program), kCompileRole, 0);
}
WorkerCommand measuring_worker(WorkerCommand program, int ordinal) {
  return in_role(std::move(program), kMeasureRole, ordinal);
}
WorkerCommand probing_worker(WorkerCommand program) {
  return in_role(std::move(program), kProbeRole, 0);
}

int run_worker(std::span<char* const> arguments) {
  const std::size_t of_families = arguments.size() < 3 ? 0 : arguments.size() - 3;
  const std::span<char* const> families = arguments.first(of_families);
  arguments = arguments.subspan(of_families);
  const bool is_whole =
      fcntl(kWorkerFd, F_GETFD) >= 0 && arguments.size() == 3 && families.size() % 2 == 0;
  const auto ordinal = is_whole ? parse_number<int>(arguments[1]) : std::nullopt;
  const auto parent = is_whole ? parse_number<pid_t>(arguments[2]) : std::nullopt;
  if (!ordinal || !parent) {
    throw UsageError("'gemm-tune worker' serves the program itself: it is not for people");
  }
  follow_parent(*parent);
  Worker worker;
  try {
    for (std::size_t i = 0; i < families.size(); i += 2) {
      load_same_family({families[i], families[i + 1]});
    }
    set_up(worker, arguments[0], *ordinal);
    say({{kReadyKey, true}});
  } catch (const std::exception& error) {  // the worker's edge
    say({{kErrorKey, error.what()}});
    return 0;
  }
  const auto with_leave = [&](nlohmann::json reply) {
    if (worker.must_leave()) reply[kLeavingKey] = true;
    return frame_of(std::move(reply));
  };
  // Put together while there is memory.
  const std::string no_memory = to_frame({{kNoMemoryKey, true}, {kLeavingKey, true}});
  const auto leave_without_memory = [&] { return write_frame(kWorkerFd, no_memory) ? 0 : 1; };
  while (true) {
    std::string frame;
    try {
      const std::optional<nlohmann::json> request = read_message(kWorkerFd);
      if (!request) return 0;
      frame = with_leave(worker.answer(*request));
    } catch (const std::bad_alloc&) {
      return leave_without_memory();
    } catch (const MemoryError&) {
      return leave_without_memory();
    } catch (const std::exception& error) {  // the worker's edge
      frame = with_leave({{kErrorKey, error.what()}});
    }
    if (!write_frame(kWorkerFd, frame) || worker.must_leave()) return 0;
  }
}

}  // namespace gemm_tune

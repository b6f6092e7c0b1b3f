// SPDX-License-Identifier: Apache-2.0
// A compiling or measuring worker without compiler and GPU. It answers as
// tests/tuner/fakes/fake_candidates.h says. For a faulty config it crashes, hangs or fails in its
// own process, as a real worker would with a real faulty candidate.
//
// usage: fake_candidate_worker LOG MODE ROLE.... Appends its pid when it starts, each config that
// it is asked to compile or to measure and, where there is one, the best time so far that it is
// told. ROLE...: ignored, since it serves every role. MODE: what the environment does to every
// compilation; may be empty:
//   killed_once  SIGKILL, the first time
//   no_memory    has none, each time
//   no_autotune  cuBLAS refuses to autotune
//   cold         none; candidates and baselines can be timed with cold operands
//   slow_library  the library's algorithms take ten times as long
//   half_speed   the GPU's finals take twice as long
//   spills       none; each kernel's registers spill
//   stopped      the whole process group is stopped, the first time
//   killed_at=N  the process group is killed when the log of all workers has N lines
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "tests/tuner/fakes/fake_candidates.h"
#include "tuner/work/frame.h"
#include "tuner/work/protocol.h"

namespace {

using namespace gemm_tune;
using fake::Fault;

constexpr int kPipe = 3;
constexpr std::string_view kKilledAt = "killed_at=";

void die_by(int signal_number) {
  signal(signal_number, SIG_DFL);  // a sanitizer would turn it into an exit
  raise(signal_number);
}

class FakeWorker {
 public:
  FakeWorker(const char* log, std::string mode)
      : path_(log), mode_(std::move(mode)), log_(open(log, O_WRONLY | O_CREAT | O_APPEND, 0600)) {
    std::filesystem::remove(fake::mark_of_hang(path_, getpid()));  // of an earlier process
    note("pid " + std::to_string(getpid()));
  }

  nlohmann::json answer(const nlohmann::json& request) {
    const std::string verb = request.begin().key();
    const nlohmann::json& body = request.begin().value();
    if (verb == "compile") return compile(body.get<CompileRequest>());
    if (verb == "propose") return propose();
    if (verb == "measure") return measure(body.get<MeasureRequest>());
    if (verb == "finals") return finals(body.get<FinalsRequest>());
    return {{kErrorKey, "unknown verb " + verb}};
  }

 private:
  nlohmann::json compile(const CompileRequest& request) const {
    note("compile " + request.config);
    if (mode_ == "killed_once" && is_first(request.config)) die_by(SIGKILL);
    if (mode_ == "no_memory") return {{kNoMemoryKey, true}, {kLeavingKey, true}};
    if (mode_ == "stopped" && is_first(request.config)) kill(0, SIGSTOP);
    const Fault fault = fake::fault_of(request.config);
    if (fault == Fault::compiler_crash) die_by(SIGSEGV);
    if (fault == Fault::endless_compile) hang();
    CompileReply reply;
    reply.config = request.config;
    reply.epilogue = request.epilogue;
    reply.cubin_key = fake::cubin_key_of(request.config, request.epilogue);
    reply.ok = fault != Fault::compile_failed;
    reply.cubin = fake::cubin_of(request.config, request.epilogue);
    reply.log = reply.ok ? "" : "error: no such instruction";
    reply.resources.registers = 64;
    if (mode_ == "spills") reply.resources.spill_bytes = 64;
    return reply;
  }

  nlohmann::json propose() const {
    note("propose");
    return ProposalsReply{{fake::kLibraryChoice, fake::kFastAlgorithm, fake::kWrongAlgorithm,
                           fake::kRefusedAlgorithm}};
  }

  nlohmann::json measure(const MeasureRequest& request) {
    const std::string& config = request.candidate.config;
    note("measure " + config);
    require_own_cubin(request.candidate, request.problem);
    if (request.best_us) note("best " + std::to_string(*request.best_us));
    MeasureReply reply;
    Outcome& outcome = reply.outcome;
    if (config == fake::kRefusedAlgorithm) {
      outcome.disposition = Disposition::rejected;
      outcome.detail = "the library refuses it";
      return reply;
    }
    // A specialisation is checked and not timed; its own faults are for its own trial.
    const Fault fault = request.small_shapes_only ? Fault::none : fake::fault_of(config);
    if (fault == Fault::crash) die_by(SIGSEGV);
    if (fault == Fault::killed) die_by(SIGKILL);
    if (fault == Fault::hang) hang();
    if (fault == Fault::garbage) return "nonsense";
    if (fault == Fault::launch_failed) outcome.disposition = Disposition::launch_failed;
    if (fault == Fault::wrong_result || spoilt_) outcome.disposition = Disposition::wrong_result;
    spoilt_ = spoilt_ || fault == Fault::spoils;
    nlohmann::json json;
    if (outcome.disposition == Disposition::ok) {
      outcome.timing = timing(time_us_of(config));
      const bool is_beaten = request.best_us && outcome.timing->median_us > *request.best_us;
      if (mode_ == "cold" && request.objective == Objective::cold && !is_beaten) {
        outcome.timing->cold_us = fake::cold_us_of(config);
      }
      outcome.error = fake::error_of(config);
      json = reply;
    } else {
      outcome.detail = "as the fake has it";
      json = reply;
      json[kLeavingKey] = true;
    }
    return json;
  }

  FinalsReply finals(const FinalsRequest& request) const {
    FinalsReply reply;
    const double factor = mode_ == "half_speed" ? 2 : 1;
    for (const CompiledConfig& finalist : request.finalists) {
      require_own_cubin(finalist, request.problem);
      reply.finalists.push_back(timing(factor * time_us_of(finalist.config)));
      if (mode_ == "cold") reply.finalists.back().cold_us = fake::cold_us_of(finalist.config);
      reply.errors.push_back(fake::error_of(finalist.config));
    }
    for (const BaselineKind kind : request.baselines) {
      if (kind == BaselineKind::cublas_autotuned) {
        const Baseline autotuned{"cublasGemmEx-autotuned", "0.0", timing(factor * 115)};
        if (mode_ == "no_autotune") {
          reply.absent.push_back(to_string(autotuned) + ": as the fake has it");
        } else {
          reply.baselines.push_back(autotuned);
        }
        continue;
      }
      const bool lt = kind == BaselineKind::cublas_lt;
      std::optional<double> error = fake::kCublasError * (lt ? 1.5 : 1);
      if (mode_ == "exact_cublas") error = 0;
      if (mode_ == "overflowing_cublas") error.reset();
      Baseline baseline{lt ? "cublasLt" : "cublasSgemm", "0.0", timing(factor * (lt ? 110 : 120)),
                        error};
      if (lt) baseline.algorithms = 7;
      reply.baselines.push_back(std::move(baseline));
    }
    return reply;
  }

  double time_us_of(const std::string& config) const {
    const bool is_slow = mode_ == "slow_library" && fake::is_of_library(config);
    return fake::time_us_of(config) * (is_slow ? 10 : 1);
  }

  // A request with another config's or epilogue's kernel, or without one, ends the run.
  static void require_own_cubin(const CompiledConfig& candidate, const Problem& problem) {
    if (candidate.cubin != fake::cubin_of(candidate.config, to_string(problem.epilogue))) _exit(6);
  }

  static Timing timing(double us) { return {us, {us, us, us, us, us, us}, 10}; }

  // Of all workers with this log.
  bool is_first(const std::string& config) const {
    const std::string mark = path_ + "." + std::to_string(fake::hash(config));
    const int file = open(mark.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file >= 0) close(file);
    return file >= 0;
  }

  [[noreturn]] void hang() const {
    std::ofstream(fake::mark_of_hang(path_, getpid()));
    while (true) pause();
  }

  void note(const std::string& line) const {
    const std::string text = line + "\n";
    if (write(log_, text.data(), text.size()) < 0) _exit(7);
    if (mode_.starts_with(kKilledAt) &&
        lines_of_log() >= std::stoi(mode_.substr(kKilledAt.size()))) {
      kill(0, SIGKILL);
    }
  }

  long lines_of_log() const {
    std::ifstream log(path_);
    return std::count(std::istreambuf_iterator<char>(log), {}, '\n');
  }

  std::string path_, mode_;
  int log_;
  bool spoilt_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 9;
  FakeWorker worker(argv[1], argv[2]);
  nlohmann::json words = {{kReadyKey, true}};
  while (true) {
    if (!write_frame(kPipe, to_frame(words))) return 8;
    if (words.is_object() && words.contains(kLeavingKey)) return 0;
    const std::optional<nlohmann::json> request = read_message(kPipe);
    if (!request) return 0;
    words = worker.answer(*request);
  }
}

#include "tuner/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "gpu/cubin_cache.h"
#include "gpu/device.h"
#include "gpu/nvrtc.h"
#include "kernel_templates/registry.h"
#include "kernel_templates/source.h"
#include "tuner/measure.h"
#include "tuner/protocol.h"

namespace gemm_tune {
namespace {

// The line of a compiler log that says what is wrong.
std::string first_error_line(const std::string& log) {
  std::size_t at = log.find("error");
  if (at == std::string::npos) at = 0;
  const std::size_t begin = log.rfind('\n', at) == std::string::npos ? 0 : log.rfind('\n', at) + 1;
  return log.substr(begin, log.find('\n', begin) - begin);
}

class Worker {
 public:
  nlohmann::json answer(const nlohmann::json& request) {
    const auto entry = request.items().begin();
    const std::string& verb = entry.key();
    const auto& body = entry.value();
    if (verb == "compile") return compile(body.get<CompileRequest>());
    if (verb == "device") return device(body.get<DeviceRequest>());
    if (verb == "measure") {
      const auto measure = body.get<MeasureRequest>();
      return measurer(measure.ordinal).measure(measure);
    }
    if (verb == "finals") {
      const auto finals = body.get<FinalsRequest>();
      return measurer(finals.ordinal).finals(finals);
    }
    throw Error("worker got the unknown request '" + verb + "'");
  }

  // After a kernel's fault nothing can run in this process any more.
  bool must_leave() const { return measurer_ && measurer_->is_poisoned(); }

 private:
  const KernelSource& source(const KernelFamily& family, const std::string& kernel_dir) {
    const auto found = sources_.find(family.name);
    if (found != sources_.end()) return found->second;
    const auto directory =
        kernel_dir.empty() ? std::nullopt : std::optional<std::filesystem::path>(kernel_dir);
    return sources_.emplace(family.name, kernel_source(family, directory)).first->second;
  }

  CompileReply compile(const CompileRequest& request) {
    const KnownConfig config = check_config(parse_config(request.config));
    const KernelSource& text = source(*config.family, request.kernel_dir);
    const CompileResult result =
        nvrtc_compile({text.path, text.text, text.headers},
                      {"TUNED_PARAMS=" + tuned_params(config.config())}, request.arch);
    CompileReply reply;
    reply.config = request.config;
    reply.ok = result.ok;
    if (!result.ok) {
      reply.log = first_error_line(result.log);
      return reply;
    }
    reply.cubin_key = text.hash + " " + request.config + " " + request.arch + " " + nvrtc_version();
    if (!CubinCache(request.cache_dir).store(reply.cubin_key, result.cubin)) {
      throw Error("compiled kernels cannot be written to '" + request.cache_dir +
                  "': make room or set TMPDIR to a folder with some");
    }
    reply.resources = result.resources;
    return reply;
  }

  DeviceReply device(const DeviceRequest& request) {
    check_driver();
    return {query_device(request.ordinal), driver_version().value_or("")};
  }

  Measurer& measurer(int ordinal) {
    if (!measurer_) measurer_ = std::make_unique<Measurer>(ordinal);
    return *measurer_;
  }

  std::map<std::string, KernelSource> sources_;
  std::unique_ptr<Measurer> measurer_;
};

}  // namespace

int run_worker() {
  // The parent decides what a Ctrl-C means, and nobody outlives it.
  signal(SIGINT, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  FILE* in = fdopen(kWorkerFd, "r");
  if (in == nullptr) {
    throw UsageError("'gemm-tune worker' serves the program itself: it is not for people");
  }
  Worker worker;
  char* line = nullptr;
  std::size_t capacity = 0;
  while (getline(&line, &capacity, in) > 0) {
    nlohmann::json reply;
    try {
      reply = worker.answer(nlohmann::json::parse(line));
    } catch (const std::exception& error) {  // the worker's edge
      reply = {{kErrorKey, error.what()}};
    }
    if (worker.must_leave()) reply[kLeavingKey] = true;
    const std::string text = reply.dump() + "\n";
    if (write(kWorkerFd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) break;
    if (worker.must_leave()) break;
  }
  return 0;
}

}  // namespace gemm_tune

#include "tuner/measure.h"

#include <iterator>
#include <set>
#include <utility>

#include "core/error.h"
#include "gpu/cubin_cache.h"
#include "gpu/cublas.h"
#include "gpu/device.h"
#include "gpu/kernel.h"
#include "gpu/nvml.h"
#include "gpu/stream.h"
#include "kernel_templates/registry.h"
#include "tuner/rotated_operands.h"
#include "tuner/timing.h"
#include "tuner/verify.h"

namespace gemm_tune {
namespace {

std::string cached_cubin(const std::string& cache_dir, const std::string& key) {
  std::optional<std::string> cubin = CubinCache(cache_dir).load(key);
  if (!cubin) throw Error("compiled kernel '" + key + "' is missing from '" + cache_dir + "'");
  return *std::move(cubin);
}

// A loaded candidate and how to launch it.
class LoadedConfig {
 public:
  LoadedConfig(const CompiledConfig& compiled, const std::string& cache_dir)
      : config_(check_config(parse_config(compiled.config))),
        kernel_(cached_cubin(cache_dir, compiled.cubin_key)),
        workspace_(static_cast<std::size_t>(config_.recipe.workspace_bytes)) {}

  const KnownConfig& config() const { return config_; }

  int max_active_ctas() const {
    return kernel_.max_active_ctas(config_.recipe.block_threads, config_.recipe.smem_bytes);
  }

  void launch(GemmArgs args, cudaStream_t stream) const {
    const std::int64_t ctas = grid_ctas(config_.recipe, packed_problem(args.M, args.N, args.K));
    void* pointers[] = {&args};
    kernel_.launch(ctas, config_.recipe.block_threads, config_.recipe.smem_bytes, stream, pointers);
  }

 private:
  KnownConfig config_;
  LoadedKernel kernel_;
  DeviceBuffer<char> workspace_;
};

Outcome launch_failure(const CudaError& error) {
  Outcome outcome;
  outcome.disposition = Disposition::launch_failed;
  outcome.detail = error.what();
  return outcome;
}

}  // namespace

struct Measurer::Impl {
  explicit Impl(int device) : ordinal(device) {
    check_driver();
    set_device(ordinal);
    const DeviceSpec spec = query_device(ordinal);
    arch = spec.arch;
    l2_bytes = spec.l2_bytes;
    stream.emplace();
    nvml.emplace(ordinal);
    timer.emplace(*stream, *nvml);
  }

  // Fresh operands for every run: the verifier belongs to one seed.
  Verifier& verifier_for(std::uint64_t seed) {
    if (!verifier || verifier_seed != seed) {
      verifier.reset();
      verifier.emplace(arch, stream->get(), seed);
      verifier_seed = seed;
    }
    return *verifier;
  }

  Cublas& cublas_library() {
    if (!cublas) {
      cublas.emplace();
      cublas->set_stream(stream->get());
    }
    return *cublas;
  }

  Gemm cublas_gemm() {
    Cublas& library = cublas_library();
    return [&library](const GemmArgs& a) {
      library.sgemm(a.M, a.N, a.K, a.alpha, a.A, a.lda, a.B, a.ldb, a.beta, a.C, a.ldc);
    };
  }

  std::set<std::string> others() const {
    const std::vector<std::string> names = nvml->other_processes();
    return {names.begin(), names.end()};
  }

  Outcome verify_and_time(const MeasureRequest& request, const LoadedConfig& loaded) {
    Outcome outcome;
    outcome.resources.emplace().ctas_per_sm = loaded.max_active_ctas();
    Verifier& verify = verifier_for(request.seed);
    const Gemm gemm = [&](const GemmArgs& args) { loaded.launch(args, stream->get()); };
    std::vector<Shape> shapes = small_verification_shapes(loaded.config());
    if (!request.small_shapes_only) shapes.push_back(shape_of(request.problem));
    for (const Shape& shape : shapes) {
      if (auto wrong = verify.check(gemm, shape)) {
        outcome.disposition = Disposition::wrong_result;
        outcome.detail = *wrong;
        return outcome;
      }
    }
    if (request.small_shapes_only) return outcome;
    const GemmArgs args = verify.timing_args(shape_of(request.problem));
    SampleRule rule;
    rule.cutoff_us = request.cutoff_us;
    outcome.timing = timer->time([&](int) { loaded.launch(args, stream->get()); }, rule);
    return outcome;
  }

  int ordinal;
  std::string arch;
  std::int64_t l2_bytes = 0;
  std::optional<Stream> stream;
  std::optional<Nvml> nvml;
  std::optional<LaunchTimer> timer;
  std::optional<Verifier> verifier;
  std::uint64_t verifier_seed = 0;
  std::optional<Cublas> cublas;
};

Measurer::Measurer(int ordinal) : impl_(std::make_unique<Impl>(ordinal)) {}
Measurer::~Measurer() = default;

MeasureReply Measurer::measure(const MeasureRequest& request) {
  std::optional<LoadedConfig> loaded;
  try {
    loaded.emplace(request.candidate, request.cache_dir);
  } catch (const CudaError& error) {
    return {launch_failure(error)};
  }
  try {
    return {impl_->verify_and_time(request, *loaded)};
  } catch (const CudaError& error) {
    // Too little memory for the operands is not the candidate's fault.
    if (error.code() == cudaErrorMemoryAllocation) throw;
    return {launch_failure(error)};
  }
}

FinalsReply Measurer::finals(const FinalsRequest& request) {
  Verifier& verify = impl_->verifier_for(request.seed);
  const Shape shape = shape_of(request.problem);
  const Gemm baseline = impl_->cublas_gemm();
  FinalsReply reply;
  reply.baseline_name = "cublasSgemm " + impl_->cublas_library().version();
  // The baseline must have done the same work.
  if (auto wrong = verify.check(baseline, shape)) {
    throw DeviceError(reply.baseline_name + " fails verification: " + *wrong);
  }
  std::vector<LoadedConfig> loaded;
  for (const CompiledConfig& finalist : request.finalists) {
    loaded.emplace_back(finalist, request.cache_dir);
  }
  std::vector<GemmArgs> operands = {verify.timing_args(shape)};
  std::vector<Launch> launches = {
      [&](int copy) { baseline(operands[static_cast<std::size_t>(copy)]); }};
  for (const LoadedConfig& config : loaded) {
    launches.push_back([&config, &operands, this](int copy) {
      config.launch(operands[static_cast<std::size_t>(copy)], impl_->stream->get());
    });
  }
  std::set<std::string> others = impl_->others();
  std::vector<Timing> timings = impl_->timer->time_interleaved(launches, FinalsRule());
  if (auto rotated = rotate_operands(operands.front(), impl_->l2_bytes, *impl_->stream)) {
    operands = std::move(rotated->copies);
    const std::vector<double> cold_us =
        impl_->timer->time_cold(launches, static_cast<int>(operands.size()));
    for (std::size_t i = 0; i < timings.size(); ++i) timings[i].cold_us = cold_us[i];
  }
  others.merge(impl_->others());
  reply.others.assign(others.begin(), others.end());
  reply.baseline = timings.front();
  reply.finalists.assign(std::make_move_iterator(timings.begin() + 1),
                         std::make_move_iterator(timings.end()));
  return reply;
}

}  // namespace gemm_tune

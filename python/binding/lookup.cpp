// SPDX-License-Identifier: Apache-2.0
#include "python/binding/lookup.h"

#include <utility>

#include "dispatch/include/gemm_tune/gemm_tune.h"
#include "python/binding/handle.h"
#include "python/binding/on_device.h"
#include "python/binding/operand.h"
#include "python/binding/prepare.h"
#include "python/binding/problem_text.h"

namespace gemm_tune {

namespace nb = nanobind;

namespace {

nb::dict answer_of(const gt_device* device, const gt_gemm_call& call) {
  gt_recipe recipe = {};
  check(gt_lookup(handle(), device, &call, &recipe));
  const char* explanation = nullptr;
  check(gt_explain(handle(), device, &call, &explanation));
  nb::dict fields;
  fields["match"] = gt_match_string(recipe.match);
  fields["source"] = recipe.source == GT_SOURCE_NONE
                         ? nb::none()
                         : nb::object(nb::str(gt_source_string(recipe.source)));
  const bool has_kernel = recipe.match != GT_MATCH_NONE;
  fields["config"] = has_kernel ? nb::object(nb::str(recipe.config)) : nb::none();
  fields["explanation"] = explanation;
  fields["align_bytes"] =
      nb::make_tuple(recipe.align_a, recipe.align_b, recipe.align_c, recipe.align_d);
  fields["workspace_bytes"] = recipe.workspace_bytes;
  const auto known = [](double value) {
    return value == 0 ? nb::none() : nb::object(nb::float_(value));
  };
  fields["tuned_us"] = known(recipe.tuned_us);
  fields["baseline_us"] = known(recipe.baseline_us);
  fields["distance"] = known(recipe.distance);
  fields["expected_us"] = known(recipe.expected_us);
  fields["expected_within"] = known(recipe.expected_within);
  fields["cublas_us"] = known(recipe.cublas_us);
  return fields;
}

// The device that arch names; the current one without.
struct NamedDevice {
  std::optional<std::string> arch, name;
  gt_device device{};

  NamedDevice(std::optional<std::string> of_arch, std::optional<std::string> of_name, int sm_count)
      : arch(std::move(of_arch)), name(std::move(of_name)) {
    device = {text_or_null(arch), text_or_null(name), sm_count};
  }
  const gt_device* get() const { return arch ? &device : nullptr; }
};

}  // namespace

nb::dict lookup(const std::string& problem, std::optional<std::string> arch,
                std::optional<std::string> name, int sm_count) {
  const NamedDevice on(std::move(arch), std::move(name), sm_count);
  const gt_gemm_call call = call_of(problem);
  return answer_of(on.get(), call);
}

nb::dict lookup_call(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  const Prepared prepared = prepare(a, b, bias, out, Memory::of_cuda);
  handle();  // opened before the device changes
  const OnDevice device(prepared.device);
  return answer_of(nullptr, prepared.product->first());
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
// The two-step filter: why a candidate is not worth compiling, and why a compiled one is not run.
//
// Structural rules live in the family; device limits and the problem's demands live here. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidate/outcome.h"
#include "core/device/device_spec.h"
#include "core/problem/problem.h"
#include "kernel_templates/registry/registry.h"
#include "search/space/config_list.h"

namespace gemm_tune {

// The reason for a config of another architecture's instructions.
inline constexpr std::string_view kLacksInstructions = "needs instructions that the target lacks";

// Before compiling: threads, shared memory, cp.async and clusters against the target, layout,
// alignment and tile multiples against the problem. Reasons are few and fixed texts, so that the
// funnel can count them.
std::optional<std::string_view> reject_before_compile(const KnownConfig& config,
                                                      const Problem& problem,
                                                      const DeviceSpec& device);

// The part of it that holds at every problem.
std::optional<std::string_view> reject_on_device(const KnownConfig& config,
                                                 const DeviceSpec& device);

// Whether the compiler would spill, by the family's estimate of a thread's registers.
bool would_spill(const KnownConfig& config, const DeviceSpec& device);

// Whether so much of the larger operand is worth keeping in the L2 between launches: not where it
// fits there as a whole, and neither more than the L2 holds beside what passes it by nor so little
// that no clock would show it.
bool may_keep(int sixteenths, const Problem& problem, const DeviceSpec& device);

// What is legal and yet not worth trying. On every GPU: checks of edges that are not there, stages
// without slices, operands kept in an L2 that holds all of them anyway or less, instructions of
// half the depth that the target's have, launch bounds that bind nothing, registers that would
// spill. Beyond that: what lost everywhere in recordings, where the architecture's machine profile
// holds any. The search leaves it out, --config does not.
std::optional<std::string_view> reject_needless(const KnownConfig& config, const Problem& problem,
                                                const DeviceSpec& device);

// The part of it that holds at every problem.
std::optional<std::string_view> reject_needless_on_device(const KnownConfig& config,
                                                          const DeviceSpec& device);

// Of configs that these two let pass, all that the verdicts at a problem depend on.
std::vector<int> seen_by_problems(const KnownConfig& config);

// Those of these verdicts that follow from few of the family's parameters, as rules by which an
// enumeration prunes. They turn down nothing that the two functions above do not.
std::vector<FamilyRule> rules_of_problem(const KernelFamily& family, const Problem& problem,
                                         const DeviceSpec& device);

// A spill of a few registers outside the main loop costs nothing that a clock would show; whether
// it is there is for the timing to say. More than this is not worth the GPU's time.
inline constexpr int kTolerableSpillBytes = 32;  // stores + loads, or stack frame, per thread

// After compiling: spills, stack, and whether a CTA fits an SM at all. resources.ctas_per_sm is
// filled in by complete_resources().
std::optional<std::string> reject_after_compile(const Resources& resources);

// Of the points, those that the compiler rejects because it rejected this one: they differ in
// parameters alone that change no kernel's registers (RegistersBy).
std::vector<std::size_t> rejected_alike(const ConfigList& points, std::size_t rejected);

// The compiler's figures plus dynamic shared memory and CTAs per SM.
Resources complete_resources(Resources compiled, const KnownConfig& config,
                             const DeviceSpec& device);

}  // namespace gemm_tune

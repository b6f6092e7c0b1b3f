// SPDX-License-Identifier: Apache-2.0
#include "search/model/static_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/device/occupancy.h"
#include "core/types/parts.h"
#include "core/types/signature.h"
#include "kernel_templates/family.h"
#include "search/model/main_loop.h"
#include "search/model/warpgroup_cycles.h"

namespace gemm_tune {
namespace {

constexpr double kSectorBytes = 32;  // the unit of traffic between L1, L2 and DRAM

double element_bytes(ElementType type) { return bytes_of(type); }

// Of an element of A or B as the product reads it: of all its parts where it is split.
double read_bytes(const Traits& traits, ElementType type) {
  const int parts = parts_of(traits.signature, type);
  return parts > 1 ? parts * kPartBytes : element_bytes(type);
}

// Registers and spills of a config, compiled or estimated.
struct Footprint {
  int registers = 1;
  int smem_bytes = 0;
  double spill_bytes = 0;  // stores + loads per thread
};

Footprint footprint(const Traits& traits, const DeviceSpec& device,
                    const std::optional<Resources>& resources, const ModelConstants& constants) {
  if (resources) {
    return {std::max(resources->registers, 1), std::max(resources->smem_bytes, traits.smem_bytes),
            static_cast<double>(resources->spill_bytes)};
  }
  // Launch bounds make the compiler fit the CTAs' registers into the SM, in steps of 8; what it
  // cannot do without is stored and loaded again.
  const int warps = (traits.threads + 31) / 32;
  const int fit = device.registers_per_cta / (warps * 32 * traits.least_ctas_per_sm) / 8 * 8;
  const int most = std::min(device.max_registers_per_thread, fit);
  const int wanted = std::max(traits.registers_estimate, 1);
  return {std::min(wanted, most), traits.smem_bytes,
          std::max(0.0, wanted - most - constants.squeezable_registers) * 2 * kRegisterBytes};
}

// How much longer an access gets because whole sectors move.
double sector_waste(double bytes) {
  return bytes > 0 ? std::ceil(bytes / kSectorBytes) * kSectorBytes / bytes : 1;
}

// How the grid cuts the problem.
struct Work {
  double sms = 0;
  double ctas = 0;          // launched
  double slots = 0;         // for CTAs, of all SMs
  int ctas_per_sm = 0;      // resident
  double tiles = 0;         // of C
  double slices = 0;        // K slices of a whole tile's CTA
  double uncut_ctas = 0;    // CTAs if TAIL cut no tile
  double all_slices = 0;    // of all CTAs
  bool is_cut = false;      // TAIL cuts tiles of a ragged last wave
  double piece_slices = 0;  // K slices of a cut tile's CTA
  double shares = 1;        // CTAs of a tile that is shared along K
  double cut_tiles = 0;
};

Work work_of(const Traits& traits, const Problem& problem, int sm_count, const Grid& grid,
             int ctas_per_sm) {
  Work work;
  work.sms = sm_count;
  work.ctas = static_cast<double>(grid.ctas());
  work.slots = work.sms * ctas_per_sm;
  work.ctas_per_sm = ctas_per_sm;
  const double k = static_cast<double>(problem.K), piece_k = static_cast<double>(grid.piece_k);
  const double tile_slices = std::ceil(k / traits.tile_k);
  work.tiles = std::ceil(static_cast<double>(problem.M) / traits.tile_m) *
               std::ceil(static_cast<double>(problem.N) / traits.tile_n) *
               static_cast<double>(problem.batch);
  work.slices = std::ceil(tile_slices / traits.split_k);
  work.uncut_ctas = work.tiles * traits.split_k;
  work.all_slices = work.uncut_ctas * work.slices;
  work.is_cut = grid.piece_k > 0;
  work.piece_slices = std::ceil(piece_k / traits.tile_k);
  work.shares = work.is_cut ? std::ceil(k / piece_k) : traits.split_k;
  work.cut_tiles = work.is_cut ? (work.ctas - work.tiles) / (work.shares - 1) : 0;
  return work;
}

// Bytes that one SM gets from the L2 in a cycle: those that are at work share what it gives.
double l2_bytes_per_cycle(const Work& work, const ModelConstants& constants) {
  return std::min(constants.l2_port_bytes_per_cycle,
                  constants.l2_bytes_per_cycle_per_sm * work.sms / std::min(work.ctas, work.sms));
}

// a_row_bytes, b_column_bytes: that the loads of an element of each move.
Traffic traffic(const Traits& traits, const Problem& problem, const Work& work, double a_row_bytes,
                double b_column_bytes, double device_l2_bytes, const ModelConstants& constants) {
  const double grid = work.uncut_ctas, cta_k = work.slices * traits.tile_k;
  const double M = static_cast<double>(problem.M), N = static_cast<double>(problem.N);
  const double K = static_cast<double>(problem.K), batch = static_cast<double>(problem.batch);
  const double a_element = read_bytes(traits, traits.signature.a);
  const double b_element = read_bytes(traits, traits.signature.b);
  const double c_bytes = M * N * batch * element_bytes(traits.signature.d);

  Traffic bytes;
  const double per_k = traits.tile_m * a_row_bytes + traits.tile_n * b_column_bytes;
  bytes.slice = per_k * traits.tile_k;
  bytes.l2 = grid * per_k * cta_k + c_bytes;

  // Every operand comes from DRAM once. What does not fit the L2 comes again with each wave: A's
  // rows and B's columns that it covers. It covers whole rows of tiles, or with wgmma about a
  // square.
  const double once = (M * a_element + N * b_element) * K * batch;
  const double tiles_n = std::ceil(N / traits.tile_n);
  const double square_n = std::ceil(std::sqrt(work.slots * traits.tile_m / traits.tile_n));
  const double wave_n = std::min(tiles_n, traits.warpgroup_columns > 0 ? square_n : work.slots);
  const double wave_m = std::max(1.0, work.slots / wave_n);
  const double wave = std::min(
      once, (wave_m * traits.tile_m * a_element + wave_n * traits.tile_n * b_element) * cta_k);
  const double streamed = std::max(once, std::max(1.0, grid / work.slots) * wave);
  const double fits =
      once > 0 ? std::min(1.0, device_l2_bytes * constants.l2_usable_share / once) : 1.0;
  bytes.dram = once + (1 - fits) * (streamed - once) + c_bytes;

  // Where the larger operand passes the L2 by, all but what it keeps, the next launch finds that.
  const double kept =
      std::max(M * a_element, N * b_element) * K * batch * traits.kept_sixteenths / 16;
  const double room = device_l2_bytes * constants.l2_kept_share;
  if (kept > 0) bytes.dram -= kept <= room ? kept : room * room / kept;
  return bytes;
}

// What adding up the shares of tiles costs. They go through the L2, except in a cluster; the last
// CTA of a tile reads them while nobody else works, or a launch after does, on all SMs.
struct ShareSum {
  double l2_bytes = 0;
  double cycles = 0;
};

ShareSum share_sum(const Traits& traits, const Work& work, double clock_mhz,
                   const ModelConstants& constants) {
  if (traits.split_k > 1 && traits.cluster_ctas > 1) return {0, constants.cluster_sum_cycles};
  if (work.shares <= 1) return {};
  const double tile_bytes = kSumBytes * traits.tile_m * traits.tile_n;
  const double all_bytes = (work.is_cut ? work.cut_tiles * work.shares : work.ctas) * tile_bytes;
  if (traits.reduce) {
    return {2 * all_bytes,
            constants.launch_us * clock_mhz + constants.cta_overhead_cycles +
                std::ceil(work.shares / constants.reduced_at_once) * constants.l2_latency_cycles +
                all_bytes / (constants.l2_bytes_per_cycle_per_sm * work.sms)};
  }
  const double rounds = work.shares <= 8 ? 1 : 2;
  const double read = work.shares <= 8 ? work.shares : 2 * std::sqrt(work.shares);
  return {2 * all_bytes, rounds * constants.share_latency_cycles +
                             (read + rounds) * tile_bytes / constants.share_bytes_per_cycle};
}

// The SM that takes longest, in cycles.
class BusiestSm {
 public:
  // l2_rate: bytes that it gets from the L2 in a cycle.
  BusiestSm(const Traits& traits, const Work& work, const MainLoop& loop,
            const LoadLatency& latency, double l2_rate, const ModelConstants& constants)
      : traits_(traits), loop_(loop), latency_(latency), l2_rate_(l2_rate), constants_(constants) {
    if (work.is_cut) {
      add_cut_tiles(work);
    } else {
      add_tiles(work);
    }
  }

  double cycles() const { return cycles_; }
  double latency_cycles() const { return latency_cycles_; }  // exposed
  // Of whole tiles behind the last piece of a cut one: the pieces are added up beside them. Not of
  // a single whole tile: with so few, some SMs get two and others none.
  double cycles_behind_pieces() const { return cycles_behind_pieces_; }

 private:
  // The CTAs in full sets of residents, then the rest.
  void add_tiles(const Work& work) {
    const double sms = reached_sms(work.sms, traits_.cluster_ctas, constants_);
    const auto ctas = static_cast<std::int64_t>(std::ceil(work.ctas / sms));
    const std::int64_t sets = ctas / work.ctas_per_sm, rest = ctas % work.ctas_per_sm;
    add_sets(static_cast<double>(sets), work.ctas_per_sm, work.slices);
    add_sets(1, static_cast<int>(rest), work.slices);
  }

  // Where as many are resident as the cut reckons with, or fewer, in turns: either the last wave
  // alone is cut, or it and the one before so that all SMs end together. Where more are, they begin
  // together, or so many follow that the SMs end together anyhow.
  void add_cut_tiles(const Work& work) {
    const int at_once =
        static_cast<int>(std::min<double>(work.ctas_per_sm, std::ceil(work.ctas / work.sms)));
    if (at_once > traits_.tail_ctas_per_sm && work.ctas <= work.slots) {
      add_pieces_at_once(work, at_once);
      return;
    }
    const double turns = std::max(1.0, static_cast<double>(traits_.tail_ctas_per_sm) / at_once);
    const double cut_slots = work.sms * at_once * turns;
    if (at_once <= traits_.tail_ctas_per_sm && 2 * work.cut_tiles <= cut_slots) {
      add_sets((work.tiles - work.cut_tiles) / cut_slots * turns, at_once, work.slices);
      add_sets(turns, at_once, work.piece_slices);
    } else {
      const double sets = std::ceil(work.ctas / cut_slots) * turns;
      add_sets(sets, at_once, work.all_slices / cut_slots * turns / sets);
    }
    if (traits_.tail_ctas_per_sm % at_once != 0 && work.ctas > work.slots) {
      cycles_ *= constants_.uneven_turns_factor;
    }
  }

  // All CTAs are resident from the start, the long ones before the short: an SM that has got two
  // long ones multiplies the last slices of these with nothing beside them.
  void add_pieces_at_once(const Work& work, int residents) {
    const double whole = work.tiles - work.cut_tiles;
    const double longs = whole + work.cut_tiles * (work.shares - 1);
    const double rest_slices = work.slices - (work.shares - 1) * work.piece_slices;
    const auto slices_of = [&](int place) {
      const double cta = place * work.sms;  // the busiest SM's are the first of each round
      if (place == residents) return 0.0;
      return cta < whole ? work.slices : cta < longs ? work.piece_slices : rest_slices;
    };
    cycles_ += edge_cycles(residents);
    for (int left = residents; left > 0; --left) {
      const double slices = slices_of(left - 1) - slices_of(left);
      const double busy = loop_.busy_cycles(left, latency_);
      const double exposed = loop_.exposed_cycles(busy, latency_);
      cycles_ += slices * (busy + exposed);
      latency_cycles_ += slices * exposed;
      if (left > 1 && (left - 1) * work.sms < whole) {
        cycles_behind_pieces_ += slices * (busy + exposed);
      }
    }
  }

  // `count` sets of residents, each of which multiplies so many slices.
  void add_sets(double count, int residents, double slices) {
    if (count <= 0 || residents <= 0) return;
    // The first CTAs begin together; later an edge of one falls into the others' main loops.
    const double edges = cycles_ == 0 ? 1 + (count - 1) / residents : count / residents;
    const double busy = loop_.busy_cycles(residents, latency_);
    const double exposed = loop_.exposed_cycles(busy, latency_);
    cycles_ += count * slices * (busy + exposed) + edges * edge_cycles(residents);
    latency_cycles_ += count * slices * exposed;
  }

  // What lies around the main loops of `residents` CTAs at once.
  double edge_cycles(int residents) const {
    const double c_bytes = static_cast<double>(residents) * traits_.tile_m * traits_.tile_n *
                           element_bytes(traits_.signature.d);
    return c_bytes / l2_rate_ + constants_.cta_overhead_cycles +
           residents * traits_.end_wavefronts + traits_.end_barriers * constants_.sum_step_cycles +
           loop_.start_cycles(residents, latency_);
  }

  const Traits& traits_;
  const MainLoop& loop_;
  const LoadLatency& latency_;
  const double l2_rate_;
  const ModelConstants& constants_;
  double cycles_ = 0, latency_cycles_ = 0, cycles_behind_pieces_ = 0;
};

// By which an SM takes longer than its counts of instructions and wavefronts say.
double slowdown_of(const Traits& traits, const DeviceSpec& device,
                   const ModelConstants& constants) {
  double slowdown = 1;
  if (loads_operands_late(traits, device, constants)) slowdown *= constants.late_operands_factor;
  const int threads = constants.waiting_copies_warps * 32;
  if (traits.copies_wait && traits.threads >= threads) slowdown *= constants.waiting_copies_factor;
  return slowdown;
}

bool may_be_corrected(const Traits& traits) {
  return traits.is_corrected && traits.signature == Signature();
}

// As long as the shortest launch at least.
double launched_us(double us, const ModelConstants& constants) {
  return overlapped(us, constants.least_launch_us, constants.least_launch_exponent);
}

}  // namespace

int shared_registers(const Traits& traits, const DeviceSpec& device) {
  return device.registers_per_cta / (traits.threads * traits.least_ctas_per_sm);
}

bool loads_operands_late(const Traits& traits, const DeviceSpec& device,
                         const ModelConstants& constants) {
  if (uses_tensor_cores(traits.signature) || traits.stages == 1 || traits.feeds_ahead) return false;
  // Where no warps share the k steps, the estimate has a second set of operands in it either way.
  const bool shares_steps = traits.threads_along_k > 1;
  const int early =
      traits.registers_estimate + (shares_steps ? traits.thread_m + traits.thread_n : 0);
  const int most = std::min(device.max_registers_per_thread, shared_registers(traits, device));
  return early <= most + constants.squeezable_registers;
}

bool has_learned_times(const Traits& traits, const ModelConstants& constants) {
  return !constants.correction.empty() && may_be_corrected(traits);
}

ConfigModel::ConfigModel(const Traits& traits, const DeviceSpec& device,
                         const std::optional<Resources>& resources, const ModelConstants& constants)
    : traits_(traits),
      recipe_(launch_recipe(traits)),
      constants_(&constants),
      clock_mhz_(device.clock_mhz),
      dram_bytes_per_us_(device.dram_gb_per_s * 1e3 * constants.dram_efficiency),
      l2_bytes_(static_cast<double>(device.l2_bytes)),
      slowdown_(slowdown_of(traits, device, constants)),
      loop_(traits, device, footprint(traits, device, resources, constants).spill_bytes,
            constants) {
  const Footprint kernel = footprint(traits, device, resources, constants);
  const Occupancy resident = occupancy(device, traits.threads, kernel.registers, kernel.smem_bytes);
  spill_bytes_ = kernel.spill_bytes;
  ctas_per_sm_ = resident.ctas_per_sm;
  occupancy_ = resident.fraction;
  // Rows of A are read tile_k at a time; straight from global memory, L1 keeps the sectors of A for
  // the next k steps.
  const double a_element = read_bytes(traits, traits.signature.a);
  const double b_element = read_bytes(traits, traits.signature.b);
  a_row_bytes_ =
      a_element * (traits.reads_global_in_inner_loop ? 1 : sector_waste(traits.tile_k * a_element));
  b_column_bytes_ = b_element * sector_waste(traits.tile_n * b_element);
  if (traits.warpgroup_columns > 0) step_ = gemm_tune::warpgroup_step(traits, constants);
}

double ConfigModel::dram_us(double bytes) const { return bytes / dram_bytes_per_us_; }

// The launch that splits operands of f32 into parts of half their size each, or packs operands:
// every byte is read and written once. Not those of an operand that is read in place.
double ConfigModel::split_us(const Problem& problem) const {
  const Signature& types = traits_.signature;
  const auto bytes = [&](std::int64_t lines, ElementType type) {
    const int parts = parts_of(types, type);
    if (parts == 1 && !traits_.pack) return 0.0;
    const double read_bytes = element_bytes(type);
    const double written_bytes = parts > 1 ? parts * read_bytes / 2 : read_bytes;
    return static_cast<double>(lines) * (read_bytes + written_bytes);
  };
  const double of_both = bytes(problem.M, types.a) + bytes(problem.N, types.b);
  if (of_both == 0) return 0;
  const double lines_length = static_cast<double>(problem.K) * static_cast<double>(problem.batch);
  return constants_->launch_us + dram_us(of_both * lines_length);
}

// The launch that copies operands to aligned rows: every byte is read and written once.
double ConfigModel::repack_us(const Problem& problem, int sm_count) const {
  if (traits_.pack || !traits_.repack) return 0;  // packing, one launch does both
  const RepackedOperands copies = repacked_operands(recipe_, launch_problem(problem), sm_count);
  const auto elements = [](const RepackedOperand& copy) {
    return static_cast<double>(copy.from_rows * copy.from_length + copy.elements());
  };
  const double bytes = elements(copies.a) * element_bytes(traits_.signature.a) +
                       elements(copies.b) * element_bytes(traits_.signature.b);
  if (bytes == 0) return 0;
  return constants_->launch_us + dram_us(bytes);
}

// What the time at a problem consists of.
struct ConfigModel::Terms {
  double waves = 0;
  double slices = 0;  // of an SM, on the average
  double dram_bytes = 0;
  double repack_us = 0, l2_us = 0, dram_us = 0, latency_cycles = 0;
  WarpgroupCycles of_warpgroups;
  double ctas = 0, tiles = 0, cta_slices = 0;  // as in Work
  double sms = 0;
  double model_us = 0;    // of the model alone
  double correction = 1;  // learned
  double time_us() const { return model_us * correction; }
};

ConfigModel::Terms ConfigModel::terms(const Problem& problem, int sm_count) const {
  const ModelConstants& constants = *constants_;
  LaunchProblem sizes{problem.M, problem.N, problem.K};
  sizes.batch = problem.batch;
  const Work work =
      work_of(traits_, problem, sm_count, grid_of(recipe_, sizes, sm_count), ctas_per_sm_);
  Traffic bytes =
      traffic(traits_, problem, work, a_row_bytes_, b_column_bytes_, l2_bytes_, constants);
  const double l2_rate = l2_bytes_per_cycle(work, constants);
  const LoadLatency latency = loop_.latency(bytes, l2_rate);
  const ShareSum sum = share_sum(traits_, work, clock_mhz_, constants);
  // Spill stores write through to the L2; the loads find their lines in L1.
  bytes.l2 +=
      work.all_slices * traits_.threads * spill_bytes_ / 2 * constants.spill_passes_per_slice;
  bytes.l2 += sum.l2_bytes;
  Terms terms;
  terms.waves = work.ctas / work.slots;
  terms.slices = work.all_slices / work.sms;
  terms.dram_bytes = bytes.dram;
  terms.repack_us = repack_us(problem, sm_count) + split_us(problem);
  terms.dram_us = dram_us(bytes.dram);
  double busy_us = 0;
  if (step_) {
    // An SM's own cycles beside DRAM. What its copies take from the L2 is among those cycles.
    const WarpgroupCycles& cycles = terms.of_warpgroups =
        warpgroup_cycles(traits_, *step_, problem, sm_count, constants);
    busy_us = cycles.slowdown *
              overlapped(cycles.total / clock_mhz_, terms.dram_us, constants.memory_exponent);
  } else {
    const BusiestSm sm(traits_, work, loop_, latency, l2_rate, constants);
    const double hidden = traits_.reduce ? 0 : sm.cycles_behind_pieces() * slowdown_;
    const double sm_cycles = sm.cycles() * slowdown_ + std::max(0.0, sum.cycles - hidden);
    terms.latency_cycles = sm.latency_cycles();
    terms.l2_us = bytes.l2 / (constants.l2_bytes_per_cycle_per_sm * work.sms * clock_mhz_);
    busy_us =
        overlapped(sm_cycles / clock_mhz_, terms.l2_us, terms.dram_us, constants.memory_exponent);
  }
  terms.model_us = launched_us(terms.repack_us + constants.launch_us + busy_us, constants);
  if (may_be_corrected(traits_)) {
    terms.ctas = work.ctas;
    terms.tiles = work.tiles;
    terms.cta_slices = work.slices;
    terms.sms = work.sms;
    if (!constants.correction.empty()) {
      terms.correction = correction(constants.correction, features(problem, terms));
    }
  }
  return terms;
}

CorrectionFeatures ConfigModel::features(const Problem& problem, const Terms& terms) const {
  const double us = terms.model_us;
  const double cycle_share = terms.slices / clock_mhz_ / us;  // of one cycle in each slice
  // What a slice's multiplications are to a warp, in thousands of its lanes' steps.
  const double steps = traits_.tile_m * traits_.tile_n * traits_.tile_k / 32e3;
  const double M = static_cast<double>(problem.M), N = static_cast<double>(problem.N);
  const auto edge = [](double extent, double tile) {
    return std::ceil(extent / tile) * tile / extent;
  };
  const double all[] = {std::log(us),
                        loop_.multiply_cycles() * cycle_share,
                        loop_.issue_cycles() * cycle_share,
                        loop_.l1_cycles() * cycle_share,
                        terms.l2_us / us,
                        terms.dram_us / us,
                        1.0 * traits_.cluster_ctas,
                        1.0 * traits_.tail_ctas_per_sm,
                        1.0 * traits_.split_k,
                        1.0 * traits_.copies_wait,
                        1.0 * traits_.registers_estimate,
                        1.0 * traits_.vec,
                        1.0 * traits_.stages,
                        1.0 * traits_.threads,
                        1.0 * traits_.threads_along_k,
                        1.0 * traits_.tile_m,
                        1.0 * traits_.tile_k,
                        1.0 * traits_.thread_n,
                        1.0 * traits_.unrolled_k,
                        1.0 * traits_.predicated,
                        1.0 * traits_.transposed_a,
                        1.0 * traits_.transposed_b,
                        traits_.feed_instructions_per_k,
                        traits_.other_instructions_per_k,
                        1.0 * (traits_.vecs != 0 ? traits_.vecs % 10 : traits_.vec),
                        traits_.fill_instructions_per_tile_k / steps,
                        traits_.fill_wavefronts_per_tile_k / steps,
                        1.0 * ctas_per_sm_,
                        terms.ctas / terms.sms,
                        terms.waves,
                        terms.waves - std::floor(terms.waves),
                        terms.tiles / terms.sms,
                        terms.cta_slices,
                        edge(M, traits_.tile_m),
                        edge(N, traits_.tile_n),
                        std::log(static_cast<double>(problem.batch))};
  CorrectionFeatures features{};
  static_assert(std::size(all) == features.size());
  std::transform(std::begin(all), std::end(all), features.begin(),
                 [](double value) { return static_cast<float>(value); });
  return features;
}

std::optional<CorrectionFeatures> ConfigModel::correction_features(const Problem& problem,
                                                                   int sm_count) const {
  if (!may_be_corrected(traits_) || ctas_per_sm_ == 0) return std::nullopt;
  return features(problem, terms(problem, sm_count));
}

double ConfigModel::time_us(const Problem& problem, int sm_count) const {
  if (ctas_per_sm_ == 0) return std::numeric_limits<double>::infinity();
  return terms(problem, sm_count).time_us();
}

Prediction ConfigModel::predict(const Problem& problem, int sm_count) const {
  Prediction prediction;
  prediction.ctas_per_sm = ctas_per_sm_;
  prediction.occupancy = occupancy_;
  if (ctas_per_sm_ == 0) {
    prediction.time_us = std::numeric_limits<double>::infinity();
    return prediction;
  }
  const Terms terms = this->terms(problem, sm_count);
  prediction.waves = terms.waves;
  prediction.tail_efficiency = prediction.waves / std::ceil(prediction.waves);
  prediction.repack_us = terms.repack_us;
  prediction.dram_us = terms.dram_us;
  prediction.flops_per_dram_byte = flops(problem) / terms.dram_bytes;
  prediction.time_us = terms.time_us();
  prediction.correction = terms.correction;
  if (step_) {
    prediction.tensor_us = terms.of_warpgroups.multiply / clock_mhz_;
    prediction.l1_us = terms.of_warpgroups.smem / clock_mhz_;
    prediction.l2_us = terms.of_warpgroups.load / clock_mhz_;
    return prediction;
  }
  const double pipe_us = terms.slices / clock_mhz_;  // for one cycle of each slice
  double& multiply_us =
      uses_tensor_cores(traits_.signature) ? prediction.tensor_us : prediction.ffma_us;
  multiply_us = loop_.multiply_cycles() * pipe_us;
  prediction.issue_us = loop_.issue_cycles() * pipe_us;
  prediction.l1_us = loop_.l1_cycles() * pipe_us;
  prediction.l2_us = terms.l2_us;
  prediction.latency_us = terms.latency_cycles / clock_mhz_;
  return prediction;
}

Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources) {
  return predict(traits, problem, device, resources, machine_profile(device.arch).model);
}

Prediction predict(const Traits& traits, const Problem& problem, const DeviceSpec& device,
                   const std::optional<Resources>& resources, const ModelConstants& constants) {
  return ConfigModel(traits, device, resources, constants).predict(problem, device.sm_count);
}

}  // namespace gemm_tune

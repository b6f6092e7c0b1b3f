// SPDX-License-Identifier: Apache-2.0
#include "tuner/trace/trace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "core/error.h"
#include "kernel_templates/cost.h"

namespace gemm_tune::ptx {
namespace {

constexpr int kLanes = 32;
constexpr int kMemoryShift = 40;  // the operand is in the address's upper bits
constexpr std::uint64_t kSectorBytes = 32;

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

using Value = std::uint64_t;
using Lanes = std::array<Value, kLanes>;
using Mask = std::uint32_t;

Value mask_of(int bits) { return bits >= 64 ? ~Value{0} : (Value{1} << bits) - 1; }

std::int64_t as_signed(Value value, int bits) {
  const int unused = 64 - bits;
  return static_cast<std::int64_t>(value << unused) >> unused;
}

// Lanes at one instruction.
struct Path {
  int at = 0;
  Mask lanes = 0;
  bool waits = false;  // at a barrier
};

struct Warp {
  int first_thread = 0;
  std::vector<Lanes> registers;
  std::vector<Path> paths;
  bool vote = false;
};

bool compare(Compare how, auto a, auto b) {
  switch (how) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return a != b;
    case Compare::lt:
      return a < b;
    case Compare::le:
      return a <= b;
    case Compare::gt:
      return a > b;
    case Compare::ge:
      return a >= b;
  }
  return false;
}

// The integer product, quotient or whatever of one lane.
Value compute(const Instruction& i, Value a, Value b, Value c) {
  const int bits = i.type.bits;
  const bool is_signed = i.type.is_signed;
  const auto sa = as_signed(a, bits), sb = as_signed(b, bits);
  const auto product = [&] {
    return is_signed ? static_cast<UnsignedWide>(Wide{sa} * sb) : static_cast<UnsignedWide>(a) * b;
  };
  const Value shift = b & 0xffffffffu;
  switch (i.op) {
    case Op::mov:
    case Op::cvt:
      return a;
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul_lo:
      return a * b;
    case Op::mad_lo:
      return a * b + c;
    case Op::mul_hi:
    case Op::mad_hi:
      return static_cast<Value>(product() >> bits) + (i.op == Op::mad_hi ? c : 0);
    case Op::mul_wide:
      return static_cast<Value>(product());
    case Op::mad_wide:
      return static_cast<Value>(product()) + c;
    case Op::div:
      if (b == 0) return mask_of(bits);
      if (is_signed && sb == -1) return Value{0} - a;  // the least integer has no quotient in C++
      return is_signed ? static_cast<Value>(sa / sb) : a / b;
    case Op::rem:
      if (b == 0) return a;
      if (is_signed && sb == -1) return 0;
      return is_signed ? static_cast<Value>(sa % sb) : a % b;
    case Op::min:
      return is_signed ? static_cast<Value>(std::min(sa, sb)) : std::min(a, b);
    case Op::max:
      return is_signed ? static_cast<Value>(std::max(sa, sb)) : std::max(a, b);
    case Op::neg:
      return Value{0} - a;
    case Op::abs:
      return sa < 0 ? Value{0} - static_cast<Value>(sa) : static_cast<Value>(sa);
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    case Op::bit_not:
      return ~a;
    case Op::shl:
      return shift >= static_cast<Value>(bits) ? 0 : a << shift;
    case Op::shr:
      if (is_signed) return static_cast<Value>(sa >> std::min<Value>(shift, 63));
      return shift >= static_cast<Value>(bits) ? 0 : a >> shift;
    case Op::selp:
      return (c & 1) != 0 ? a : b;
    case Op::bfe: {
      const int begin = static_cast<int>(b & 0xff), length = static_cast<int>(c & 0xff);
      if (length == 0 || begin >= bits) return 0;
      const int taken = std::min(length, bits - begin);
      const Value field = (a >> begin) & mask_of(taken);
      return is_signed ? static_cast<Value>(as_signed(field, taken)) : field;
    }
    default:
      return 0;
  }
}

class Tracer {
 public:
  Tracer(const Kernel& kernel, const TracedLaunch& launch, std::int64_t most)
      : kernel_(kernel), launch_(launch), left_(most) {
    static_assert(offsetof(GemmArgs, C) <= sizeof parameters_);
    std::memcpy(parameters_.data(), &launch.args, offsetof(GemmArgs, C));
  }

  Accesses run() {
    for (long long y = 0; y < launch_.grid.y; ++y) run_cta(static_cast<Value>(y));
    Accesses mean;
    for (const auto& [key, count] : sums_) {
      mean[key] = count.scaled(1.0 / static_cast<double>(launch_.grid.y));
    }
    return mean;
  }

 private:
  void run_cta(Value cta_y) {
    cta_y_ = cta_y;
    std::vector<Warp> warps;
    for (int thread = 0; thread < launch_.threads; thread += kLanes) {
      Warp& warp = warps.emplace_back();
      warp.first_thread = thread;
      warp.registers.assign(static_cast<std::size_t>(kernel_.registers), Lanes{});
      const int lanes = std::min(kLanes, launch_.threads - thread);
      warp.paths.push_back({0, static_cast<Mask>(mask_of(lanes)), false});
    }
    for (bool any = true; any;) {
      bool vote = false;
      for (Warp& warp : warps) {
        warp.vote = false;
        run_to_barrier(warp);
        vote = vote || warp.vote;
      }
      any = false;
      for (Warp& warp : warps) any = leave_barrier(warp, vote) || any;
    }
  }

  // Lets a warp's waiting lanes go on. False where all of them have ended.
  bool leave_barrier(Warp& warp, bool vote) {
    for (Path& path : warp.paths) {
      const Instruction& barrier = kernel_.instructions[static_cast<std::size_t>(path.at)];
      if (barrier.op == Op::vote_barrier) {
        for (Value& value : reg(warp, barrier.out[0])) value = vote ? 1 : 0;
      }
      path.waits = false;
      ++path.at;
    }
    join(warp);
    return !warp.paths.empty();
  }

  static void join(Warp& warp) {
    auto& paths = warp.paths;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      for (std::size_t j = i + 1; j < paths.size();) {
        if (paths[j].at != paths[i].at || paths[j].waits != paths[i].waits) {
          ++j;
          continue;
        }
        paths[i].lanes |= paths[j].lanes;
        paths.erase(paths.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
  }

  void run_to_barrier(Warp& warp) {
    for (;;) {
      Path* next = nullptr;
      for (Path& path : warp.paths) {
        if (!path.waits && (next == nullptr || path.at < next->at)) next = &path;
      }
      if (next == nullptr) return;
      const bool alone = warp.paths.size() == 1;
      // Lanes that are together stay so up to a branch.
      while (step(warp, *next) && alone) {
      }
      std::erase_if(warp.paths, [](const Path& path) { return path.lanes == 0; });
      if (warp.paths.size() > 1) join(warp);
    }
  }

  // Executes one instruction. False where the path has parted, ended or waits.
  bool step(Warp& warp, Path& path) {
    if (--left_ < 0) throw Error("the kernel executes too many instructions to be traced");
    const Instruction& i = kernel_.instructions[static_cast<std::size_t>(path.at)];
    Mask active = path.lanes;
    if (i.guard.kind == Operand::Kind::reg) {
      const Lanes& guard = reg(warp, i.guard.reg);
      Mask taken = 0;
      for (int lane = 0; lane < kLanes; ++lane) {
        taken |= static_cast<Mask>(guard[static_cast<std::size_t>(lane)] & 1) << lane;
      }
      active &= i.guard.is_negated ? ~taken : taken;
    }
    switch (i.op) {
      case Op::branch:
        return take_branch(warp, path, i, active);
      case Op::exit:
        path.lanes &= ~active;
        ++path.at;
        return path.lanes != 0;
      case Op::vote_barrier:
        for (int lane = 0; lane < kLanes; ++lane) {
          if ((path.lanes >> lane & 1) != 0 && (value(warp, i.in[0], lane, 1) & 1) != 0)
            warp.vote = true;
        }
        [[fallthrough]];
      case Op::barrier:
        path.waits = true;
        return false;
      default:
        break;
    }
    if (active != 0) execute(warp, i, active);
    ++path.at;
    return true;
  }

  static bool take_branch(Warp& warp, Path& path, const Instruction& i, Mask active) {
    if (active == path.lanes) {
      path.at = i.target;
      return true;
    }
    const Mask rest = path.lanes & ~active;
    path.lanes = rest;
    ++path.at;
    if (active == 0) return true;
    warp.paths.push_back({i.target, active, false});  // `path` is no more
    return false;
  }

  static Lanes& reg(Warp& warp, int index) {
    return warp.registers[static_cast<std::size_t>(index)];
  }

  Value special(const Warp& warp, Special which, int lane) const {
    switch (which) {
      case Special::tid_x:
        return static_cast<Value>(warp.first_thread) + static_cast<Value>(lane);
      case Special::ntid_x:
        return static_cast<Value>(launch_.threads);
      case Special::ctaid_y:
      case Special::cluster_ctarank:
        return cta_y_;
      case Special::nctaid_x:
        return static_cast<Value>(launch_.grid.x);
      case Special::nctaid_y:
        return static_cast<Value>(launch_.grid.y);
      case Special::nctaid_z:
        return static_cast<Value>(launch_.grid.z);
      case Special::laneid:
        return static_cast<Value>(lane);
      case Special::ctaid_x:
      case Special::ctaid_z:
      case Special::zero:
        break;
    }
    return 0;
  }

  Value value(Warp& warp, const Operand& operand, int lane, int bits) {
    Value found = 0;
    switch (operand.kind) {
      case Operand::Kind::none:
        return 0;
      case Operand::Kind::reg:
        found = reg(warp, operand.reg)[static_cast<std::size_t>(lane)] +
                static_cast<Value>(operand.value);
        break;
      case Operand::Kind::value:
        found = static_cast<Value>(operand.value);
        break;
      case Operand::Kind::special:
        found = special(warp, static_cast<Special>(operand.reg), lane);
    }
    if (operand.is_negated) found ^= 1;
    return found & mask_of(bits);
  }

  void execute(Warp& warp, const Instruction& i, Mask active) {
    switch (i.op) {
      case Op::load:
      case Op::store:
      case Op::copy_async:
      case Op::load_matrices:
      case Op::atomic_add:
        return access(warp, i, active);
      case Op::setp:
        return each(active, [&](int lane) { compare_lane(warp, i, lane); });
      default:
        break;
    }
    const int in_bits = i.op == Op::cvt ? i.from.bits : i.type.bits;
    const bool is_wide = i.op == Op::mul_wide || i.op == Op::mad_wide;
    const int out_bits = is_wide ? 2 * i.type.bits : i.type.bits;
    const int c_bits = i.op == Op::selp ? 1 : i.op == Op::bfe ? 32 : out_bits;
    const int b_bits = i.op == Op::shl || i.op == Op::shr || i.op == Op::bfe ? 32 : in_bits;
    Lanes& out = reg(warp, i.out[0]);
    each(active, [&](int lane) {
      Value a = value(warp, i.in[0], lane, in_bits);
      if (i.op == Op::cvt && i.from.is_signed) a = static_cast<Value>(as_signed(a, in_bits));
      const Value b = value(warp, i.in[1], lane, b_bits), c = value(warp, i.in[2], lane, c_bits);
      out[static_cast<std::size_t>(lane)] = compute(i, a, b, c) & mask_of(out_bits);
    });
  }

  template <class Work>
  static void each(Mask active, Work work) {
    for (; active != 0; active &= active - 1) work(std::countr_zero(active));
  }

  void compare_lane(Warp& warp, const Instruction& i, int lane) {
    const int bits = i.type.bits;
    const Value a = value(warp, i.in[0], lane, bits), b = value(warp, i.in[1], lane, bits);
    bool holds = false;
    if (i.type.is_float && bits == 32) {
      holds = compare(i.compare, std::bit_cast<float>(static_cast<std::uint32_t>(a)),
                      std::bit_cast<float>(static_cast<std::uint32_t>(b)));
    } else if (i.type.is_signed) {
      holds = compare(i.compare, as_signed(a, bits), as_signed(b, bits));
    } else {
      holds = compare(i.compare, a, b);
    }
    const bool other = (value(warp, i.in[2], lane, 1) & 1) != 0;
    if (i.combine == Combine::with_and) holds = holds && other;
    if (i.combine == Combine::with_or) holds = holds || other;
    if (i.combine == Combine::with_xor) holds = holds != other;
    reg(warp, i.out[0])[static_cast<std::size_t>(lane)] = holds ? 1 : 0;
  }

  void access(Warp& warp, const Instruction& i, Mask active) {
    if (i.space == Space::param && i.op == Op::load) return load_parameter(warp, i, active);
    Lanes at{};
    each(active,
         [&](int lane) { at[static_cast<std::size_t>(lane)] = value(warp, i.in[0], lane, 64); });
    if (i.op == Op::copy_async) {
      count(Access::shared_store, true, at, active, i.bytes);
      Lanes from{};
      Mask reads = 0;
      each(active, [&](int lane) {
        from[static_cast<std::size_t>(lane)] = value(warp, i.in[1], lane, 64);
        if (value(warp, i.in[2], lane, 32) != 0) reads |= Mask{1} << lane;
      });
      count(Access::global_load, true, from, reads, i.bytes);
      return;
    }
    if (i.op == Op::atomic_add) return add_atomically(warp, i, at, active);
    const bool stores = i.op == Op::store;
    if (i.space != Space::cluster) {
      const int first = std::countr_zero(active);
      const bool is_shared = at[static_cast<std::size_t>(first)] >> 32 == 0;
      if (is_shared) {
        count(stores ? Access::shared_store : Access::shared_load, false, at, active,
              i.bytes * i.count);
      } else {
        count(stores ? Access::global_store : Access::global_load, false, at, active,
              i.bytes * i.count);
      }
    }
    if (stores) {
      // A counter is zero again at the end of its tile.
      each(active, [&](int lane) {
        const auto counter = counters_.find(at[static_cast<std::size_t>(lane)]);
        if (counter != counters_.end()) counter->second = value(warp, i.in[1], lane, 32);
      });
      return;
    }
    for (const int out : i.out) {
      if (out < 0) continue;
      each(active, [&](int lane) { reg(warp, out)[static_cast<std::size_t>(lane)] = 0; });
    }
  }

  void load_parameter(Warp& warp, const Instruction& i, Mask active) {
    for (int j = 0; j < i.count; ++j) {
      Value loaded = 0;
      const auto bytes = static_cast<std::size_t>(i.bytes);
      if (bytes > sizeof loaded || i.out[static_cast<std::size_t>(j)] < 0) {
        throw Error("the trace knows no such load of a parameter");
      }
      const auto offset =
          static_cast<std::size_t>(i.in[0].value) + static_cast<std::size_t>(j) * bytes;
      if (offset > parameters_.size() || parameters_.size() - offset < bytes) {
        throw Error("the kernel reads beyond its parameter");
      }
      std::memcpy(&loaded, parameters_.data() + offset, bytes);
      Lanes& out = reg(warp, i.out[static_cast<std::size_t>(j)]);
      each(active, [&](int lane) { out[static_cast<std::size_t>(lane)] = loaded; });
    }
  }

  void add_atomically(Warp& warp, const Instruction& i, const Lanes& at, Mask active) {
    count(Access::global_atomic, false, at, active, i.bytes);
    each(active, [&](int lane) {
      Value& counter = counters_[at[static_cast<std::size_t>(lane)]];
      const Value old = counter;
      counter = (old + value(warp, i.in[1], lane, 32)) & mask_of(32);
      if (i.out[0] >= 0) reg(warp, i.out[0])[static_cast<std::size_t>(lane)] = old;
    });
  }

  void count(Access access, bool is_async, const Lanes& at, Mask active, int bytes) {
    if (active == 0) return;
    const bool is_shared = access == Access::shared_load || access == Access::shared_store;
    const auto first = static_cast<std::size_t>(std::countr_zero(active));
    const Memory memory =
        is_shared ? Memory::shared : static_cast<Memory>((at[first] >> kMemoryShift) - 1);
    AccessCount& sum = sums_[{access, memory, is_async}];
    ++sum.requests;
    sum.lanes += std::popcount(active);
    ++sum.requests_by_bytes[bytes];
    if (is_shared) {
      count_banks(sum, access == Access::shared_store, at, active, bytes);
    } else {
      count_sectors(sum, at, active, static_cast<Value>(bytes));
    }
  }

  static void count_banks(AccessCount& sum, bool stores, const Lanes& at, Mask active, int bytes) {
    WarpWords words;
    each(active, [&](int lane) {
      const auto l = static_cast<std::size_t>(lane);
      words[l] = static_cast<long long>(at[l] / 4);
    });
    const int vec = std::max(bytes / 4, 1);
    const SharedPasses passes =
        stores ? shared_store_passes(words, vec) : shared_load_passes(words, vec);
    sum.wavefronts += passes.wavefronts;
    sum.conflict_free += passes.conflict_free;
    sum.bytes += static_cast<double>(bytes) * std::popcount(active);
  }

  static void count_sectors(AccessCount& sum, const Lanes& at, Mask active, Value bytes) {
    std::array<Value, kLanes> begins;
    auto end = begins.begin();
    each(active, [&](int lane) { *end++ = at[static_cast<std::size_t>(lane)]; });
    std::sort(begins.begin(), end);
    end = std::unique(begins.begin(), end);
    sum.bytes += static_cast<double>(end - begins.begin()) * static_cast<double>(bytes);
    Value last = ~Value{0};
    for (auto begin = begins.begin(); begin != end; ++begin) {
      for (Value sector = *begin / kSectorBytes; sector <= (*begin + bytes - 1) / kSectorBytes;
           ++sector) {
        if (sector == last) continue;
        ++sum.sectors;
        last = sector;
      }
    }
  }

  const Kernel& kernel_;
  const TracedLaunch& launch_;
  std::int64_t left_;
  std::array<std::byte, sizeof(GemmArgs)> parameters_{};
  Value cta_y_ = 0;
  std::map<Value, Value> counters_;
  Accesses sums_;
};

}  // namespace

std::uintptr_t base_of(Memory memory) {
  return (static_cast<std::uintptr_t>(memory) + 1) << kMemoryShift;
}

AccessCount& AccessCount::operator+=(const AccessCount& other) {
  requests += other.requests;
  lanes += other.lanes;
  bytes += other.bytes;
  sectors += other.sectors;
  wavefronts += other.wavefronts;
  conflict_free += other.conflict_free;
  for (const auto& [width, count] : other.requests_by_bytes) requests_by_bytes[width] += count;
  return *this;
}

AccessCount AccessCount::scaled(double factor) const {
  AccessCount result = *this;
  for (double* member : {&result.requests, &result.lanes, &result.bytes, &result.sectors,
                         &result.wavefronts, &result.conflict_free}) {
    *member *= factor;
  }
  for (auto& [width, count] : result.requests_by_bytes) count *= factor;
  return result;
}

Accesses trace(const Kernel& kernel, const TracedLaunch& launch, std::int64_t most_instructions) {
  return Tracer(kernel, launch, most_instructions).run();
}

}  // namespace gemm_tune::ptx

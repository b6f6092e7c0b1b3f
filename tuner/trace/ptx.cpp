// SPDX-License-Identifier: Apache-2.0
#include "tuner/trace/ptx.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "core/error.h"
#include "core/text/printable.h"

namespace gemm_tune::ptx {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The operands of an instruction, of which vectors in braces and addresses in brackets are one.
std::vector<std::string_view> operands_of(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != ',' || depth > 0) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

std::string without_comments(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
    } else {
      kept += text[i++];
    }
  }
  return kept;
}

std::optional<std::int64_t> number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  // 0f3F800000: the bits of a float, 0d...: those of a double.
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'f' || text[1] == 'd')) {
    std::uint64_t bits = 0;
    const auto end = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
    if (end.ptr != text.data() + text.size()) return std::nullopt;
    return static_cast<std::int64_t>(bits);
  }
  const bool negative = text[0] == '-';
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.substr(0, 2) == "0x") {
    text.remove_prefix(2);
    base = 16;
  }
  if (text.size() > 1 && text.back() == 'U') text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || end.ptr != text.data() + text.size()) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

const std::map<std::string_view, Special> kSpecials = {
    {"%tid.x", Special::tid_x},       {"%tid.y", Special::zero},
    {"%tid.z", Special::zero},        {"%ntid.x", Special::ntid_x},
    {"%ctaid.x", Special::ctaid_x},   {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},   {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y}, {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},     {"%cluster_ctarank", Special::cluster_ctarank},
};

const std::map<std::string_view, Op> kOps = {
    {"mov", Op::mov},     {"add", Op::add},         {"sub", Op::sub},
    {"div", Op::div},     {"rem", Op::rem},         {"min", Op::min},
    {"max", Op::max},     {"neg", Op::neg},         {"abs", Op::abs},
    {"and", Op::bit_and}, {"or", Op::bit_or},       {"xor", Op::bit_xor},
    {"not", Op::bit_not}, {"shl", Op::shl},         {"shr", Op::shr},
    {"setp", Op::setp},   {"selp", Op::selp},       {"cvt", Op::cvt},
    {"cvta", Op::mov},    {"bfe", Op::bfe},         {"bra", Op::branch},
    {"ret", Op::exit},    {"exit", Op::exit},       {"ld", Op::load},
    {"st", Op::store},    {"atom", Op::atomic_add}, {"ldmatrix", Op::load_matrices},
    {"mapa", Op::mov},
};

// Of no influence on addresses and branches: the order of accesses, and values of matrices.
constexpr std::string_view kWithoutEffect[] = {
    "fma",  "mma",      "shfl",           "membar",       "fence", "ex2",
    "rcp",  "prefetch", "lop3",           "createpolicy", "prmt",  "activemask",
    "vote", "redux",    "griddepcontrol", "copysign"};

// A pair as in "f16x2" counts as one of its elements. Of no bits where the word is not a type.
Type type_of(std::string_view word) {
  if (word == "pred") return {1, false, false};
  if (word.ends_with("x2")) word.remove_suffix(2);
  const char kind = word.empty() ? ' ' : word[0];
  const bool is_bf16 = word.substr(0, 4) == "bf16";
  if (kind != 'b' && kind != 'u' && kind != 's' && kind != 'f') return {0, false, false};
  const int bits = static_cast<int>(number(word.substr(is_bf16 ? 2 : 1)).value_or(0));
  const bool is_known = bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;
  return {is_known ? bits : 0, kind == 's', kind == 'f' || is_bf16};
}

constexpr int kMostStaticSmemBytes = 1 << 20;  // more than any GPU has
constexpr int kMostAccessBytes = 32;           // of a lane

class Parser {
 public:
  // Names and operands are looked for with at() and substr(), which throw where text is missing.
  explicit Parser(std::string_view text, std::string_view entry) : text_(without_comments(text)) {
    try {
      declare_shared();
      parse_body(body_of(entry));
    } catch (const std::out_of_range&) {
      throw Error("the PTX's statement '" + excerpt(statement_) + "' is cut off");
    }
    for (const auto& [instruction, label] : branches_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) throw Error("the PTX has no label " + label);
      kernel_.instructions[instruction].target = found->second;
    }
    kernel_.registers = static_cast<int>(registers_.size());
    kernel_.static_smem_bytes = static_smem_bytes_;
  }

  Kernel take() { return std::move(kernel_); }

 private:
  // Dynamic shared memory lies behind the static one, whose variables the module may declare too.
  void declare_shared() {
    std::string_view rest = text_;
    for (std::size_t at = rest.find(".extern .shared"); at != std::string_view::npos;
         at = rest.find(".extern .shared", at + 1)) {
      const std::string_view line = rest.substr(at, rest.find(';', at) - at);
      const std::string_view declared = line.substr(0, line.rfind('['));
      dynamic_smem_ = trimmed(declared.substr(declared.find_last_of(" \t") + 1));
    }
  }

  std::string_view body_of(std::string_view entry) {
    const std::string head = ".entry " + std::string(entry) + "(";
    const std::size_t at = text_.find(head);
    if (at == std::string::npos) throw Error("the PTX has no entry " + std::string(entry));
    parameter_ = std::string(entry) + "_param_0";
    const std::size_t begin = text_.find('{', at);
    int depth = 0;
    for (std::size_t i = begin; i < text_.size(); ++i) {
      if (text_[i] == '{') ++depth;
      if (text_[i] == '}' && --depth == 0) {
        return std::string_view(text_).substr(begin + 1, i - begin - 1);
      }
    }
    throw Error("the PTX's entry has no end");
  }

  void parse_body(std::string_view body) {
    for (std::string_view statement : split(body, ';')) {
      for (;;) {
        statement = trimmed(statement);
        const std::size_t word_end = statement.find_first_of(" \t\n{");
        const std::size_t colon = statement.find(':');
        if (statement.empty()) break;
        if (statement[0] == '{') {
          scopes_.emplace_back();
          ++scopes_opened_;
        } else if (statement[0] == '}') {
          if (!scopes_.empty()) scopes_.pop_back();
        } else if (statement[0] == '$' && colon != std::string_view::npos &&
                   (word_end == std::string_view::npos || colon < word_end)) {
          labels_[std::string(statement.substr(0, colon))] =
              static_cast<int>(kernel_.instructions.size());
          statement.remove_prefix(colon);
        } else {
          break;
        }
        statement.remove_prefix(1);
      }
      if (!statement.empty()) parse_statement(statement);
    }
    kernel_.instructions.emplace_back().op = Op::exit;
  }

  void parse_statement(std::string_view statement) {
    statement_ = statement;
    if (statement.substr(0, 4) == ".reg") return declare_registers(statement);
    if (statement.substr(0, 7) == ".shared") return declare_static(statement);
    if (statement[0] == '.') return;  // .pragma, .loc
    Instruction instruction;
    if (statement[0] == '@') {
      const std::size_t end = statement.find_first_of(" \t\n");
      instruction.guard = predicate(statement.substr(1, end - 1));
      statement = trimmed(statement.substr(end));
    }
    const std::size_t end = std::min(statement.find_first_of(" \t\n"), statement.size());
    decode(instruction, split(statement.substr(0, end), '.'), operands_of(statement.substr(end)),
           statement);
    if (instruction.op != Op::none) kernel_.instructions.push_back(instruction);
  }

  // Only those of an inner scope hide a name; "%r<73>" declares %r0 to %r72.
  void declare_registers(std::string_view statement) {
    if (scopes_.empty()) return;
    const std::size_t type_end = statement.find_last_of(" \t");
    for (std::string_view name : split(statement.substr(type_end), ',')) {
      scopes_.back()[std::string(name)] =
          std::string(name) + " of scope " + std::to_string(scopes_opened_);
    }
  }

  void declare_static(std::string_view statement) {
    std::string_view name = statement;
    std::int64_t elements = 1;
    if (const std::size_t bracket = name.find('['); bracket != std::string_view::npos) {
      elements = number(name.substr(bracket + 1, name.find(']') - bracket - 1)).value_or(1);
      name = name.substr(0, bracket);
    }
    name = trimmed(name);
    const std::size_t at = name.find_last_of(" \t");
    const std::string_view before = trimmed(name.substr(0, at));
    const int bits = type_of(before.substr(before.rfind('.') + 1)).bits;
    const std::int64_t begin = (static_smem_bytes_ + 15) / 16 * 16;
    const bool is_size = elements >= 0 && elements <= kMostStaticSmemBytes;
    const std::int64_t end = begin + (is_size ? elements * bits / 8 : kMostStaticSmemBytes + 1);
    if (end > kMostStaticSmemBytes) {
      throw Error("the PTX declares more shared memory than there is");
    }
    static_smem_[std::string(name.substr(at + 1))] = static_cast<int>(begin);
    static_smem_bytes_ = static_cast<int>(end);
  }

  int register_of(std::string_view name) {
    std::string known(name);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto hidden = scope->find(known);
      if (hidden == scope->end()) continue;
      known = hidden->second;
      break;
    }
    return registers_.emplace(known, static_cast<int>(registers_.size())).first->second;
  }

  Operand predicate(std::string_view text) {
    Operand operand;
    operand.kind = Operand::Kind::reg;
    operand.is_negated = text.starts_with('!');
    if (operand.is_negated) text.remove_prefix(1);
    operand.reg = register_of(text);
    return operand;
  }

  Operand operand_of(std::string_view text) {
    Operand operand;
    if (text.empty()) return operand;
    if (text[0] == '!') return predicate(text);
    if (const auto value = number(text)) {
      operand.kind = Operand::Kind::value;
      operand.value = *value;
      return operand;
    }
    if (const auto special = kSpecials.find(text); special != kSpecials.end()) {
      operand.kind = Operand::Kind::special;
      operand.reg = static_cast<int>(special->second);
      return operand;
    }
    if (const auto variable = static_smem_.find(std::string(text));
        variable != static_smem_.end()) {
      operand.kind = Operand::Kind::value;
      operand.value = variable->second;
      return operand;
    }
    if (text == dynamic_smem_ || text == parameter_) {
      operand.kind = Operand::Kind::value;
      operand.value = text == parameter_ ? 0 : (static_smem_bytes_ + 15) / 16 * 16;
      return operand;
    }
    operand.kind = Operand::Kind::reg;
    operand.reg = register_of(text);
    return operand;
  }

  // "[%rd1+4]", "[gemm_param_0+16]", "[%r30 + 0]"
  Operand address(std::string_view text) {
    text = trimmed(text.substr(1, std::max<std::size_t>(text.size(), 2) - 2));
    const std::size_t plus = text.find('+');
    Operand operand = operand_of(trimmed(text.substr(0, plus)));
    if (plus != std::string_view::npos) {
      const std::int64_t offset = number(trimmed(text.substr(plus + 1))).value_or(0);
      operand.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(operand.value) +
                                                static_cast<std::uint64_t>(offset));
    }
    return operand;
  }

  std::vector<std::string_view> elements_of(std::string_view text) {
    if (text.empty() || text[0] != '{') return {text};
    return split(text.substr(1, text.size() - 2), ',');
  }

  void decode(Instruction& to, const std::vector<std::string_view>& words,
              const std::vector<std::string_view>& operands, std::string_view statement) {
    const std::string_view name = words[0];
    if (std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), name) !=
        std::end(kWithoutEffect))
      return;
    if (name == "bar" || name == "barrier") return decode_barrier(to, words, operands);
    if (name == "cp") return decode_copy(to, words, operands);
    if (name == "mul" || name == "mad") {
      decode_product(to, words, operands);
    } else {
      const auto known = kOps.find(name);
      if (known == kOps.end())
        throw Error("the trace knows no PTX as '" + std::string(statement) + "'");
      to.op = known->second;
      to.type = type_of(words.back());
    }
    switch (to.op) {
      case Op::none:
      case Op::exit:
        return;
      case Op::branch:
        branches_.emplace_back(kernel_.instructions.size(), std::string(operands.at(0)));
        return;
      case Op::load:
      case Op::store:
      case Op::load_matrices:
      case Op::atomic_add:
        return decode_access(to, words, operands);
      case Op::setp:
        decode_comparison(to, words);
        break;
      case Op::cvt:
        to.from = to.type;
        to.type = type_of(words.at(words.size() - 2));
        if (to.type.is_float || to.from.is_float) to.op = Op::none;
        break;
      default:
        // A value that the processor computes in floating point addresses nothing.
        if (to.type.is_float && to.op != Op::mov && to.op != Op::selp) to.op = Op::none;
    }
    if (to.op == Op::none) return;
    if (to.op == Op::mov && (operands.at(0).starts_with('{') || operands.at(1).starts_with('{'))) {
      to.op = Op::none;  // pairs of 16-bit elements
      return;
    }
    for (const Type& type : {to.type, to.op == Op::cvt ? to.from : to.type}) {
      if (type.bits == 0 || type.bits > 64) {
        throw Error("the trace knows no integers as in '" + std::string(statement) + "'");
      }
    }
    to.out[0] = register_of(operands.at(0).substr(0, operands[0].find('|')));
    for (std::size_t i = 1; i < operands.size() && i <= to.in.size(); ++i) {
      to.in[i - 1] = operand_of(operands[i]);
    }
  }

  void decode_product(Instruction& to, const std::vector<std::string_view>& words,
                      const std::vector<std::string_view>&) {
    to.type = type_of(words.back());
    if (to.type.is_float) return;
    const bool adds = words[0] == "mad";
    if (words.at(1) == "lo") to.op = adds ? Op::mad_lo : Op::mul_lo;
    if (words.at(1) == "hi") to.op = adds ? Op::mad_hi : Op::mul_hi;
    if (words.at(1) == "wide") to.op = adds ? Op::mad_wide : Op::mul_wide;
  }

  void decode_comparison(Instruction& to, const std::vector<std::string_view>& words) {
    const std::map<std::string_view, Compare> compares = {
        {"eq", Compare::eq},  {"ne", Compare::ne},  {"lt", Compare::lt},  {"le", Compare::le},
        {"gt", Compare::gt},  {"ge", Compare::ge},  {"lo", Compare::lt},  {"ls", Compare::le},
        {"hi", Compare::gt},  {"hs", Compare::ge},  {"equ", Compare::eq}, {"neu", Compare::ne},
        {"ltu", Compare::lt}, {"leu", Compare::le}, {"gtu", Compare::gt}, {"geu", Compare::ge}};
    const auto found = compares.find(words.at(1));
    if (found == compares.end())
      throw Error("the trace knows no comparison " + std::string(words[1]));
    to.compare = found->second;
    if (words.size() < 4) return;
    if (words[2] == "and") to.combine = Combine::with_and;
    if (words[2] == "or") to.combine = Combine::with_or;
    if (words[2] == "xor") to.combine = Combine::with_xor;
  }

  void decode_barrier(Instruction& to, const std::vector<std::string_view>& words,
                      const std::vector<std::string_view>& operands) {
    if (words.size() > 1 && (words[1] == "warp" || words[1] == "cluster")) return;
    to.op = Op::barrier;
    if (words.size() > 2 && words[1] == "red" && words[2] == "or") {
      to.op = Op::vote_barrier;
      to.out[0] = register_of(operands.at(0));
      to.in[0] = operand_of(operands.back());
    }
  }

  void decode_copy(Instruction& to, const std::vector<std::string_view>& words,
                   const std::vector<std::string_view>& operands) {
    if (words.size() < 3 || words[1] != "async" || (words[2] != "ca" && words[2] != "cg")) return;
    to.op = Op::copy_async;
    to.in[0] = address(operands.at(0));
    to.in[1] = address(operands.at(1));
    const std::int64_t bytes = number(operands.at(2)).value_or(0);
    if (bytes != 4 && bytes != 8 && bytes != 16)
      throw Error("the trace knows copies of 4, 8 or 16 bytes only");
    to.bytes = static_cast<int>(bytes);
    to.in[2].kind = Operand::Kind::value;
    to.in[2].value = 1;
    if (operands.size() > 3) to.in[2] = operand_of(operands[3]);
  }

  void decode_access(Instruction& to, const std::vector<std::string_view>& words,
                     const std::vector<std::string_view>& operands) {
    to.space = Space::generic;
    for (const std::string_view word : words) {
      if (word == "v2") to.count = 2;
      if (word == "v4") to.count = 4;
      if (word == "param") to.space = Space::param;
      if (word == "global") to.space = Space::global;
      if (word == "local") to.space = Space::local;
      if (word == "shared" || word == "shared::cta") to.space = Space::shared;
      if (word == "shared::cluster") to.space = Space::cluster;
    }
    to.bytes = to.type.bits / 8;
    if (to.bytes == 0 || to.bytes * to.count > kMostAccessBytes) {
      throw Error("the trace knows no access as in '" + std::string(statement_) + "'");
    }
    if (to.space == Space::local) throw Error("the trace knows no local memory");
    const bool stores = to.op == Op::store;
    to.in[0] = address(operands.at(stores ? 0 : 1));
    if (to.op == Op::load_matrices) {
      to.bytes = 16;
      to.count = 1;
    }
    if (to.op == Op::atomic_add) {
      if (std::find(words.begin(), words.end(), "add") == words.end())
        throw Error("the trace knows no atomic operation but add");
      to.in[1] = operand_of(operands.at(2));
    }
    if (stores) {
      if (to.space != Space::param) to.in[1] = operand_of(elements_of(operands.at(1))[0]);
      return;
    }
    std::size_t i = 0;
    for (const std::string_view element : elements_of(operands.at(0))) {
      if (i < to.out.size()) to.out[i++] = register_of(element);
    }
  }

  const std::string text_;
  Kernel kernel_;
  std::map<std::string, int, std::less<>> registers_;
  std::map<std::string, int, std::less<>> labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
  std::vector<std::map<std::string, std::string, std::less<>>> scopes_;
  int scopes_opened_ = 0;
  std::string dynamic_smem_, parameter_;
  std::string_view statement_;  // the last that was begun
  std::map<std::string, int, std::less<>> static_smem_;
  int static_smem_bytes_ = 0;
};

}  // namespace

Kernel parse(std::string_view text, std::string_view entry) { return Parser(text, entry).take(); }

}  // namespace gemm_tune::ptx

// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/token_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace gemm_tune {
namespace {

using TextOf = std::function<const std::string*(const std::string&)>;

struct Token {
  std::string text;
  bool blank_before = false;
};
using Line = std::vector<Token>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

// Joins lines that end with a backslash.
std::string spliced(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = i + 1;
    while (text[i] == '\\' && end < text.size() && is_blank(text[end])) ++end;
    if (text[i] == '\\' && end < text.size() && text[end] == '\n') {
      i = end;
    } else {
      result += text[i];
    }
  }
  return result;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(spliced(text)) {}

  bool at_end() const { return at_ >= text_.size(); }

  // The tokens up to the end of the line.
  Line line() {
    Line line;
    while (true) {
      const bool blank_before = skip_blanks();
      if (at_end()) return line;
      if (text_[at_] == '\n') {
        ++at_;
        return line;
      }
      const std::size_t begin = std::exchange(at_, token_end());
      line.push_back({text_.substr(begin, at_ - begin), blank_before});
    }
  }

 private:
  bool starts_with(std::string_view word) const {
    return std::string_view(text_).substr(at_).starts_with(word);
  }

  // Past blanks and comments; a block comment may reach across lines. Whether there were any.
  bool skip_blanks() {
    const std::size_t begin = at_;
    while (!at_end()) {
      if (is_blank(text_[at_])) {
        ++at_;
      } else if (starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string::npos ? text_.size() : end + 2;
      } else {
        break;
      }
    }
    return at_ > begin;
  }

  std::size_t token_end() const {
    const char first = text_[at_];
    if (is_digit(first) || (first == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
      return number_end();
    }
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    if (end < text_.size() && (text_[end] == '"' || text_[end] == '\'')) {
      const std::string_view prefix = std::string_view(text_).substr(at_, end - at_);
      if (prefix.empty() || prefix == "u8" || prefix == "u" || prefix == "U" || prefix == "L") {
        return quoted_end(end);
      }
      if (prefix.ends_with('R') && text_[end] == '"') return raw_end(end);
    }
    return end > at_ ? end : punctuator_end();
  }

  // [lex.ppnumber]: digits, letters, points, signs after an exponent's letter, digit separators.
  std::size_t number_end() const {
    std::size_t end = at_;
    while (end < text_.size()) {
      const char c = text_[end], before = end > at_ ? text_[end - 1] : ' ';
      const bool sign = (c == '+' || c == '-') &&
                        (before == 'e' || before == 'E' || before == 'p' || before == 'P');
      const bool separator = c == '\'' && end + 1 < text_.size() && is_word(text_[end + 1]);
      if (!is_word(c) && c != '.' && !sign && !separator) break;
      ++end;
    }
    return end;
  }

  std::size_t quoted_end(std::size_t quote) const {
    for (std::size_t end = quote + 1; end < text_.size() && text_[end] != '\n'; ++end) {
      if (text_[end] == text_[quote]) return end + 1;
      if (text_[end] == '\\') ++end;
    }
    return quote + 1;  // a quote without an end is a token of its own
  }

  std::size_t raw_end(std::size_t quote) const {
    const std::size_t open = text_.find('(', quote);
    if (open == std::string::npos) return quote + 1;
    const std::string close = ")" + text_.substr(quote + 1, open - quote - 1) + "\"";
    const std::size_t end = text_.find(close, open);
    return end == std::string::npos ? text_.size() : end + close.size();
  }

  // [lex.operators], the longest first.
  std::size_t punctuator_end() const {
    constexpr std::array<std::string_view, 32> kLong = {
        "%:%:", "<=>", "...", "<<=", ">>=", "->*", "::", "->", ".*", "++", "--",
        "<<",   ">>",  "<=",  ">=",  "==",  "!=",  "&&", "||", "+=", "-=", "*=",
        "/=",   "%=",  "&=",  "|=",  "^=",  "##",  "<:", ":>", "<%", "%>"};
    for (const std::string_view one : kLong) {
      if (starts_with(one)) return at_ + one.size();
    }
    return at_ + 1;
  }

  const std::string text_;
  std::size_t at_ = 0;
};

// The answer of `#ifdef` for the macros that tell the readers of a kernel's text apart, and for
// those of its epilogue, of the launch before it and of later parameters.
std::optional<bool> is_defined(const std::string& name, TokensWith with) {
  if (name == "TUNED_PARAMS") return true;  // by who compiles the kernel
  if (name == "GT_EMULATOR") return false;  // by the emulator
  if (name == "TUNED_EPILOGUE") return with.epilogue;
  if (name == "TUNED_REPACK") return false;  // a kernel of its own beside the family's
  // All or none of those of add_later_param().
  if (name == "TUNED_KEEP" || name == "TUNED_STAGED_FIRST" || name == "TUNED_LINES" ||
      name == "TUNED_VECS" || name == "TUNED_STEPPED" || name == "TUNED_REDUCE") {
    return with.later_params;
  }
  return std::nullopt;
}

class Writer {
 public:
  Writer(const TextOf& text_of, TokensWith with) : text_of_(text_of), with_(with) {}

  void add(std::string_view text) {
    Lexer lexer(text);
    const std::size_t depth = branches_.size();
    while (!lexer.at_end()) {
      const Line line = lexer.line();
      if (line.empty()) continue;
      if (line[0].text == "#") {
        directive(line);
      } else if (!skipping()) {
        for (const Token& token : line) write(token.text);
      }
    }
    branches_.resize(std::min(depth, branches_.size()));  // an #endif that is missing in its text
  }

  std::string result() {
    end_line();
    return std::move(result_);
  }

 private:
  // An open #if: resolved ones leave no directive behind, and only one of their branches.
  struct Branch {
    bool resolved = false;
    bool skipped = false;
  };

  bool skipping() const {
    return std::any_of(branches_.begin(), branches_.end(),
                       [](const Branch& branch) { return branch.skipped; });
  }

  void directive(const Line& line) {
    const std::string name = line.size() > 1 ? line[1].text : "";
    const std::string operand = line.size() > 2 ? line[2].text : "";
    if (name == "if" || name == "ifdef" || name == "ifndef") {
      const std::optional<bool> defined = name == "if" ? std::nullopt : is_defined(operand, with_);
      branches_.push_back({defined.has_value(), defined && *defined != (name == "ifdef")});
      if (!defined) keep(line);
    } else if (name == "else" && !branches_.empty() && branches_.back().resolved) {
      branches_.back().skipped = !branches_.back().skipped;
    } else if (name == "endif" && !branches_.empty()) {
      const Branch closed = branches_.back();
      branches_.pop_back();
      if (!closed.resolved) keep(line);
    } else if (name == "include" && !skipping()) {
      include(line, operand);
    } else if (name != "line" && !(name == "pragma" && operand == "once")) {
      keep(line);
    }
  }

  void include(const Line& line, const std::string& quoted) {
    const bool is_quoted = quoted.size() > 2 && quoted.front() == '"';
    const std::string path = is_quoted ? quoted.substr(1, quoted.size() - 2) : "";
    const std::string* const text = is_quoted ? text_of_(path) : nullptr;
    if (text == nullptr) {
      keep(line);
    } else if (included_.insert(path).second) {
      add(*text);
    }
  }

  // On a line of its own. A blank before the parenthesis tells the two kinds of macro apart.
  void keep(const Line& line) {
    if (skipping()) return;
    end_line();
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool is_header = i >= 2 && line[1].text == "include";
      const bool opens_parameters = i == 3 && line[1].text == "define";
      if ((opens_parameters || is_header) && !line[i].blank_before) at_line_start_ = true;
      write(line[i].text);
    }
    end_line();
  }

  void write(const std::string& token) {
    if (!at_line_start_) result_ += ' ';
    result_ += token;
    at_line_start_ = false;
  }

  void end_line() {
    if (!at_line_start_) result_ += '\n';
    at_line_start_ = true;
  }

  const TextOf& text_of_;
  const TokensWith with_;
  std::set<std::string> included_;
  std::vector<Branch> branches_;
  std::string result_;
  bool at_line_start_ = true;
};

}  // namespace

std::string token_text(std::string_view text, const TextOf& text_of, TokensWith with) {
  Writer writer(text_of, with);
  writer.add(text);
  return writer.result();
}

}  // namespace gemm_tune

// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/values/other_notations.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <vector>

#include "core/text/parse_number.h"
#include "core/text/printable.h"

namespace gemm_tune {
namespace {

using Number = std::int64_t;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// The number that begins there, which moves on behind it.
std::optional<Number> take_number(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return parse_number<Number>(text.substr(begin, at - begin));
}

// The lists of numbers in brackets or parentheses.
std::vector<std::vector<Number>> bracketed(std::string_view text) {
  std::vector<std::vector<Number>> lists;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '[' && text[at] != '(') continue;
    std::vector<Number> list;
    std::size_t in = at + 1;
    while (in < text.size() && (is_digit(text[in]) || text[in] == ',' || text[in] == ' ')) {
      if (!is_digit(text[in])) {
        ++in;
      } else if (const auto number = take_number(text, in)) {
        list.push_back(*number);
      }
    }
    const bool is_closed = in < text.size() && (text[in] == ']' || text[in] == ')');
    if (is_closed && !list.empty()) lists.push_back(std::move(list));
  }
  return lists;
}

std::optional<std::string> pytorch(std::string_view text) {
  const auto lists = bracketed(text);
  const bool has_list = std::any_of(lists.begin(), lists.end(), [&](const auto& list) {
    return list.size() > 1 || text.find('[') != text.npos;
  });
  const bool is_pytorch = has_list || text.find("torch.Size") != text.npos;
  if (!is_pytorch) return std::nullopt;
  const std::string begin = "'" + excerpt(text) + "' is PyTorch's notation: ";
  const std::string general =
      "the product [M, K] @ [K, N] is written MxNxK, as in 1024x2048x512 for [1024, 512] @ "
      "[512, 2048]";
  // Of a transposed operand the list may be that before or after.
  const bool has_transpose = text.find(".T") != text.npos || text.find(".t(") != text.npos ||
                             text.find(".mT") != text.npos || text.find("transpose") != text.npos;
  if (lists.size() != 2 || has_transpose) return begin + general;
  const auto &a = lists[0], &b = lists[1];
  const bool are_batched = a.size() == 3 && b.size() == 3 && a[0] == b[0];
  if (!are_batched && (a.size() != 2 || b.size() != 2)) return begin + general;
  const Number m = a[a.size() - 2], k = a.back(), n = b.back();
  if (b[b.size() - 2] != k) return begin + general;
  return begin + fmt::format("write {}x{}x{}{}", m, n, k,
                             are_batched ? fmt::format(":batch={}", a[0]) : "");
}

// The number behind the letter, which is no part of a word: "-m 1024", "m=1024", "n512" in
// "m1024n512k256".
std::optional<Number> labelled(std::string_view text, char label) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != label || (at > 0 && is_letter(text[at - 1]))) continue;
    std::size_t in = text.find_first_not_of("=: ", at + 1);
    if (in == text.npos || !is_digit(text[in])) continue;
    return take_number(text, in);
  }
  return std::nullopt;
}

// "write 512x1024x256, for ...".
std::string of_column_major(Number m, Number n, Number k, const std::string& rest) {
  if (m == n) return fmt::format("write {}x{}x{}{}", n, m, k, rest);
  return fmt::format("write {}x{}x{}{}, for its column-major m and n are N and M here", n, m, k,
                     rest);
}

// "nn_1024_512_256" and what PyTorch's TunableOp adds before and behind.
std::optional<std::string> underscored(std::string_view text) {
  for (const char* ops : {"nn_", "nt_", "tn_", "tt_"}) {
    std::size_t at = text.find(ops);
    if (at == text.npos) continue;
    std::vector<Number> sizes;
    for (at += 2; at + 1 < text.size() && text[at] == '_' && is_digit(text[at + 1]);) {
      const auto number = take_number(text, ++at);
      if (!number) return std::nullopt;
      sizes.push_back(*number);
    }
    if (sizes.size() != 3) return std::nullopt;
    // The operands swap as M and N do.
    const std::string layout = {ops[1], ops[0]};
    return of_column_major(sizes[0], sizes[1], sizes[2], layout == "nn" ? "" : ":layout=" + layout);
  }
  return std::nullopt;
}

std::optional<std::string> cublas(std::string_view text) {
  const std::string begin = "'" + excerpt(text) + "' is cuBLAS's notation: ";
  if (const auto spelled = underscored(text)) return begin + *spelled;
  const auto m = labelled(text, 'm'), n = labelled(text, 'n'), k = labelled(text, 'k');
  if (m && n && k) return begin + of_column_major(*m, *n, *k, "");
  const auto M = labelled(text, 'M'), N = labelled(text, 'N'), K = labelled(text, 'K');
  if (!M || !N || !K) return std::nullopt;
  return fmt::format("'{}' names M, N and K: write {}x{}x{}", excerpt(text), *M, *N, *K);
}

}  // namespace

std::optional<std::string> other_notation(std::string_view text) {
  if (text.starts_with('@')) return std::nullopt;  // a file
  if (const auto sentence = pytorch(text)) return sentence;
  return cublas(text);
}

}  // namespace gemm_tune

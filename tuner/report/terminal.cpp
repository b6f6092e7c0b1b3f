// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/terminal.h"

#include <locale.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cwchar>
#include <utility>

namespace gemm_tune {
namespace {

// Makes wcwidth() use UTF-8 in this thread, whatever the user's locale. Undone by the destructor.
class Utf8Locale {
 public:
  Utf8Locale() : utf8_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr) before_ = uselocale(utf8_);
  }
  ~Utf8Locale() {
    if (utf8_ == nullptr) return;  // every byte then counts as a column, which is too many
    uselocale(before_);
    freelocale(utf8_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t utf8_, before_ = nullptr;
};

struct Extent {
  std::size_t bytes = 0, columns = 0;
};

// The longest start of the text that fits `columns`, in whole characters.
Extent fit(std::string_view text, std::size_t columns) {
  const Utf8Locale utf8;
  Extent fitted;
  while (fitted.bytes < text.size()) {
    const std::string_view rest = text.substr(fitted.bytes);
    std::mbstate_t state{};
    wchar_t character = 0;
    std::size_t bytes = std::mbrtowc(&character, rest.data(), rest.size(), &state);
    int width = 1;
    if (bytes == 0 || bytes > rest.size()) {  // a zero byte, or not a character
      bytes = 1;
    } else {
      width = wcwidth(character);
    }
    const std::size_t taken = width < 0 ? 1 : static_cast<std::size_t>(width);
    if (fitted.columns + taken > columns) break;
    fitted.bytes += bytes;
    fitted.columns += taken;
  }
  return fitted;
}

}  // namespace

std::size_t terminal_columns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::size_t columns_of(std::string_view text) { return fit(text, text.size() * 2).columns; }

std::string cut_to_columns(std::string_view text, std::size_t columns) {
  return std::string(text.substr(0, fit(text, columns).bytes));
}

std::vector<std::string> broken_lines(std::string_view text, char separator, std::size_t columns,
                                      std::size_t indent) {
  std::vector<std::string> lines;
  const std::string begin(indent, ' ');
  std::string line;
  std::size_t taken = std::min(text.find_first_not_of(' '), text.size());
  line = text.substr(0, taken);  // the first line's own indent
  bool is_empty = true;
  while (taken < text.size()) {
    const std::size_t end = std::min(text.find(separator, taken), text.size() - 1) + 1;
    const std::string_view piece = text.substr(taken, end - taken);
    const std::size_t visible = piece.back() == ' ' ? columns_of(piece) - 1 : columns_of(piece);
    if (!is_empty && columns_of(line) + visible > columns) {
      lines.push_back(std::move(line));
      line = begin;
    }
    const bool begins_broken = !lines.empty() && line.size() == begin.size();
    if (visible > 0 || !begins_broken) line += piece;  // two columns part words in a line only
    is_empty = false;
    taken = end;
  }
  lines.push_back(std::move(line));
  for (std::string& one : lines) one.erase(one.find_last_not_of(' ') + 1);
  return lines;
}

std::string fitted(std::string_view text, std::size_t columns, bool at_commas) {
  std::string all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size()) + 2;
    for (const std::string& part : broken_lines(line, ' ', columns, indent)) {
      if (at_commas && columns_of(part) > columns) {
        for (const std::string& piece : broken_lines(part, ',', columns, indent + 2)) {
          all += piece + "\n";
        }
      } else {
        all += part + "\n";
      }
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

}  // namespace gemm_tune

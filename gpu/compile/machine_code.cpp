// SPDX-License-Identifier: Apache-2.0
#include "gpu/compile/machine_code.h"

#include <elf.h>

#include <cstring>
#include <map>
#include <optional>

namespace gemm_tune {
namespace {

template <class T>
std::optional<T> read(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The bytes of a section; empty if it lies outside the file.
std::string_view contents(std::string_view bytes, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes.size()) return {};
  return bytes.substr(section.sh_offset, section.sh_size);
}

bool is_of_a_function(std::string_view name) {
  return name.starts_with(".text.") || name.starts_with(".nv.constant0.");
}

// By name: the file's order does not matter.
using Sections = std::map<std::string_view, std::string_view>;

Sections sections_of(std::string_view cubin) {
  const auto header = read<Elf64_Ehdr>(cubin, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return {};
  }
  const auto section = [&](std::uint64_t index) {
    return read<Elf64_Shdr>(cubin, header->e_shoff + index * header->e_shentsize);
  };
  const auto names_section = section(header->e_shstrndx);
  if (!names_section) return {};
  const std::string_view names = contents(cubin, *names_section);
  Sections parts;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto one = section(i);
    if (!one || one->sh_name >= names.size()) return {};
    const std::string_view rest = names.substr(one->sh_name);
    const std::string_view name = rest.substr(0, rest.find('\0'));
    if (is_of_a_function(name)) parts[name] = contents(cubin, *one);
  }
  return parts;
}

}  // namespace

std::string machine_code(std::string_view cubin) {
  std::string code;
  for (const auto& [name, bytes] : sections_of(cubin))
    code.append(name).append(1, '\0').append(bytes);
  return code;
}

std::string_view function_code(std::string_view cubin, std::string_view function) {
  const Sections parts = sections_of(cubin);
  const auto found = parts.find(".text." + std::string(function));
  return found == parts.end() ? std::string_view() : found->second;
}

}  // namespace gemm_tune

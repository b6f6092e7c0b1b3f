// SPDX-License-Identifier: Apache-2.0
// libgemm_tune_blas_audit.so, for LD_AUDIT beside the drop-in in LD_PRELOAD: programs that find
// cuBLAS's functions by dlsym(), or open their libraries with RTLD_DEEPBIND, get the drop-in's.
//
// The loader keeps audit modules in a namespace of their own, and asks them where a symbol is to be
// bound to. This one needs no library at all, not even a second C library, whose thread-local
// storage might find no room. It allocates nothing and changes nothing but such bindings. The
// loader calls it from any thread; what it remembers is written before the program's first thread.
#include <link.h>

#include <cstdint>

#define GT_AUDIT extern "C" __attribute__((visibility("default")))

namespace {

// What an object's cookie says of it.
enum Kind : std::uintptr_t {
  kClient,  // whose bindings to cuBLAS are redirected
  kCublas,
  kOurs,    // the drop-in and the library, which want cuBLAS itself
  kForeign  // of another namespace, or another version of cuBLAS than the first: not the drop-in's
};

const link_map* drop_in = nullptr;

bool equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

// What follows the beginning; null where the text does not begin so.
const char* behind(const char* text, const char* beginning) {
  while (*beginning != '\0' && *text == *beginning) ++text, ++beginning;
  return *beginning == '\0' ? text : nullptr;
}

const char* file_name(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

// The address that an entry of the dynamic section holds; null where there is none. The loader has
// added the object's base to it, where the section can be written.
template <class T>
const T* entry(const link_map* object, ElfW(Sxword) tag) {
  for (const ElfW(Dyn)* at = object->l_ld; at->d_tag != DT_NULL; ++at) {
    if (at->d_tag != tag) continue;
    const ElfW(Addr) address = at->d_un.d_ptr;
    return reinterpret_cast<const T*>(address < object->l_addr ? address + object->l_addr
                                                               : address);
  }
  return nullptr;
}

// The drop-in's function of this name; 0 where it has none. It is linked with a DT_HASH, whose
// second word is the number of symbols.
std::uintptr_t drop_ins(const char* name) {
  const auto* const hash = entry<std::uint32_t>(drop_in, DT_HASH);
  const auto* const symbols = entry<ElfW(Sym)>(drop_in, DT_SYMTAB);
  const auto* const names = entry<char>(drop_in, DT_STRTAB);
  if (hash == nullptr || symbols == nullptr || names == nullptr) return 0;
  for (std::uint32_t i = 1; i < hash[1]; ++i) {
    const ElfW(Sym)& symbol = symbols[i];
    if (symbol.st_shndx != SHN_UNDEF && equal(names + symbol.st_name, name)) {
      return drop_in->l_addr + symbol.st_value;
    }
  }
  return 0;
}

// The name that the object's makers gave it, else its file's.
const char* name_of(const link_map* object) {
  for (const ElfW(Dyn)* at = object->l_ld; at != nullptr && at->d_tag != DT_NULL; ++at) {
    if (at->d_tag == DT_SONAME) return entry<char>(object, DT_STRTAB) + at->d_un.d_val;
  }
  return file_name(object->l_name);
}

// Whether cuBLAS has the version of the first that was loaded, to which the drop-in hands calls on.
// version: what follows ".so" in its name.
bool is_first_version(const char* version) {
  static char first[16] = "";
  static bool is_known = false;
  for (unsigned i = 0; !is_known && i + 1 < sizeof first && version[i] != '\0'; ++i) {
    first[i] = version[i];
  }
  is_known = true;
  return equal(first, version);
}

Kind kind_of(const link_map* object, Lmid_t name_space) {
  if (name_space != LM_ID_BASE) return kForeign;
  const char* const name = name_of(object);
  if (behind(name, "libgemm_tune") != nullptr) return kOurs;
  const char* version = behind(name, "libcublas.so");
  if (version == nullptr) version = behind(name, "libcublasLt.so");
  if (version == nullptr) return kClient;
  return is_first_version(version) ? kCublas : kForeign;
}

}  // namespace

GT_AUDIT unsigned la_version(unsigned loaders) {
  return loaders < LAV_CURRENT ? loaders : LAV_CURRENT;
}

GT_AUDIT unsigned la_objopen(link_map* object, Lmid_t name_space, std::uintptr_t* cookie) {
  const Kind kind = kind_of(object, name_space);
  *cookie = kind;
  if (kind == kOurs && equal(name_of(object), "libgemm_tune_blas.so")) drop_in = object;
  if (kind == kClient) return LA_FLG_BINDFROM;
  return kind == kCublas ? LA_FLG_BINDTO : 0;
}

// Where cuBLAS itself binds to cuBLAS, or the drop-in looks for it, nothing changes.
GT_AUDIT std::uintptr_t la_symbind64(ElfW(Sym) * symbol, unsigned, std::uintptr_t* from,
                                     std::uintptr_t* to, unsigned* flags, const char* name) {
  *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
  const bool redirects = *from == kClient && *to == kCublas && drop_in != nullptr;
  const std::uintptr_t other = redirects ? drop_ins(name) : 0;
  return other != 0 ? other : symbol->st_value;
}

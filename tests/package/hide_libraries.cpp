// SPDX-License-Identifier: Apache-2.0
// An audit module of the dynamic loader: LD_AUDIT=hide_libraries.so GT_HIDDEN="libcu libnv" PROGRAM
// runs a program as on a machine without the shared libraries whose file names begin so; those
// below the folder GT_SHOWN are there. Each library that was asked for and hidden is a line
// "hidden: FILE" on standard error.
// With GT_INTERRUPTED_AT the process gets SIGTERM when it first asks for a library whose name
// begins so.
#include <link.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace {

bool begins_as(const std::string& file, const char* variable) {
  const char* const beginning = std::getenv(variable);
  return beginning != nullptr && file.rfind(beginning, 0) == 0;
}

}  // namespace

extern "C" unsigned la_version(unsigned) { return LAV_CURRENT; }

extern "C" char* la_objsearch(const char* name, std::uintptr_t*, unsigned) {
  const std::string path = name, file = path.substr(path.rfind('/') + 1);
  static bool interrupted = false;
  if (!interrupted && begins_as(file, "GT_INTERRUPTED_AT")) {
    interrupted = true;
    raise(SIGTERM);
  }
  const char* const hidden = std::getenv("GT_HIDDEN");
  const char* const shown = std::getenv("GT_SHOWN");
  if (shown != nullptr && path.rfind(std::string(shown) + "/", 0) == 0) {
    return const_cast<char*>(name);
  }
  std::istringstream beginnings(hidden == nullptr ? "" : hidden);
  for (std::string beginning; beginnings >> beginning;) {
    if (file.rfind(beginning, 0) != 0) continue;
    const std::string line = "hidden: " + file + "\n";
    std::fputs(line.c_str(), stderr);
    return nullptr;
  }
  return const_cast<char*>(name);
}

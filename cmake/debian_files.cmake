# SPDX-License-Identifier: Apache-2.0
# Run by cpack ahead of packing: adds to each package what Debian's policy asks for, and takes away what it forbids.
file(GLOB roots LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/*")
file(READ "${CMAKE_CURRENT_LIST_DIR}/../THIRD_PARTY.md" third_party)
string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(root IN LISTS roots)
  get_filename_component(component "${root}" NAME)
  if(NOT IS_DIRECTORY "${root}/usr")
    continue()
  endif()
  string(TOUPPER "${component}" component)
  set(package "${CPACK_DEBIAN_${component}_PACKAGE_NAME}")
  set(doc "${root}/usr/share/doc/${package}")
  # One file of fixed name: images of containers leave out all else below /usr/share/doc.
  file(WRITE "${doc}/copyright"
       "Copyright: 2026 the authors of gemm-tune\nLicense: Apache-2.0\n"
       "On Debian systems, the text of the licence is in /usr/share/common-licenses/Apache-2.0.\n\n${third_party}")
  file(REMOVE_RECURSE "${root}/usr/share/licenses")
  file(WRITE "${doc}/changelog.Debian"
       "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
       "  * Built by cpack.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${today}\n")
  file(GLOB pages "${root}/usr/share/man/man1/*.1")
  execute_process(COMMAND gzip -9 -n -f "${doc}/changelog.Debian" ${pages} COMMAND_ERROR_IS_FATAL ANY)
  # Debian's zsh reads the completions of packages from a folder of their own, and site-functions below /usr/local alone.
  if(IS_DIRECTORY "${root}/usr/share/zsh/site-functions")
    file(RENAME "${root}/usr/share/zsh/site-functions" "${root}/usr/share/zsh/vendor-completions")
  endif()
  # The loader searches Debian's folder of libraries in any case, and a program's own search path is forbidden.
  file(GLOB texts "${root}/usr/lib/pkgconfig/*.pc")
  foreach(text IN LISTS texts)
    file(READ "${text}" content)
    string(REPLACE " -Wl,-rpath,\${libdir}" "" content "${content}")
    file(WRITE "${text}" "${content}")
  endforeach()
  # The search path for CUDA of the machine that built: the loader's own and /usr/local/cuda are searched in any case.
  file(GLOB binaries "${root}/usr/bin/*" "${root}/usr/lib/*.so*")
  foreach(binary IN LISTS binaries)
    if(NOT IS_SYMLINK "${binary}")
      file(RPATH_REMOVE FILE "${binary}")
    endif()
  endforeach()
endforeach()

# SPDX-License-Identifier: Apache-2.0
# Writes the linker's version script. Names that experimental.h declares with GNT_API, and all gntx_ names, go under GNNTRAIN_PRIVATE, every other
# gnt_ name under GNNTRAIN_0; nothing else is exported (visibility is hidden to begin with).
function(gnt_write_version_map file)
  set(header ${CMAKE_SOURCE_DIR}/include/gnntrain/experimental.h)
  set(private "        gntx_*;\n")
  if(EXISTS ${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    string(REGEX MATCHALL "GNT_API[^;{]*[ *](gntx?_[a-z0-9_]+)[(;[]" declarations "${text}")
    foreach(declaration ${declarations})
      string(REGEX REPLACE "^GNT_API[^(]*[ *](gntx?_[a-z0-9_]+)[(;[].*$" "\\1" name "${declaration}")
      string(APPEND private "        ${name};\n")
    endforeach()
  endif()
  file(CONFIGURE OUTPUT ${file} CONTENT
    "GNNTRAIN_0 {\n    global:\n        gnt_*;\n    local:\n        *;\n};\n\nGNNTRAIN_PRIVATE {\n    global:\n${private}} GNNTRAIN_0;\n"
    @ONLY)
endfunction()

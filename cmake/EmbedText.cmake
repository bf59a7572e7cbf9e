# SPDX-License-Identifier: Apache-2.0
# gnt_embed_text(FILE NAME OUTPUT): writes a C file that holds the lines of a text as `const char *const NAME[]`, ended by
# NULL, so that an installed program needs no file beside it. Lines, since a C string of any length is not portable.
function(gnt_embed_text file name output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REGEX REPLACE "\n$" "" text "${text}")
  string(REPLACE "\n" "\",\n    \"" text "${text}")
  set(text "/* Made from ${name}'s text by cmake/EmbedText.cmake. */\n#include \"cli/submit.h\"\n\nconst char *const ${name}[] = {\n    \"${text}\",\n    0,\n};\n")
  set(before "")
  if(EXISTS ${output})
    file(READ ${output} before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE ${output} "${text}")
  endif()
endfunction()

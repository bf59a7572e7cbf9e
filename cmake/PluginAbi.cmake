# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a C file with the exact version that library and device plug-in compare: VERSION and a hash of the headers whose structs
# cross between them (lists of files in HEADERS, relative to the current folder). Run by the build whenever one of them changes, so
# that a plug-in that was not built again is refused (kernels/device_plugin.c).
set(sum "")
foreach(header ${HEADERS})
  file(SHA256 ${header} one)
  string(APPEND sum "${header} ${one}\n")
endforeach()
string(SHA256 sum "${sum}")
string(SUBSTRING ${sum} 0 16 sum)
set(text "/* made by cmake/PluginAbi.cmake */\n#include \"kernels/device_plugin.h\"\n\nconst char gnti_device_plugin_version[] = \"${VERSION} (interfaces ${sum})\";\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(old STREQUAL text)
  file(TOUCH ${OUT})
else()
  file(WRITE ${OUT} "${text}")
endif()

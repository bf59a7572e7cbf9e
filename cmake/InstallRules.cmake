# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down. The tree may be moved afterwards: the command finds the library by $ORIGIN/../lib, the
# .pc file and the CMake package find their prefix from where they lie. What a build of single targets (the command alone) has
# left out is built first: an install is whole, or it fails and says which target it lacks.
include(CMakePackageConfigHelpers)

set(needed "")
foreach(target gnntrain part-metis gnntrain-mpi gnntrain-cuda gnntrain-cli)
  if(TARGET ${target})
    list(APPEND needed "${target}=$<TARGET_FILE:${target}>")
  endif()
endforeach()
if(TARGET gnntrain-cli AND NOT CMAKE_CROSSCOMPILING)
  list(APPEND needed gnntrain-manual=${CMAKE_BINARY_DIR}/gnntrain.1 gnntrain-manual=${CMAKE_BINARY_DIR}/gnntrain.bash)
endif()
if(GNT_BENCH) # bench/CMakeLists.txt makes a target of each
  file(GLOB benchmarks CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/bench_*.c)
  list(FILTER benchmarks EXCLUDE REGEX "/bench_cusparse\\.c$")
  foreach(source ${benchmarks})
    get_filename_component(target ${source} NAME_WE)
    list(APPEND needed "${target}=$<TARGET_FILE:${target}>")
  endforeach()
endif()
install(CODE "
  set(missing \"\")
  foreach(pair ${needed})
    string(REGEX MATCH \"^([^=]+)=(.*)\" found \"\${pair}\")
    if(NOT EXISTS \"\${CMAKE_MATCH_2}\")
      list(APPEND missing \"\${CMAKE_MATCH_1}\")
    endif()
  endforeach()
  if(missing)
    list(REMOVE_DUPLICATES missing)
    message(STATUS \"building what is not built yet: \${missing}\")
    execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\" --target \${missing}
      RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(failed)
      message(FATAL_ERROR \"not built: \${missing}; see cmake --build ${CMAKE_BINARY_DIR}\\n\${said}\")
    endif()
  endif()")

install(TARGETS gnntrain EXPORT gnntrainTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET gnntrain-mpi)
  install(TARGETS gnntrain-mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET gnntrain-cuda) # it links the vendor's libraries where they lay when it was built
  install(TARGETS gnntrain-cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/gnntrain DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT gnntrainTargets NAMESPACE gnntrain:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gnntrain)
configure_package_config_file(cmake/gnntrainConfig.cmake.in ${CMAKE_BINARY_DIR}/gnntrainConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gnntrain)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/gnntrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/gnntrainConfig.cmake ${CMAKE_BINARY_DIR}/gnntrainConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gnntrain)
configure_file(cmake/gnntrain.pc.in ${CMAKE_BINARY_DIR}/gnntrain.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/gnntrain.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/gnntrain)

install(TARGETS part-metis RUNTIME DESTINATION libexec/gnntrain) # ../libexec/gnntrain from the library, like CMAKE_INSTALL_LIBDIR

if(TARGET gnntrain-cli)
  install(TARGETS gnntrain-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(NOT CMAKE_CROSSCOMPILING) # man page and completion come from the command's own option tables
    set(speak ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 $<TARGET_FILE:gnntrain-cli>)
    add_custom_command(OUTPUT gnntrain.1 gnntrain.bash DEPENDS gnntrain-cli VERBATIM
      COMMAND ${speak} --man > gnntrain.1
      COMMAND ${speak} --completion > gnntrain.bash)
    add_custom_target(gnntrain-manual ALL DEPENDS gnntrain.1 gnntrain.bash)
    install(FILES ${CMAKE_BINARY_DIR}/gnntrain.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${CMAKE_BINARY_DIR}/gnntrain.bash DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions
      RENAME gnntrain)
  endif()
endif()

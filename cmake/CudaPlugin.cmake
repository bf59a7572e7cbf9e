# SPDX-License-Identifier: Apache-2.0
# The CUDA plug-in (kernels/cuda, dist/comm_nccl.c), in two builds of the same files:
#   gnntrain-cuda   by nvcc, linked with the vendor's libraries; where nvcc and the libraries are
#   gnt_hostcuda    a static library for tests: kernels by the C++ compiler, libraries by the stand-in of tests/hostcuda;
#                   where the vendor's headers and a C++ compiler are. gnntrain-hostcuda is the same as a plug-in for the command.
# What is missing is said by name, and skipped.
file(GLOB cuda_c_sources CONFIGURE_DEPENDS kernels/cuda/*.c dist/comm_nccl*.c)
file(GLOB cuda_kernel_sources CONFIGURE_DEPENDS kernels/cuda/*.cu)
list(FILTER cuda_c_sources EXCLUDE REGEX "/cuda_plugin_host\\.c$")
# base/'s functions, forwarded to the library; sizes are arithmetic alone; the version that both compare
set(cuda_host_sources ${CMAKE_SOURCE_DIR}/kernels/cuda/cuda_plugin_host.c ${CMAKE_SOURCE_DIR}/base/size.c ${GNT_PLUGIN_ABI})

find_program(GNT_NVCC nvcc HINTS /usr/local/cuda/bin)
find_path(CUDA_INCLUDE cuda_runtime_api.h HINTS /usr/local/cuda/include)
find_path(NCCL_INCLUDE nccl.h HINTS ${CUDA_INCLUDE})
foreach(library cudart cusparse cublasLt nccl)
  find_library(CUDA_LIB_${library} ${library} HINTS /usr/local/cuda/lib64)
endforeach()
include(CheckLanguage)
check_language(CXX)

set(missing "")
foreach(header cuda_runtime_api.h cusparse.h cublasLt.h nccl.h)
  if(NOT CUDA_INCLUDE OR NOT (EXISTS ${CUDA_INCLUDE}/${header} OR EXISTS ${NCCL_INCLUDE}/${header}))
    list(APPEND missing ${header})
  endif()
endforeach()
if(missing)
  list(JOIN missing " " missing)
  set(GNT_NO_HOSTCUDA "missing ${missing}") # tests/CMakeLists.txt says it where skipped tests are listed
  message(STATUS "no CUDA plug-in, and its tests are skipped: ${GNT_NO_HOSTCUDA}")
  return()
endif()

if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  set(CMAKE_CXX_FLAGS_DEBUG "${CMAKE_C_FLAGS_DEBUG}")
  set(CMAKE_CXX_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
  set(CMAKE_CXX_STANDARD 17)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
endif()
if(GNT_TESTS AND (GNT_SANITIZE MATCHES "thread" OR GNT_FUZZ)) # fibres are not told to that sanitizer; clang's is not g++'s
  set(GNT_NO_HOSTCUDA "not built for the thread sanitizer or the fuzzer")
elseif(GNT_TESTS AND CMAKE_CXX_COMPILER)
  file(GLOB hostcuda_sources CONFIGURE_DEPENDS tests/hostcuda/*.cpp)
  set_source_files_properties(${cuda_kernel_sources} PROPERTIES LANGUAGE CXX
    COMPILE_OPTIONS "-xc++;-include;${CMAKE_SOURCE_DIR}/tests/hostcuda/hostcuda_device.h;-Wno-unknown-pragmas;-Wno-extra") # unroll; enumerators that stand for numbers
  add_library(gnt_hostcuda STATIC ${cuda_c_sources} ${cuda_kernel_sources} ${hostcuda_sources})
  target_include_directories(gnt_hostcuda PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  target_include_directories(gnt_hostcuda SYSTEM PUBLIC ${CUDA_INCLUDE} ${NCCL_INCLUDE})
  target_compile_definitions(gnt_hostcuda PUBLIC _GNU_SOURCE $<$<CONFIG:Debug>:GNT_DEBUG> GNT_VERSION="${PROJECT_VERSION}")
  target_compile_options(gnt_hostcuda PRIVATE -Wall -Wextra -Wshadow -ffp-contract=off $<$<BOOL:${GNT_WERROR}>:-Werror>)
  if(NOT CMAKE_C_FLAGS_DEBUG MATCHES "coverage")
    target_compile_options(gnt_hostcuda PRIVATE -O2) # tests run on it: a fifth of their time
  endif()
  if(GNT_SANITIZE MATCHES "address") # kernels run in fibres by the thousand, each of which would get a fake stack of megabytes
    set(never $<IF:$<CXX_COMPILER_ID:GNU>,--param=asan-use-after-return=0,-fsanitize-address-use-after-return=never>)
    target_compile_options(gnt_hostcuda PUBLIC $<$<COMPILE_LANGUAGE:CXX>:${never}>)
  endif()
  target_link_libraries(gnt_hostcuda PUBLIC Threads::Threads m)
  # the same as a plug-in in a folder of its own, which GNNTRAIN_PLUGIN_DIR names
  add_library(gnntrain-hostcuda MODULE $<TARGET_OBJECTS:gnt_hostcuda> ${cuda_host_sources})
  add_dependencies(gnntrain-hostcuda gnt_plugin_abi)
  target_link_libraries(gnntrain-hostcuda PRIVATE gnt_hostcuda)
  if(NOT GNT_SANITIZE) # a sanitizer's own symbols come from the program
    target_link_options(gnntrain-hostcuda PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(gnntrain-hostcuda PROPERTIES OUTPUT_NAME gnntrain-cuda LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/hostcuda)
else()
  set(GNT_NO_HOSTCUDA "missing a C++ compiler")
  message(STATUS "the CUDA plug-in is not run by tests: ${GNT_NO_HOSTCUDA}")
endif()

if(GNT_NVCC AND CUDA_LIB_cudart AND CUDA_LIB_cusparse AND CUDA_LIB_cublasLt AND CUDA_LIB_nccl AND NOT GNT_SANITIZE)
  # Not CMake's own CUDA language: its check of the compiler costs seconds, and one file is one command.
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
  set(GNT_CUDA_ARCHITECTURES "80;90;100" CACHE STRING "compute capabilities that kernels are built for")
  set(gencode "")
  foreach(arch ${GNT_CUDA_ARCHITECTURES})
    list(APPEND gencode -gencode=arch=compute_${arch},code=sm_${arch})
  endforeach()
  foreach(source ${cuda_kernel_sources})
    get_filename_component(name ${source} NAME_WE)
    set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
    add_custom_command(OUTPUT ${object} DEPENDS ${source} ${CMAKE_SOURCE_DIR}/cmake/nvcc.sh DEPFILE ${object}.d VERBATIM
      COMMAND ${CMAKE_SOURCE_DIR}/cmake/nvcc.sh ${object} ${GNT_NVCC} -O3 -std=c++17 --fmad=false -lineinfo
        -Werror all-warnings -Xptxas -v -MD -MF ${object}.d -MT ${object} ${gencode}
        -Xcompiler=-fPIC,-fvisibility=hidden,-Wall -I${CMAKE_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/include -c ${source}
      COMMENT "nvcc ${name}")
    list(APPEND cuda_objects ${object})
  endforeach()
  add_library(gnntrain-cuda MODULE ${cuda_c_sources} ${cuda_host_sources} ${cuda_objects})
  add_dependencies(gnntrain-cuda gnt_plugin_abi)
  target_include_directories(gnntrain-cuda PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  target_include_directories(gnntrain-cuda SYSTEM PRIVATE ${CUDA_INCLUDE} ${NCCL_INCLUDE})
  target_compile_definitions(gnntrain-cuda PRIVATE _GNU_SOURCE $<$<CONFIG:Debug>:GNT_DEBUG> GNT_VERSION="${PROJECT_VERSION}")
  target_link_libraries(gnntrain-cuda PRIVATE gnt_warnings ${CUDA_LIB_cusparse} ${CUDA_LIB_cublasLt} ${CUDA_LIB_nccl}
    ${CUDA_LIB_cudart} Threads::Threads m stdc++) # launchers are C++
  target_link_options(gnntrain-cuda PRIVATE -Wl,--no-undefined)
  set_target_properties(gnntrain-cuda PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
else()
  message(STATUS "no CUDA plug-in: nvcc or its libraries are missing, or sanitizers are on")
endif()

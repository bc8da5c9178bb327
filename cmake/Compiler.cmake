# Reject GCC before 13: it destroys temporaries of a co_await expression twice, so the daemons would
# corrupt memory.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR
    "g++ ${CMAKE_CXX_COMPILER_VERSION} miscompiles C++ coroutines (it destroys temporaries of a "
    "co_await expression twice). Use clang++ 19 (tools/bootstrap installs it; the CMake presets "
    "select it) or g++ 13 or later.")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR
    "clang++ ${CMAKE_CXX_COMPILER_VERSION} is too old for the C++23 used here. Use clang++ 19 "
    "(tools/bootstrap installs it; the CMake presets select it).")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

find_program(CCACHE ccache)
if(CCACHE)
  # For precompiled headers, see "Precompiled headers" in ccache's manual.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${CCACHE}")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Timestamps in precompiled headers would cause cache misses.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

find_program(LLD NAMES ld.lld-19 ld.lld)
if(LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options("--ld-path=${LLD}")
endif()

option(NODEPOOL_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
if(NODEPOOL_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

option(NODEPOOL_FUZZ "Build for libFuzzer, with the sanitizers (tests/fuzz)" OFF)
if(NODEPOOL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

add_library(nodepool_warnings INTERFACE)
target_compile_options(nodepool_warnings INTERFACE -Wall -Wextra -Wpedantic -Werror)

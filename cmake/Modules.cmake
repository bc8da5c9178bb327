# Third-party headers that most sources include, compiled once for all modules of src/ and once, with those of the
# test framework, for tests and other programs. This saves a quarter of the build's time. Each file must still include
# what it uses: tools/check-headers compiles each header without these.
set(precompiled_headers
  <algorithm> <array> <charconv> <chrono> <coroutine> <cstddef> <cstdint> <deque> <exception> <filesystem>
  <fstream> <functional> <map> <memory> <optional> <ostream> <set> <span> <sstream> <stdexcept> <string>
  <string_view> <system_error> <tuple> <utility> <variant> <vector>
  <boost/asio/any_io_executor.hpp> <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp>
  <boost/asio/post.hpp> <boost/asio/this_coro.hpp> <boost/asio/use_awaitable.hpp>
  <fmt/format.h> <fmt/ranges.h>)
function(nodepool_precompile name)
  set(source "${CMAKE_BINARY_DIR}/${name}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(${name} OBJECT "${source}")
  target_precompile_headers(${name} PRIVATE ${precompiled_headers} ${ARGN})
  target_link_libraries(${name} PRIVATE nodepool_warnings fmt::fmt Boost::headers Threads::Threads)
endfunction()
nodepool_precompile(nodepool_precompiled)

option(NODEPOOL_OPTIMISED_MODULES "Optimise some modules in a debug build" OFF)

# A module is a folder of src/ with one responsibility: a static library, nodepool_<module>.
#
#   nodepool_module(NAME [OPTIMISED] [DEPENDS module...] [LINKS target...] [PRIVATE_LINKS target...])
#
# OPTIMISED: in the builds of ./check, too. For small modules in which tests spend much of their time.
#
# All *.cc files of the folder belong to it. A file may include headers of its own module and of its direct and
# indirect dependencies only: the build checks every file (cmake/CheckIncludes.cmake) and fails otherwise. The name of
# a nested module has a slash (coordination/sqlite); its target has an underscore instead.
function(nodepool_module name)
  cmake_parse_arguments(module "OPTIMISED" "" "DEPENDS;LINKS;PRIVATE_LINKS" ${ARGN})
  string(REPLACE "/" "_" target "nodepool_${name}")
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")

  set(dependency_targets "")
  set(visible "${name}")
  foreach(dependency IN LISTS module_DEPENDS)
    string(REPLACE "/" "_" dependency_target "nodepool_${dependency}")
    if(NOT TARGET ${dependency_target})
      message(FATAL_ERROR "module ${name} depends on ${dependency}, which is not defined before it")
    endif()
    list(APPEND dependency_targets ${dependency_target})
    get_target_property(below ${dependency_target} NODEPOOL_VISIBLE_MODULES)
    list(APPEND visible ${below})
  endforeach()
  list(REMOVE_DUPLICATES visible)

  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    if(module_OPTIMISED AND NODEPOOL_OPTIMISED_MODULES)
      # The precompiled headers are not: one set of them serves one level of optimisation.
      target_compile_options(${target} PRIVATE -O1)
    else()
      target_precompile_headers(${target} REUSE_FROM nodepool_precompiled)
    endif()
    target_link_libraries(${target} PRIVATE nodepool_warnings ${module_PRIVATE_LINKS})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(${target} ${scope} ${dependency_targets} ${module_LINKS})
  # For tools/check-headers: CMake adds a target that compiles each header alone.
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}/src"
                                    FILES ${headers})
  set_target_properties(${target} PROPERTIES NODEPOOL_VISIBLE_MODULES "${visible}"
                                             VERIFY_INTERFACE_HEADER_SETS ON)

  set(stamp "${CMAKE_CURRENT_BINARY_DIR}/includes.stamp")
  string(REPLACE ";" "," visible_list "${visible}")
  add_custom_command(
    OUTPUT "${stamp}"
    COMMAND "${CMAKE_COMMAND}" "-DMODULE=${name}" "-DVISIBLE=${visible_list}"
            "-DSOURCE_ROOT=${CMAKE_SOURCE_DIR}/src" -P "${CMAKE_SOURCE_DIR}/cmake/CheckIncludes.cmake"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS ${sources} ${headers} "${CMAKE_SOURCE_DIR}/cmake/CheckIncludes.cmake"
    COMMENT "Checking the includes of module ${name}"
    VERBATIM)
  add_custom_target(${target}_includes DEPENDS "${stamp}")
  add_dependencies(${target} ${target}_includes)
endfunction()

# Embeds the contents of files in the program. The module declares embedded_files() in its embedded_files.h.
#
#   nodepool_embed(MODULE file...)
function(nodepool_embed module)
  list(JOIN ARGN "," files)
  set(texts "${CMAKE_CURRENT_BINARY_DIR}/embedded_files.cc")
  add_custom_command(
    OUTPUT "${texts}"
    COMMAND "${CMAKE_COMMAND}" "-DMODULE=${module}" "-DFILES=${files}" "-DOUTPUT=${texts}"
            -P "${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    DEPENDS ${ARGN} "${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    COMMENT "Embedding files of module ${module}"
    VERBATIM)
  target_sources(nodepool_${module} PRIVATE "${texts}")
endfunction()

# A program of src/main, which only parses arguments and connects modules.
#
#   nodepool_program(NAME SOURCES file... DEPENDS module...)
function(nodepool_program name)
  cmake_parse_arguments(program "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  add_executable(${name} ${program_SOURCES})
  foreach(dependency IN LISTS program_DEPENDS)
    string(REPLACE "/" "_" dependency "nodepool_${dependency}")
    target_link_libraries(${name} PRIVATE ${dependency})
  endforeach()
  target_link_libraries(${name} PRIVATE nodepool_warnings ${program_LINKS})
  target_precompile_headers(${name} REUSE_FROM nodepool_precompiled)
  # Stack dumps (telemetry/thread_stacks.h) name functions by the dynamic symbol table.
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
endfunction()

# The tests of one module (tests/<module>/*.cc): one GoogleTest executable, test_<module>.
#
#   nodepool_test(NAME [SHARED_SERVICE] DEPENDS module... [LINKS target...])
#
# For CTest each program is one test. ./check runs a few dozen of its tests in a process; with SHARED_SERVICE all in
# one, because they share a service that takes seconds to start. The label `reads-documents` marks tests that read
# files of the source tree at run time, which the build does not know as dependencies; `starts-daemons` marks tests of
# whole daemons, which depend on nearly all modules.
function(nodepool_test name)
  cmake_parse_arguments(test "SHARED_SERVICE" "" "DEPENDS;LINKS" ${ARGN})
  string(REPLACE "/" "_" target "test_${name}")
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  add_executable(${target} ${sources})
  foreach(dependency IN LISTS test_DEPENDS)
    string(REPLACE "/" "_" dependency "nodepool_${dependency}")
    target_link_libraries(${target} PRIVATE ${dependency})
  endforeach()
  target_link_libraries(${target} PRIVATE nodepool_warnings GTest::gmock GTest::gtest_main
                                          ${test_LINKS})
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_precompile_headers(${target} REUSE_FROM nodepool_precompiled_for_tests)
  set(labels gtest)
  if(test_SHARED_SERVICE)
    list(APPEND labels shared-service)
  endif()
  add_test(NAME "${name}" COMMAND ${target})
  set_tests_properties("${name}" PROPERTIES TIMEOUT 1800 LABELS "${labels}"
                                             REQUIRED_FILES "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${target}")
endfunction()

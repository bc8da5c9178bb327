# NODEPOOL_VERSION: what --version prints, and the version of the package. The first of these that there is:
#
#   -DNODEPOOL_VERSION=…   the argument
#   VERSION                the file of a source archive (tools/release)
#   12.1.0                 the commit has the tag v12.1.0; 12.1.0~rc1: v12.1.0-rc1
#   12.1.0+5.g0123abcd     the commit is five commits after that tag
#   12.0.0~83.g0123abcd    no tag yet: 83 commits on the way to PROJECT_VERSION
#   12.0.0~unknown         no git either
#
# Debian sorts them as they follow each other, and they are tokens of HTTP. Debug builds are 12.0.0~debug: each commit
# would link all test programs again.
set(NODEPOOL_VERSION "" CACHE STRING "Version; empty: from the file VERSION or from git")

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH nodepool_root)

function(nodepool_git output)
  execute_process(COMMAND "${GIT_EXECUTABLE}" ${ARGN} WORKING_DIRECTORY "${nodepool_root}" OUTPUT_VARIABLE text
                  RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT status EQUAL 0)
    set(text "")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

function(nodepool_version output)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(${output} "${PROJECT_VERSION}~debug" PARENT_SCOPE)
    return()
  endif()
  if(EXISTS "${nodepool_root}/VERSION")
    file(STRINGS "${nodepool_root}/VERSION" version LIMIT_COUNT 1)
    set(${output} "${version}" PARENT_SCOPE)
    return()
  endif()
  set(${output} "${PROJECT_VERSION}~unknown" PARENT_SCOPE)
  find_package(Git QUIET)
  # Sources without git may be in the repository of another project.
  if(NOT GIT_FOUND OR NOT EXISTS "${nodepool_root}/.git")
    return()
  endif()
  nodepool_git(log rev-parse --path-format=absolute --git-path logs/HEAD)
  if(EXISTS "${log}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${log}")  # a commit
  endif()
  nodepool_git(described describe --tags --match "v[0-9]*" --abbrev=8)
  if(described)
    string(REGEX REPLACE "^v" "" described "${described}")
    string(REPLACE "-rc" "~rc" described "${described}")
    string(REGEX REPLACE "-([0-9]+)-(g[0-9a-f]+)$" "+\\1.\\2" described "${described}")
    set(${output} "${described}" PARENT_SCOPE)
    return()
  endif()
  nodepool_git(count rev-list --count HEAD)
  nodepool_git(commit rev-parse --short=8 HEAD)
  if(count AND commit)
    set(${output} "${PROJECT_VERSION}~${count}.g${commit}" PARENT_SCOPE)
  endif()
endfunction()

if(NOT NODEPOOL_VERSION)
  nodepool_version(found)
  set(NODEPOOL_VERSION "${found}")  # not the cache: the next run of CMake determines it again
endif()

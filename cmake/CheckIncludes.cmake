cmake_minimum_required(VERSION 3.25)

# Stops the build when a file of ROOM includes a header of a room it does not depend on.
# Input: ROOM, VISIBLE (comma separated rooms), SOURCE_ROOT.
string(REPLACE "," ";" visible "${VISIBLE}")
file(GLOB files "${SOURCE_ROOT}/${ROOM}/*.h" "${SOURCE_ROOT}/${ROOM}/*.cc")
foreach(file IN LISTS files)
  file(STRINGS "${file}" lines REGEX "^#include \"")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"(.*)\".*$" "\\1" header "${line}")
    get_filename_component(from "${header}" DIRECTORY)
    if(NOT from IN_LIST visible)
      message(FATAL_ERROR "${file} includes \"${header}\": room ${ROOM} may not use room "
                          "'${from}' (it sees: ${VISIBLE}). See docs/architecture.md.")
    endif()
  endforeach()
endforeach()

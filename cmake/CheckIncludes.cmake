cmake_minimum_required(VERSION 3.25)

# Fails the build if a file of MODULE includes a header of a module that MODULE does not depend on.
# Input: MODULE, VISIBLE (comma separated modules), SOURCE_ROOT.
string(REPLACE "," ";" visible "${VISIBLE}")
file(GLOB files "${SOURCE_ROOT}/${MODULE}/*.h" "${SOURCE_ROOT}/${MODULE}/*.cc")
foreach(file IN LISTS files)
  file(STRINGS "${file}" lines REGEX "^#include \"")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"(.*)\".*$" "\\1" header "${line}")
    get_filename_component(from "${header}" DIRECTORY)
    if(NOT from IN_LIST visible)
      message(FATAL_ERROR "${file} includes \"${header}\": module ${MODULE} may not use module "
                          "'${from}' (allowed: ${VISIBLE}). See docs/architecture.md.")
    endif()
  endforeach()
endforeach()

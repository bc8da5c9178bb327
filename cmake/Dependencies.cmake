# All are packages of Debian 12. tools/bootstrap installs them.
set(Boost_NO_WARN_NEW_VERSIONS ON)
find_package(Boost 1.81 REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(simdjson REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libssh REQUIRED IMPORTED_TARGET libssh)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(pugixml REQUIRED IMPORTED_TARGET pugixml)
pkg_check_modules(libvirt REQUIRED libvirt)  # headers only
pkg_check_modules(gearmand REQUIRED IMPORTED_TARGET gearmand)  # libgearman's

if(NOT TARGET Boost::headers)
  message(FATAL_ERROR "Boost 1.81 headers are missing: run tools/bootstrap")
endif()

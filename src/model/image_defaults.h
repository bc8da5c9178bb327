#pragma once

namespace nodepool::model {

// The defaults for records without these keys, written by old versions.
inline constexpr const char* kOldUsername = "zuul";
inline constexpr const char* kOldPythonPath = "/usr/bin/python2";

}  // namespace nodepool::model

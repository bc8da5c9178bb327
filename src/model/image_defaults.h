#pragma once

namespace nodepool::model {

// What records of images that were written before these keys existed mean.
inline constexpr const char* kOldUsername = "zuul";
inline constexpr const char* kOldPythonPath = "/usr/bin/python2";

}  // namespace nodepool::model

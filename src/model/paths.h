#pragma once

#include <string>
#include <string_view>

// The paths of the records. The tree is the same as in the Python Nodepool.
namespace nodepool::model {

inline constexpr std::string_view kRoot = "/nodepool";
inline constexpr std::string_view kNodesRoot = "/nodepool/nodes";
inline constexpr std::string_view kRequestsRoot = "/nodepool/requests";
inline constexpr std::string_view kRequestLocksRoot = "/nodepool/requests-lock";
inline constexpr std::string_view kComponentsRoot = "/nodepool/components";
inline constexpr std::string_view kImagesRoot = "/nodepool/images";
// Not used by the Python Nodepool and Zuul.
inline constexpr std::string_view kHostsRoot = "/nodepool/hosts";
inline constexpr std::string_view kBootTimesRoot = "/nodepool/boot-times";

inline std::string node_path(std::string_view id) {
  return std::string(kNodesRoot).append("/").append(id);
}
inline std::string node_lock_path(std::string_view id) {
  return node_path(id).append("/lock");
}
inline std::string request_path(std::string_view id) {
  return std::string(kRequestsRoot).append("/").append(id);
}
inline std::string request_lock_path(std::string_view id) {
  return std::string(kRequestLocksRoot).append("/").append(id);
}

}  // namespace nodepool::model

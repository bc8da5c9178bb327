#pragma once

#include <string>
#include <string_view>

namespace nodepool::coordination::zookeeper {

// A store's paths on the server: below the chroot, a node that the store takes for "/".
class Paths {
 public:
  // `chroot` is a valid path, or empty. Throws StoreError(invalid).
  explicit Paths(std::string chroot);

  std::string to_server(std::string_view path) const;

  // The path of a node at or below the chroot. Throws MalformedMessage for any other.
  std::string from_server(std::string_view path) const;

 private:
  std::string chroot_;  // empty for "/"
};

}  // namespace nodepool::coordination::zookeeper

#pragma once

#include <string>
#include <string_view>

namespace nodepool::coordination::zookeeper {

// Maps a store's paths to the server's: below the chroot, the node that is the store's "/".
class Paths {
 public:
  // `chroot` is a valid path, or empty. Throws StoreError(invalid).
  explicit Paths(std::string chroot);

  std::string to_server(std::string_view path) const;

  // The store's path of a node at or below the chroot. Throws MalformedMessage for any other.
  std::string from_server(std::string_view path) const;

 private:
  std::string chroot_;  // empty for "/"
};

}  // namespace nodepool::coordination::zookeeper

#include "coordination/zookeeper/paths.h"

#include "coordination/path.h"
#include "coordination/zookeeper/wire.h"

namespace nodepool::coordination::zookeeper {

Paths::Paths(std::string chroot) : chroot_(std::move(chroot)) {
  if (!chroot_.empty()) require_valid_path(chroot_);
  if (chroot_ == "/") chroot_.clear();
}

std::string Paths::to_server(std::string_view path) const {
  if (chroot_.empty()) return std::string(path);
  return path == "/" ? chroot_ : chroot_ + std::string(path);
}

std::string Paths::from_server(std::string_view path) const {
  if (path.empty() || path.front() != '/' || !is_within(path, chroot_.empty() ? "/" : chroot_)) {
    throw MalformedMessage("a path outside of the chroot");
  }
  const std::string_view below = path.substr(chroot_.size());
  return below.empty() ? "/" : std::string(below);
}

}  // namespace nodepool::coordination::zookeeper

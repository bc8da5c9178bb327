#include "cli/lease_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace nodepool::cli {

namespace {

std::unique_ptr<AtomicFile> file_at(const std::string& path) {
  return path.empty() ? nullptr : std::make_unique<AtomicFile>(path);
}

// ssh expands '%' and '$' in the name of a file; quotes and backslashes would need different
// escapes in each of the files.
bool can_be_named(const std::string& path) {
  return std::ranges::none_of(path, [](char c) {
    return std::string_view("%$\"'\\").contains(c) || static_cast<unsigned char>(c) < ' ';
  });
}

}  // namespace

LeaseFiles::LeaseFiles(const std::string& ssh_config, const std::string& inventory)
    : ssh_config_(file_at(ssh_config)), inventory_(file_at(inventory)) {
  const AtomicFile* first = ssh_config_ ? ssh_config_.get() : inventory_.get();
  if (first == nullptr) return;
  if (!can_be_named(first->path())) {
    throw std::runtime_error(first->path() +
                             ": the path of the file must not contain quotes, %, $ or \\");
  }
  known_hosts_ = file_at(first->path() + ".known_hosts");
  std::set<std::string> targets;
  for (const AtomicFile* file : {ssh_config_.get(), inventory_.get(), known_hosts_.get()}) {
    if (file == nullptr || targets.insert(file->target()).second) continue;
    throw std::runtime_error(file->path() + ": two files cannot have the same path");
  }
}

void LeaseFiles::write(const std::vector<NodeAccess>& nodes) {
  if (!known_hosts_) return;
  const AccessPaths paths{ssh_config_ ? ssh_config_->path() : std::string(), known_hosts_->path(),
                          inventory_ ? inventory_->path() : std::string()};
  known_hosts_->write(known_hosts_text(nodes));
  if (ssh_config_) ssh_config_->write(ssh_config_text(nodes, paths));
  if (inventory_) inventory_->write(inventory_text(nodes, paths));
}

std::string LeaseFiles::summary() const {
  std::string text;
  if (ssh_config_) text += fmt::format("SSH:          ssh -F {} HOST\n", ssh_config_->path());
  if (inventory_) text += fmt::format("Ansible:      ansible -i {} all\n", inventory_->path());
  return text;
}

}  // namespace nodepool::cli

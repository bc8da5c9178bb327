#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/access_files.h"
#include "cli/atomic_file.h"

namespace nodepool::cli {

// The files that `request` writes for what uses the nodes of its lease: for ssh, for Ansible, and
// the host keys beside the first of them, with `.known_hosts` at the end of its name.
class LeaseFiles {
 public:
  // An empty path: no such file. Whether they can be written is known from here on. Throws
  // std::system_error, and std::runtime_error for a path that such a file cannot name.
  LeaseFiles(const std::string& ssh_config, const std::string& inventory);

  // Writes them. Throws std::system_error.
  void write(const std::vector<NodeAccess>& nodes);

  // For people: where they are, as lines.
  std::string summary() const;

 private:
  std::unique_ptr<AtomicFile> ssh_config_;
  std::unique_ptr<AtomicFile> inventory_;
  std::unique_ptr<AtomicFile> known_hosts_;
};

}  // namespace nodepool::cli

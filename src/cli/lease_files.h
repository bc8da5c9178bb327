#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/access_files.h"
#include "cli/atomic_file.h"

namespace nodepool::cli {

// The files that `request` writes for its lease: an SSH configuration, an inventory for Ansible,
// and the host keys beside the first of them, with the suffix `.known_hosts`.
class LeaseFiles {
 public:
  // An empty path: no such file. Throws std::system_error if a file cannot be written, and
  // std::runtime_error if two files have the same path, if there is something else than a regular
  // file, or if the path has a character that the files cannot contain.
  LeaseFiles(const std::string& ssh_config, const std::string& inventory);

  // Writes them. Throws std::system_error.
  void write(const std::vector<NodeAccess>& nodes);

  // Lines for people that say how to use the files.
  std::string summary() const;

 private:
  std::unique_ptr<AtomicFile> ssh_config_;
  std::unique_ptr<AtomicFile> inventory_;
  std::unique_ptr<AtomicFile> known_hosts_;
};

}  // namespace nodepool::cli

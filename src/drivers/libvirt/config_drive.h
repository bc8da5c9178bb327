#pragma once

#include <map>
#include <string>
#include <vector>

namespace nodepool::drivers::libvirt {

// An ISO 9660 image (ECMA-119) with Joliet names, with these files in its root directory. `label`
// and the names are ASCII; at most 16 and 64 characters.
std::string iso_image(const std::string& label, const std::map<std::string, std::string>& files);

// The settings of one machine for cloud-init.
struct CloudInit {
  std::string instance_id;
  std::string hostname;
  std::string username;           // empty: no user is created
  std::vector<std::string> keys;  // SSH public keys
  std::string user_data;          // empty: none
};

// The files of cloud-init's data source NoCloud, whose disk has the label "cidata".
std::map<std::string, std::string> cloud_init_files(const CloudInit& settings);

}  // namespace nodepool::drivers::libvirt

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cloud/element.h"
#include "driver/images.h"

// What the VPC API reports and takes. All readers throw CloudError(failed).
namespace nodepool::drivers::ibmvpc {

// An instance.
struct VpcInstance {
  std::string id;
  std::string name;  // unique in the region
  std::string status;
  std::string reason_code;     // of the status; empty: none
  std::string reason;          // its message
  std::string group;           // name of the resource group
  std::string boot_disk_name;  // of the boot volume's attachment; empty: none yet
  std::string profile;
  std::string zone;
  std::string interface_id;  // of the primary network interface; empty: none
  std::string private_ipv4;  // empty: none yet

  bool is_running() const { return status == "running"; }
  // Whether it is being made, or started.
  bool is_coming() const;
  // Whether it does not run, and does not run again by itself.
  bool is_off() const;
};

VpcInstance read_instance(const cloud::Element& instance);

// "instance np0000000001 is failed: …".
std::string state_in_words(const VpcInstance& instance);

// A floating IP address.
struct VpcFloatingIp {
  std::string id;
  std::string name;   // unique in the region
  std::string group;  // name of the resource group
  std::string status;
  std::string address;
  std::string target;  // id of the network interface that has it; empty: none
};

VpcFloatingIp read_floating_ip(const cloud::Element& floating_ip);

// An image.
struct VpcImage {
  std::string id;
  std::string name;   // unique in the region
  std::string group;  // name of the resource group
  std::string status;
  std::string reason;                 // of the status; empty: none
  std::string owner_type;             // "user" or "provider"
  driver::Metadata operating_system;  // values as text

  bool is_available() const { return status == "available"; }
  // Whether it is being imported.
  bool is_coming() const { return status == "pending" || status == "tentative"; }
  bool is_going() const { return status == "deleting"; }
};

VpcImage read_image(const cloud::Element& image);

// An image to import from an object in the same region.
struct VpcImageRequest {
  std::string name;
  std::string group;     // id of the resource group
  std::string location;  // of the bucket: "us-south"
  std::string bucket;
  std::string key;
  std::string operating_system;  // name
};

json::Json body_of(const VpcImageRequest& request);

// A size of instances. A resource that may be chosen has its default.
struct VpcProfile {
  std::string name;
  std::optional<double> cores;
  std::optional<double> memory;  // GB
};

VpcProfile read_profile(const cloud::Element& profile);

// A VPC, an SSH key, a subnet or a resource group.
struct VpcThing {
  std::string id;
  std::string name;
  std::string vpc;   // id of a subnet's VPC
  std::string zone;  // name of a subnet's zone
};

VpcThing read_thing(const cloud::Element& thing);

// An instance to make. Things are given by id.
struct VpcInstanceRequest {
  std::string name;
  std::string group;
  std::string vpc;
  std::string subnet;
  std::string zone;      // name
  std::string profile;   // name
  std::string image_id;  // this or the next
  std::string image_href;
  std::string boot_disk_name;  // of the boot volume's attachment; empty: IBM chooses
  std::vector<std::string> keys;
  std::string user_data;                     // empty: none
  std::string volume_profile;                // name
  std::optional<std::int64_t> volume_iops;   // nothing: the profile's
  std::vector<std::string> security_groups;  // empty: the VPC's default one
};

// The body of the call that makes it, with a volume that is deleted with the instance.
json::Json body_of(const VpcInstanceRequest& request);

}  // namespace nodepool::drivers::ibmvpc

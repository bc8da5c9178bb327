#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/element.h"
#include "driver/images.h"
#include "driver/resources.h"

// What Compute Engine's API reports and takes. All readers throw CloudError(failed).
namespace nodepool::drivers::gce {

// An instance.
struct ComputeInstance {
  std::string name;  // unique in the zone
  std::string status;
  std::string status_message;  // empty: none
  std::string machine_type;    // "e2-small"
  std::string private_ipv4;    // empty: none
  std::string public_ipv4;     // empty: none
  driver::Metadata metadata;   // the owner tags

  bool is_running() const { return status == "RUNNING"; }
  // Whether it is being created.
  bool is_coming() const;
  // Whether it is being stopped or deleted; the API does not tell these apart.
  bool is_going() const;
  // Whether it takes no processors, and does not run again by itself.
  bool is_off() const { return status == "TERMINATED" || status == "SUSPENDED"; }
};

ComputeInstance read_instance(const cloud::Element& instance);

// "instance np0000000001 is TERMINATED: …".
std::string state_in_words(const ComputeInstance& instance);

// A change in progress or completed.
struct ComputeOperation {
  std::string name;
  bool is_done = false;
  std::string code;     // of its first error; empty: it has not failed
  std::string message;  // of this error
};

ComputeOperation read_operation(const cloud::Element& operation);

struct MachineType {
  std::string url;
  double cores = 0;
  double memory = 0;  // MiB
};

MachineType read_machine_type(const cloud::Element& type);

// A region's quotas by metric: "CPUS", "INSTANCES", …
struct Quotas {
  driver::Limits limits;
  driver::Resources used;  // by all zones
};

Quotas read_quotas(const cloud::Element& region);

// The metric of a machine type's processors: "N2_CPUS" for "n2-standard-2". The oldest series share
// "CPUS". Not every region has every metric.
std::string processor_metric(std::string_view machine_type);

// An instance to make.
struct InstanceRequest {
  std::string name;
  std::string zone;
  std::string machine_type_url;
  std::string image;
  std::string disk_type;
  std::int64_t disk_size = 0;  // GB
  std::string network;         // path; empty: the subnetwork's
  std::string subnetwork;      // path; empty: the network's in the region
  driver::Metadata metadata;   // with owner tags and SSH keys
  driver::Metadata labels;
};

// The body of the call that makes it: with a disk that is deleted with the instance, and an
// external address.
json::Json body_of(const InstanceRequest& request);

// A request id that depends on the text only. Calls with equal ids count as one.
std::string request_id(std::string_view text);

}  // namespace nodepool::drivers::gce

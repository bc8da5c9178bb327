#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/images.h"
#include "drivers/aws/api/caller.h"

namespace nodepool::drivers::aws {

// An instance in EC2's listing.
struct Ec2Instance {
  std::string id;
  std::string state;   // "pending", "running", "shutting-down", "terminated", "stopping", "stopped"
  std::string reason;  // message for the state; may be empty
  std::string reason_code;  // "Server.SpotInstanceTermination"; may be empty
  std::string type;
  std::string zone;
  std::string host_id;  // of the dedicated host; may be empty
  bool is_spot = false;
  std::string public_ipv4;
  std::string private_ipv4;
  std::string ipv6;  // the first one of the first interface
  std::vector<std::string> volume_ids;
  driver::Metadata tags;

  bool is_gone() const { return state == "terminated"; }
  bool is_going() const { return is_gone() || state == "shutting-down"; }
  // Whether it is stopped, stopping or going. False for unknown states.
  bool has_ended() const { return is_going() || state == "stopping" || state == "stopped"; }
};

// "instance i-1 is terminated: Server.SpotInstanceTermination: Spot instance termination". One line
// of limited length.
std::string state_in_words(const Ec2Instance& instance);

struct Ec2Volume {
  std::string id;
  std::string state;  // "available", "in-use", …
  std::string type;
  double size = 0;  // GiB
  double iops = 0;
  driver::Metadata tags;
};

// An AMI, with its first block device.
struct Ami {
  std::string id;
  std::string created;  // ISO 8601: later times compare greater
  std::string state;
  struct RootDevice {
    std::string name;
    std::string snapshot_id;
    std::string volume_type;
    std::optional<std::int64_t> size;
    std::optional<std::int64_t> iops;
    std::optional<std::int64_t> throughput;
  };
  std::optional<RootDevice> root;
  std::string name;
  std::vector<std::string> snapshot_ids;  // of all its block devices
  driver::Metadata tags;
};

struct Snapshot {
  std::string id;
  std::string state;        // "pending", "completed", "error"
  std::string description;  // set by AWS for imports
  std::int64_t size = 0;    // GiB
  driver::Metadata tags;
};

struct InstanceType {
  std::string name;
  double vcpus = 0;
  double cores = 0;
  double memory = 0;  // MiB
};

struct DedicatedHost {
  std::string id;
  std::string state;   // "available", "pending", "released", "permanent-failure", …
  std::string family;  // of its instances, or their instance type
  driver::Metadata tags;

  bool is_gone() const { return state.starts_with("released"); }
};

struct LaunchTemplate {
  std::string name;
  driver::Metadata tags;
};

// EC2 in one region. All functions throw CloudError.
class Ec2 {
 public:
  explicit Ec2(Caller& caller) : caller_(caller) {}

  // All instances, including those terminated within the last hour.
  async::Task<std::vector<Ec2Instance>> instances();
  // Reads the instance itself: listings may lack it. Whether EC2 does not find it, or it is
  // terminated.
  async::Task<bool> is_gone(std::string instance_id);
  async::Task<std::vector<Ec2Volume>> volumes();
  // The images with these ids. Omits missing ones.
  async::Task<std::vector<Ami>> images(std::vector<std::string> ids);
  // The images that match the filters.
  async::Task<std::vector<Ami>> images_that(Query filters);
  // The account's own images and snapshots.
  async::Task<std::vector<Ami>> own_images();
  async::Task<std::vector<Snapshot>> own_snapshots();
  // Registers an image, and returns its id.
  async::Task<std::string> register_image(Query query);
  // Succeed if the image or snapshot does not exist.
  async::Task<> deregister_image(std::string id);
  async::Task<> delete_snapshot(std::string id);
  // Adds tags to existing resources, overriding theirs.
  async::Task<> create_tags(std::vector<std::string> ids, driver::Metadata tags);
  // The instance types with these names. Omits unknown ones: uses a filter, as a list of names
  // would be refused as a whole.
  async::Task<std::vector<InstanceType>> instance_types(std::vector<std::string> names);

  // Makes one instance, and returns its id. `query` contains a ClientToken.
  async::Task<std::string> run_instance(Query query);
  // Makes one instance by an instant fleet, and returns its id. CloudError(not_found): the launch
  // template does not exist.
  async::Task<std::string> create_fleet(Query query);
  // Allocates a dedicated host, and returns its id.
  async::Task<std::string> allocate_host(Query query);
  async::Task<std::vector<DedicatedHost>> hosts();
  // Returns whether the host existed.
  async::Task<bool> release_host(std::string id);
  // Succeeds if a template with that name exists: it has the same content.
  async::Task<> create_template(Query query);
  async::Task<std::vector<LaunchTemplate>> templates();
  async::Task<> delete_template(std::string name);
  // Terminates the instances. CloudError(not_found): one of them does not exist, and none was
  // terminated.
  async::Task<> terminate(std::vector<std::string> ids);
  // Succeeds if the volume does not exist.
  async::Task<> delete_volume(std::string id);
  async::Task<std::optional<std::string>> console_output(std::string id);

 private:
  // Reads a page; returns the number of objects in it and all previous ones.
  using Take = std::function<std::size_t(const cloud::XmlElement& answer)>;

  // Deletes one object; succeeds if it does not exist.
  async::Task<> remove(std::string action, std::string parameter, std::string id);
  // Requests a list page by page. `about`: as in Call.
  async::Task<> ask_pages(std::string action, Query query, Take take, std::string about = {});
  async::Task<std::vector<Ec2Instance>> describe_instances(Query query, std::string about);
  async::Task<std::vector<Ami>> describe_images(Query query, std::string about);

  Caller& caller_;
};

// The tags of an object in a response.
driver::Metadata read_tags(const cloud::XmlElement& item);

// An instance in a response. Public for tests of malformed responses.
Ec2Instance read_instance(const cloud::XmlElement& item);

}  // namespace nodepool::drivers::aws

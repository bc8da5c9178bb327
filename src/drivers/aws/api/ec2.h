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

// A machine as EC2 lists it.
struct Ec2Instance {
  std::string id;
  std::string state;   // "pending", "running", "shutting-down", "terminated", "stopping", "stopped"
  std::string reason;  // why it is in that state, in words; may be empty
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
  // Whether it has been stopped, or is going; not of a state that nobody has heard of.
  bool has_ended() const { return is_going() || state == "stopping" || state == "stopped"; }
};

// "instance i-1 is terminated: Server.SpotInstanceTermination: Spot instance termination": one
// line, not too long.
std::string state_in_words(const Ec2Instance& instance);

struct Ec2Volume {
  std::string id;
  std::string state;  // "available", "in-use", …
  std::string type;
  double size = 0;  // GiB
  double iops = 0;
  driver::Metadata tags;
};

// An image, with the first of its block devices.
struct Ami {
  std::string id;
  std::string created;  // ISO 8601: later ones compare as greater
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
  std::string description;  // AWS' own, of what it has imported
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
  std::string family;  // of its instances, or their type
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

  // All instances, those that were terminated within the last hour included.
  async::Task<std::vector<Ec2Instance>> instances();
  async::Task<std::vector<Ec2Volume>> volumes();
  // By their ids. One that is not there is left out.
  async::Task<std::vector<Ami>> images(std::vector<std::string> ids);
  // That meet the filters.
  async::Task<std::vector<Ami>> images_that(Query filters);
  // The account's own, and its snapshots.
  async::Task<std::vector<Ami>> own_images();
  async::Task<std::vector<Snapshot>> own_snapshots();
  // Makes an image, and returns its id.
  async::Task<std::string> register_image(Query query);
  // Return at once if they are not there.
  async::Task<> deregister_image(std::string id);
  async::Task<> delete_snapshot(std::string id);
  // Puts tags on things that are there already, over those that they have.
  async::Task<> create_tags(std::vector<std::string> ids, driver::Metadata tags);
  // Of these names. Those that are not there are left out: a filter finds nothing where a list of
  // names would be refused as a whole.
  async::Task<std::vector<InstanceType>> instance_types(std::vector<std::string> names);

  // Makes one machine of all the parameters, among them a ClientToken, and returns its id.
  async::Task<std::string> run_instance(Query query);
  // The same by a fleet that AWS keeps nothing of. CloudError(not_found): there is no such
  // template.
  async::Task<std::string> create_fleet(Query query);
  // Returns its id.
  async::Task<std::string> allocate_host(Query query);
  async::Task<std::vector<DedicatedHost>> hosts();
  // Returns whether it was there.
  async::Task<bool> release_host(std::string id);
  // Also if there is one with that name: then it has the same in it.
  async::Task<> create_template(Query query);
  async::Task<std::vector<LaunchTemplate>> templates();
  async::Task<> delete_template(std::string name);
  // Ends them. CloudError(not_found) if one of them is not there: then none is ended.
  async::Task<> terminate(std::vector<std::string> ids);
  // Returns at once if it is not there.
  async::Task<> delete_volume(std::string id);
  async::Task<std::optional<std::string>> console_output(std::string id);

 private:
  // Reads a page; returns how many things it and those before it have.
  using Take = std::function<std::size_t(const XmlElement& answer)>;

  // A call about one thing; that it is not there is no error.
  async::Task<> remove(std::string action, std::string parameter, std::string id);
  // Asks for a list page by page. `about`: as for Call.
  async::Task<> ask_pages(std::string action, Query query, Take take, std::string about = {});
  async::Task<std::vector<Ami>> describe_images(Query query, std::string about);

  Caller& caller_;
};

// The tags of something in an answer.
driver::Metadata read_tags(const XmlElement& item);

// How a machine stands in an answer: for Ec2, and for tests of hostile answers.
Ec2Instance read_instance(const XmlElement& item);

}  // namespace nodepool::drivers::aws

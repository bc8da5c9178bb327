#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "async/runtime.h"
#include "async/shared_answer.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/openstack/api/cloud_api.h"
#include "drivers/openstack/config/openstack_config.h"
#include "drivers/openstack/poll_policy.h"
#include "drivers/openstack/topology.h"

namespace nodepool::drivers::openstack {

// The servers of the project at one moment.
class ServerList {
 public:
  explicit ServerList(std::vector<Server> servers);
  ServerList(ServerList&&) = default;
  ServerList& operator=(ServerList&&) = default;

  const std::vector<Server>& servers() const { return servers_; }
  const Server* find(std::string_view id) const;  // nullptr if it is not there

 private:
  std::vector<Server> servers_;
  std::unordered_map<std::string_view, std::size_t> index_;  // by id: views into servers_
};

// What is known of the cloud. Whatever many ask for is asked of the cloud once for all of them:
// lists that change are as old as PollPolicy::poll at most, what hardly ever changes is kept until
// forget(). Every function throws CloudError.
class CloudView {
 public:
  // All outlive it.
  CloudView(const async::Runtime& runtime, CloudApi& api, const Cloud& cloud,
            const PollPolicy& poll_policy);

  using Servers = driver::SharedPoller<ServerList>;
  // In which launches and removals wait for what they have asked for.
  Servers& servers() { return servers_; }
  // Empty where the cloud has no such thing.
  async::Task<std::shared_ptr<const std::vector<FloatingIp>>> floating_ips();
  async::Task<std::shared_ptr<const std::vector<Volume>>> volumes();

  async::Task<std::shared_ptr<const std::vector<Flavor>>> flavors();
  async::Task<std::shared_ptr<const Topology>> topology();
  async::Task<std::shared_ptr<const std::vector<std::string>>> zones();

  // The flavor for the label. Throws CloudError(permanent) if there is none.
  async::Task<Flavor> flavor(const OpenStackLabel& label);
  // The ids of networks with these names or ids. Throws CloudError(failed) if one is not there.
  async::Task<std::vector<std::string>> network_ids(std::vector<std::string> names);
  // The id of the image. Nothing if there is none that is active.
  async::Task<std::optional<std::string>> image_id(CloudImageReference image);

  // Asks anew for what hardly ever changes when it is needed next: the cloud has not accepted it.
  void forget();

  // After the last call.
  async::Task<> stop();

 private:
  using ImageId = std::optional<std::string>;

  async::Task<ServerList> ask_servers();
  async::Task<std::vector<FloatingIp>> ask_floating_ips();
  async::Task<std::vector<Volume>> ask_volumes();
  async::Task<Topology> ask_topology();
  async::Task<ImageId> ask_image(std::string name);

  async::Runtime runtime_;
  CloudApi& api_;
  const Cloud& cloud_;
  const PollPolicy& pace_;
  Servers servers_;
  async::SharedAnswer<std::vector<FloatingIp>> floating_ips_;
  async::SharedAnswer<std::vector<Volume>> volumes_;
  async::SharedAnswer<std::vector<Flavor>> flavors_;
  async::SharedAnswer<Topology> topology_;
  async::SharedAnswer<std::vector<std::string>> zones_;
  // By name; only those of the configuration.
  std::map<std::string, std::unique_ptr<async::SharedAnswer<ImageId>>, std::less<>> images_;
};

}  // namespace nodepool::drivers::openstack

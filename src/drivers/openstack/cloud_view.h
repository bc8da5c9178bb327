#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/shared_result.h"
#include "cloud/by_id.h"
#include "cloud/last_known.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/openstack/api/cloud_api.h"
#include "drivers/openstack/config/openstack_config.h"
#include "drivers/openstack/poll_policy.h"
#include "drivers/openstack/topology.h"
#include "telemetry/log.h"

namespace nodepool::drivers::openstack {

// A shared cache of the cloud's listings. Lists that change are at most PollPolicy::poll old; those
// that rarely change are kept until forget(). All functions throw CloudError.
class CloudView {
 public:
  // The references outlive it.
  CloudView(const async::Runtime& runtime, CloudApi& api, const Cloud& cloud,
            const PollPolicy& poll_policy, telemetry::Logger log);

  using Servers = driver::SharedPoller<cloud::ById<Server>>;
  // Launches and deletions wait for changes in it.
  Servers& servers() { return servers_; }
  // Empty if the cloud's catalog does not have the service, or no floating IPs are used.
  struct FloatingIps {
    std::vector<FloatingIp> all;
    // The service has no such list, because it has no routers, or must not be used: no floating IP
    // can be deleted.
    bool is_missing = false;
  };
  async::Task<std::shared_ptr<const FloatingIps>> floating_ips();
  // All volumes. Empty, without a call, if none of these servers has one; also if the cloud does
  // not have the service. The servers outlive the call.
  using Volumes = cloud::ById<Volume>;
  async::Task<std::shared_ptr<const Volumes>> volumes_for(std::span<const Server> servers);
  // The same for listings; the last known ones while the service is unreachable.
  async::Task<std::shared_ptr<const Volumes>> known_volumes_for(std::span<const Server> servers);
  // The limits of volumes; the last known ones while the service is unreachable, or none.
  async::Task<std::shared_ptr<const driver::Limits>> volume_limits();

  // By memory, then by name.
  using Flavors = cloud::ById<Flavor>;
  async::Task<std::shared_ptr<const Flavors>> flavors();
  // Empty, with its refusal, if the service has always refused to list networks, and clouds.yaml
  // names none.
  async::Task<std::shared_ptr<const Topology>> topology();
  // The same for listings; the last known one while the service is unreachable, or an empty one.
  async::Task<std::shared_ptr<const Topology>> known_topology();
  async::Task<std::shared_ptr<const std::vector<std::string>>> zones();

  // The flavor for the label. Throws CloudError(permanent) if there is none.
  async::Task<Flavor> flavor(const OpenStackLabel& label);
  // The ids of networks with these names or ids. Throws CloudError(failed) if one does not exist.
  async::Task<std::vector<std::string>> network_ids(std::vector<std::string> names);
  // The id of the image. Returns nothing if there is no active one.
  async::Task<std::optional<std::string>> image_id(CloudImageReference image);

  // Drops the lists that rarely change, because the cloud has rejected a value from them.
  void forget();

  // Call it after the last call of the other functions.
  async::Task<> stop();

 private:
  using ImageId = std::optional<std::string>;

  async::Task<FloatingIps> ask_floating_ips();
  async::Task<Volumes> ask_volumes();
  async::Task<std::shared_ptr<const driver::Limits>> ask_volume_limits();
  async::Task<Topology> ask_topology();
  async::Task<ImageId> ask_image(std::string name);

  async::Runtime runtime_;
  CloudApi& api_;
  const Cloud& cloud_;
  const PollPolicy& poll_policy_;
  telemetry::Logger log_;
  bool has_listed_networks_ = false;  // later refusals are temporary
  bool is_refusal_logged_ = false;
  Servers servers_;
  async::SharedResult<FloatingIps> floating_ips_;
  async::SharedResult<Volumes> volumes_;
  cloud::LastKnown<Volumes> known_volumes_;
  cloud::LastKnown<driver::Limits> volume_limits_;
  async::SharedResult<Flavors> flavors_;
  async::SharedResult<Topology> topology_;
  cloud::LastKnown<Topology> known_topology_;
  async::SharedResult<std::vector<std::string>> zones_;
  // By name; only images of the configuration.
  std::map<std::string, std::unique_ptr<async::SharedResult<ImageId>>, std::less<>> images_;
};

}  // namespace nodepool::drivers::openstack

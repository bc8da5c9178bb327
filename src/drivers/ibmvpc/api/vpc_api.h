#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "cloud/pages.h"
#include "cloud/rest/rest_client.h"
#include "drivers/ibmvpc/api/iam_tokens.h"
#include "drivers/ibmvpc/api/values.h"
#include "drivers/ibmvpc/config/ibmvpc_config.h"
#include "telemetry/log.h"

namespace nodepool::drivers::ibmvpc {

// Calls of the VPC API of one region, and of the resource manager. All functions throw CloudError.
class VpcApi {
 public:
  // `account`, `tokens` and `rate_limit` outlive it. `on_attempt` is called for every attempt of a
  // call.
  VpcApi(const async::Runtime& runtime, const VpcAccount& account, IamTokens& tokens,
         http::RateLimit& rate_limit, const telemetry::Logger& log,
         const http::Client::Observer& on_attempt);

  // Begins to make an instance; returns its id.
  async::Task<std::string> make_instance(const VpcInstanceRequest& instance);
  // Begins to make a floating IP for a network interface; returns its id. `group`: id of the
  // resource group.
  async::Task<std::string> make_floating_ip(std::string name, std::string group,
                                            std::string interface_id);
  // Begins to import an image; returns its id.
  async::Task<std::string> make_image(VpcImageRequest image);
  // Makes a resource group; returns its id.
  async::Task<std::string> make_group(std::string name);

  // Begin to delete. Return false if it does not exist. Throw CloudError(transient) if its state
  // does not allow it now.
  async::Task<bool> remove_instance(std::string id);
  async::Task<bool> remove_floating_ip(std::string id);
  async::Task<bool> remove_image(std::string id);

  // Whether it does not exist, when a listing lacks it.
  async::Task<bool> is_instance_gone(std::string id);
  async::Task<bool> is_floating_ip_gone(std::string id);

  // All of the region.
  async::Task<std::vector<VpcInstance>> instances();
  async::Task<std::vector<VpcFloatingIp>> floating_ips();
  async::Task<std::vector<VpcProfile>> profiles();
  async::Task<std::vector<VpcThing>> vpcs();
  async::Task<std::vector<VpcThing>> subnets();
  async::Task<std::vector<VpcThing>> keys();
  // Includes IBM's images.
  async::Task<std::vector<VpcImage>> images();
  async::Task<std::vector<VpcImage>> own_images();

  // An own image; nothing if it does not exist.
  async::Task<std::optional<VpcImage>> image(std::string id);
  async::Task<std::optional<VpcImage>> image_named(std::string name);

  // All resource groups of the account.
  async::Task<std::vector<VpcThing>> groups();

 private:
  // A listing.
  struct Listing {
    const char* name = "";    // of the call
    std::string path;         // "/instances"
    const char* items = "";   // key of the list in a page
    std::string filter = {};  // further parameters: "&name=x"
  };

  cloud::RestCall call(const char* name, std::string about, std::string url) const;
  std::string vpc_url(const std::string& path) const;
  async::Task<std::string> make(const char* name, std::string about, std::string url,
                                json::Json body);
  async::Task<bool> remove(const char* name, std::string path, std::string id);
  async::Task<bool> is_gone(const char* name, std::string path, std::string id);
  async::Task<cloud::Page> ask_page(Listing listing, std::string start);
  template <typename Read>
  async::Task<std::vector<cloud::ReadItem<Read>>> list(Listing listing, Read read);

  const VpcAccount& account_;
  http::Client client_;
  cloud::RestClient rest_;
};

}  // namespace nodepool::drivers::ibmvpc

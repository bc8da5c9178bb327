#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/runtime.h"
#include "cloud/pages.h"
#include "cloud/rest/rest_client.h"
#include "drivers/azure/api/arm_rate_limit.h"
#include "drivers/azure/api/arm_tokens.h"
#include "drivers/azure/api/values.h"
#include "drivers/azure/config/azure_config.h"
#include "telemetry/log.h"

namespace nodepool::drivers::azure {

// A type of resources in a resource group.
struct ResourceType {
  std::string_view path;     // "Microsoft.Compute/disks"
  std::string_view version;  // of its API
  std::string_view what;     // "disk"
};

inline constexpr ResourceType kMachineType = {"Microsoft.Compute/virtualMachines", "2023-03-01",
                                              "virtual machine"};
inline constexpr ResourceType kInterfaceType = {"Microsoft.Network/networkInterfaces", "2023-09-01",
                                                "network interface"};
inline constexpr ResourceType kAddressType = {"Microsoft.Network/publicIPAddresses", "2023-09-01",
                                              "public IP address"};
inline constexpr ResourceType kDiskType = {"Microsoft.Compute/disks", "2020-06-30", "disk"};
inline constexpr ResourceType kImageType = {"Microsoft.Compute/images", "2020-12-01", "image"};

// A change that Azure has accepted. It ends some time later.
struct LongOperation {
  std::string url = {};    // as given, of several kB, with a signature; empty: it has ended
  bool is_result = false;  // the URL returns the result, not a status
  std::optional<cloud::Element> result = {};  // if it has ended
  async::Duration pause{};                    // before the next look
  std::string what;                           // for messages: "azure: create disk d"
};

// Calls of Azure Resource Manager for one resource group. All functions throw CloudError.
class ResourceManager {
 public:
  // `account`, `tokens` and `rate_limit` outlive it. `on_attempt` is called for every attempt of a
  // call.
  ResourceManager(const async::Runtime& runtime, const AzureAccount& account, ArmTokens& tokens,
                  ArmRateLimit& rate_limit, telemetry::Logger log,
                  const http::Client::Observer& on_attempt);

  const telemetry::Logger& log() const { return log_; }

  // A resource; nothing if there is none.
  async::Task<std::optional<cloud::Element>> get(ResourceType type, std::string name);
  // Whether there is none, when a list lacks it.
  async::Task<bool> is_gone(ResourceType type, std::string name);

  // Creates a resource, or begins to. The same call again changes nothing. `secrets` are parts of
  // the body that must not appear in errors.
  struct Created {
    cloud::Element resource;
    LongOperation operation;
  };
  async::Task<Created> put(ResourceType type, std::string name, json::Json body,
                           std::vector<std::string> secrets = {});

  // Begins to delete a resource; nothing if there is none.
  async::Task<std::optional<LongOperation>> remove(ResourceType type, std::string name);

  // Begins an action on a resource.
  async::Task<LongOperation> act(ResourceType type, std::string name, std::string action,
                                 json::Json body);

  // Returns the result of an operation once it has succeeded; nothing if it has none.
  async::Task<std::optional<cloud::Element>> finish(LongOperation operation);

  // All resources of a type in the group.
  template <typename Read>
  async::Task<std::vector<cloud::ReadItem<Read>>> list(ResourceType type, Read read) {
    return list_at("azure: list " + std::string(type.what) + "s", list_path(type), read);
  }

  // The sizes and quotas of the location.
  async::Task<std::vector<VmSize>> sizes();
  async::Task<std::vector<Usage>> usages();

  // Which machines of the subscription are on.
  async::Task<std::vector<PowerState>> power_states();

  // Makes the resource group if it is missing. CloudError(transient): it is being deleted.
  async::Task<> ensure_group();
  // Whether the subnet with this id exists. Also true if the credentials may not read it.
  async::Task<bool> subnet_exists(std::string id);

  // The console output of a machine; nothing if there is none.
  async::Task<std::optional<std::string>> console_log(std::string machine);

  // The id of a resource in the group.
  std::string id_of(ResourceType type, std::string_view name) const;

 private:
  template <typename Read>
  async::Task<std::vector<cloud::ReadItem<Read>>> list_at(std::string call, std::string path,
                                                          Read read) {
    const cloud::AskPage ask = [this, call, path = std::move(path)](std::string next) {
      return ask_page(call, path, std::move(next));
    };
    return cloud::all_pages(std::move(call), ask, read);
  }

  std::string subscription_path() const;
  std::string group_path() const;
  std::string list_path(ResourceType type) const;
  cloud::RestCall call(std::string name, std::string about, std::string path) const;
  async::Task<std::optional<cloud::Element>> read(std::string name, std::string about,
                                                  std::string path);
  async::Task<cloud::Page> ask_page(std::string call, std::string path, std::string next);
  LongOperation operation_in(const http::Response& response, std::string what) const;
  async::Duration pause_in(const http::Response& response) const;

  async::Runtime runtime_;
  const AzureAccount& account_;
  telemetry::Logger log_;
  http::Client client_;
  cloud::RestClient rest_;
};

}  // namespace nodepool::drivers::azure

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "cloud/pages.h"
#include "cloud/rest/rest_client.h"
#include "drivers/gce/api/access_tokens.h"
#include "drivers/gce/api/values.h"
#include "drivers/gce/config/gce_config.h"
#include "telemetry/log.h"

namespace nodepool::drivers::gce {

// Calls of Compute Engine's API, version 1, for one zone. All functions throw CloudError.
class ComputeEngine {
 public:
  // `account`, `tokens` and `rate_limit` outlive it. `on_attempt` is called for every attempt of a
  // call.
  ComputeEngine(const async::Runtime& runtime, const Account& account, AccessTokens& tokens,
                http::RateLimit& rate_limit, const telemetry::Logger& log,
                const http::Client::Observer& on_attempt);

  const std::string& project() const { return account_.project; }

  // Begins to make an instance. Calls with equal request ids make one instance.
  async::Task<ComputeOperation> insert(InstanceRequest instance, std::string request_id);
  // Begins to delete an instance. Returns false if there is none.
  async::Task<bool> remove(std::string name);
  // All instances of the zone. CloudError(transient): Google cannot list all at present.
  async::Task<std::vector<ComputeInstance>> instances();
  // Reads the instance itself: whether Google does not find it, or the credentials may not read
  // instances, so that lists decide. The latter is logged once.
  async::Task<bool> is_gone(std::string instance);
  // An operation in the zone; nothing if it is not known any more, or if the credentials may not
  // read operations. The latter is logged once.
  async::Task<std::optional<ComputeOperation>> operation(std::string name);
  // The output of an instance's first serial port, at most the last MiB; nothing if there is no
  // such instance.
  async::Task<std::optional<std::string>> console_output(std::string name);
  // A machine type of the zone; nothing if there is none.
  async::Task<std::optional<MachineType>> machine_type(std::string name);
  // The URL of the family's newest image; nothing if there is none.
  async::Task<std::optional<std::string>> newest_image(const std::string& project,
                                                       const std::string& family);
  // The quotas of the region; nothing if there is no such region in the project.
  async::Task<std::optional<Quotas>> quotas();
  // Whether a resource exists: "projects/p/zones/us-central1-a". Also true if the credentials may
  // not read it.
  async::Task<bool> exists(std::string path);

 private:
  std::string zone_path() const;
  cloud::RestCall call(const char* name, std::string about, const std::string& path) const;
  template <typename Read>
  async::Task<std::optional<cloud::ReadItem<Read>>> get(const char* name, std::string about,
                                                        std::string path, Read read);
  async::Task<cloud::Page> ask_page(std::string token);

  const Account& account_;
  http::Client client_;
  cloud::RestClient rest_;
  telemetry::Logger log_;
  bool has_reported_refusal_ = false;           // to read operations
  bool has_reported_instance_refusal_ = false;  // to read instances
};

}  // namespace nodepool::drivers::gce

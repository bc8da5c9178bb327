#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "cloud/answer.h"
#include "cloud/pages.h"
#include "cloud/rest/rest_client.h"
#include "driver/cloud_error.h"
#include "drivers/openstack/api/identity.h"

namespace nodepool::drivers::openstack {

using cloud::Effect;
using cloud::Element;
using json::Json;

// One call of a service's API.
struct ServiceCall {
  std::string name;        // "delete server": for messages, logs and metrics; without ids
  std::string about = {};  // the id of the call's object, for messages
  std::string method = "GET";
  std::string path;  // below the endpoint: "/servers/ID", with its query
  Json body = {};    // null: none
  http::Headers headers = {};
  std::shared_ptr<const http::StreamedBody> streamed_body = {};
  Effect effect = Effect::none;  // see Service::make()
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

// Makes authenticated calls of one service.
class Service {
 public:
  // `cloud`, `identity` and `rate_limit` outlive it.
  Service(const async::Runtime& runtime, ServiceKind kind, const Cloud& cloud, Identity& identity,
          http::ClientOptions options, http::RateLimit& rate_limit, const telemetry::Logger& log,
          http::Client::Observer on_attempt);

  // All functions throw CloudError.

  // Whether the cloud has the service.
  async::Task<bool> exists();
  // The id of the account's project; empty if it is not known.
  async::Task<std::string> project_id();

  // Makes the call, see cloud::RestClient, and returns its response.
  async::Task<http::Response> send(ServiceCall call);
  // Makes the call and returns its response, a JSON object.
  async::Task<Element> ask(ServiceCall call);
  // Makes a create call that is not idempotent, and returns what `read` reads from the response. An
  // unreadable response is CloudError(unknown_outcome).
  template <typename Read>
  async::Task<std::invoke_result_t<Read, const Element&>> make(ServiceCall call, Read read) {
    const std::string name = name_of(call);
    call.effect = Effect::creates;
    const http::Response response = co_await send(std::move(call));
    try {
      co_return read(cloud::parse_answer(name, response));
    } catch (const driver::CloudError& error) {
      throw driver::CloudError(driver::CloudError::Kind::unknown_outcome, error.what());
    }
  }
  // Like send(), but not_found is no error. Returns whether the call's object existed.
  async::Task<bool> send_if_there(ServiceCall call);

  // The results of `read` for all elements of a paginated list. `key` is its name in the response.
  template <typename Read>
  async::Task<std::vector<cloud::ReadItem<Read>>> list(const std::string& name,
                                                       const std::string& path,
                                                       const std::string& key, Read read) {
    return cloud::all_pages(name_of({.name = name, .path = path}), pages_of(name, path, key),
                            std::move(read));
  }

 private:
  // Adds the token, and the endpoint before the request's path.
  async::Task<cloud::RestOptions::Reject> authorize(http::Request& request);
  std::string name_of(const ServiceCall& call) const;  // for messages
  cloud::AskPage pages_of(const std::string& name, const std::string& path, const std::string& key);
  async::Task<cloud::Page> ask_page(std::string name, std::string path, std::string key);

  ServiceKind kind_;
  const Cloud& cloud_;
  Identity& identity_;
  http::Client client_;
  cloud::RestClient calls_;
};

}  // namespace nodepool::drivers::openstack

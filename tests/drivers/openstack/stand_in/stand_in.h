#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/http_server.h"

namespace nodepool::drivers::openstack {

// A stand-in for the APIs of an OpenStack cloud, with the state that they have in common. Answers
// have the form of those of a real cloud.
class StandIn {
 public:
  using Json = nlohmann::ordered_json;

  explicit StandIn(const async::Runtime& runtime)
      : runtime_(runtime),
        server_(runtime, [this](const http::HttpServer::Call& call) { return serve(call); }) {}

  std::string url() const { return server_.url(); }
  async::Task<> stop() { return server_.stop(); }

  // How often a call was made: "GET /compute/servers/detail". Ids are "ID", queries are left out.
  int count(const std::string& call) const;
  int count_all(const std::string& prefix) const;
  // How often each was made.
  std::map<std::string, int> calls() const;
  // The bodies of these calls.
  std::vector<std::string> bodies(const std::string& call) const;
  void forget_calls() { counts_.clear(); }

  // The next calls of this kind get these statuses; 0: the connection is cut, -1: the same once the
  // call has been carried out, -2: it has been carried out, and the answer is nonsense. Then all is
  // well again. "REQUEST" as the message: what the call has sent, headers and body. A message that
  // begins with "<" is the body, as a proxy's.
  void fail(const std::string& call, std::vector<int> statuses,
            const std::string& message = "busy");
  // The same for the next calls of any kind, but for those that authenticate.
  void fail_any(std::vector<int> statuses) { any_failures_ = {statuses.begin(), statuses.end()}; }
  // Answers that are held back for `latency`.
  std::size_t held_back() const { return held_back_; }

  // --- the cloud
  std::map<std::string, Json> servers;
  std::map<std::string, Json> ports;
  std::map<std::string, Json> floating_ips;
  std::string floating_ip_status = "ACTIVE";  // of those that are listed
  std::map<std::string, Json> images;
  std::map<std::string, std::string> image_files;
  std::vector<Json> networks;
  std::vector<Json> subnets;
  std::vector<Json> flavors;
  std::vector<Json> volumes;
  bool has_routers = true;

  async::Duration latency{};    // of each answer
  async::Duration boot_time{};  // of a server, at least
  int looks_until_active = 2;   // how often a server is listed in BUILD
  std::string next_status = "ACTIVE";
  std::string next_fault;
  std::string next_task;           // of servers that are made; empty: none
  std::size_t broken_servers = 0;  // so many of those that are made next do not come up
  std::size_t room = 10;           // for servers
  int ram = 51200;                 // the quota; -1: none
  int failing_deletions = 0;       // of servers, accepted and then not carried out
  std::string network_of_servers = "private";
  bool has_volume_service = true;
  std::string password = "secret";
  // Accepted instead of tokens: a header's name in lower case, and its value.
  std::optional<http::Headers::value_type> credentials;
  std::string token_life = "3600";  // seconds
  std::size_t page = 1000;          // servers
  bool endless_pages = false;
  std::size_t page_padding = 0;  // bytes that each page is longer
  std::string image_status = "active";
  bool image_files_are_cut = false;  // images have less content than was sent
  int looks_until_image = 1;
  std::optional<std::string> servers_answer;  // instead of the list
  std::string request_id_header = "X-Openstack-Request-Id";

  void expire_tokens() { tokens_.clear(); }
  std::string add_server(const std::string& name, const std::string& flavor, const Json& metadata);
  std::string add_port(const std::string& device, const std::string& network,
                       const std::string& address, const std::string& owner,
                       const std::string& status);
  std::string add_image(const std::string& name);

 private:
  struct Request {
    std::string method;
    std::string service;  // "compute"
    std::vector<std::string> path;
    std::map<std::string, std::string> query;
    Json body;
    std::string raw;
  };
  struct Reply {
    int status = 200;
    std::string body;
    std::string headers = {};
  };

  async::Task<std::string> serve(const http::HttpServer::Call& call);
  Reply route(const Request& request, const http::HttpServer::Call& call);
  Reply identity(const Request& request);
  Reply compute(const Request& request);
  Reply network(const Request& request);
  Reply image(const Request& request);
  Reply volume(const Request& request);
  Reply list_servers(const Request& request);
  Reply create_server(const Request& request);
  Reply create_floating_ip(const Request& request);
  void let_boot(Json& server);
  std::string new_id();

  struct Failures {
    std::deque<int> statuses;
    std::string message;
  };
  std::optional<int> next_failure(const std::string& call, bool authenticates);

  async::Runtime runtime_;
  std::map<std::string, std::vector<std::string>> counts_;
  int answers_ = 0;
  std::map<std::string, Failures> failures_;
  std::deque<int> any_failures_;
  std::size_t held_back_ = 0;
  std::map<std::string, async::Clock::TimePoint> made_;
  std::set<std::string> broken_;
  std::set<std::string> tokens_;
  std::map<std::string, int> looks_;
  int next_id_ = 0;
  http::HttpServer server_;
};

}  // namespace nodepool::drivers::openstack

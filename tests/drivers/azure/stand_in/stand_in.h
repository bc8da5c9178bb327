#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/http_server.h"

namespace nodepool::drivers::azure {

// A stand-in for Azure Resource Manager with one resource group, `rg` of the subscription `sub`,
// for its login service, and for the storage of disks that are uploaded.
class StandIn {
 public:
  using Json = nlohmann::ordered_json;

  explicit StandIn(const async::Runtime& runtime)
      : runtime_(runtime),
        server_(runtime, [this](const http::HttpServer::Call& call) { return serve(call); }) {}

  // The end of a disk's file, without which an upload is refused.
  static std::string vhd_footer();

  std::string url() const { return server_.url(); }
  // The credentials file of the service principal that the login service knows.
  std::string auth_file() const;
  async::Task<> stop() { return server_.stop(); }

  // The calls of one kind: "GET virtualMachines", "PUT virtualMachines/NAME", "POST
  // disks/NAME/beginGetAccess", "GET operations", "POST token", "PUT blob", …
  const std::vector<http::HttpServer::Call>& calls(const std::string& call) { return calls_[call]; }
  std::size_t count(const std::string& call) { return calls(call).size(); }

  // Instead of an answer.
  struct Failure {
    // 0: the connection is cut; -1: the same, once the call has been carried out; -503: the answer,
    // once it has been carried out.
    int status = 503;
    std::string code = "ServerBusy";
    std::string message = "as the test wants it";
    std::string headers = {};
  };
  // The next calls of this kind fail like that; then all is well again.
  void fail(const std::string& call, std::vector<Failure> failures) {
    failures_[call] = {failures.begin(), failures.end()};
  }
  // The same for the next calls of any kind but those for tokens.
  void fail_any(std::vector<Failure> failures) { any_ = {failures.begin(), failures.end()}; }
  // The machines that are made next fail with these codes.
  std::deque<std::string> machine_errors;

  struct Resource {
    std::string type;  // "virtualMachines", …
    std::string name;
    Json body;  // of the request, with what the cloud has added
    Json request = {};
    std::string id;  // unique: names are used again
    async::Clock::TimePoint ready;
    std::string error = {};   // code: it fails when it would be ready
    bool is_hanging = false;  // being deleted by the cloud, for ever
    std::string power = "running";
    std::optional<async::Clock::TimePoint> deleted = {};
    std::string disk_state = {};
    bool is_accessible = false;  // by a URL with a signature
    std::string blob = {};
    std::set<std::pair<std::size_t, std::size_t>> written = {};
  };
  // Those of a type; nothing if there is none of this name.
  std::vector<Resource*> all(const std::string& type);
  Resource* find(const std::string& type, const std::string& name);
  Resource& add(const std::string& type, const std::string& name, Json body);

  bool has_group = true;
  std::string group_state = "Succeeded";
  async::Duration latency{};  // of each answer
  async::Duration operation_time = std::chrono::seconds(2);
  async::Duration boot_time{};     // after the operation
  async::Duration address_time{};  // until an address is assigned, after the machine is made
  std::size_t capacity = 100;      // machines
  std::size_t others = 0;          // machines in other groups
  bool has_size = true;            // the only one
  bool offers_size = true;         // to the subscription
  std::size_t page = 1000;         // resources
  std::string headers;             // of each answer
  bool lacks_cascade = false;      // nothing goes with a machine
  bool lists_machines = true;

  // What time has done.
  void settle();
  void expire_tokens() { tokens_.clear(); }
  // Answers that are held back for `latency`.
  std::size_t held_back() const { return held_back_; }

 private:
  struct Request {
    std::string method;
    std::vector<std::string> path;  // below the group or the subscription
    std::map<std::string, std::string> query;
    Json body;
    const http::HttpServer::Call& call;
  };
  struct Reply {
    int status = 200;
    std::string body = {};
    std::string headers = {};
  };
  struct Operation {
    async::Clock::TimePoint done;
    std::string error;
    Json result;
  };

  async::Task<std::string> serve(const http::HttpServer::Call& call);
  std::optional<Failure> next_failure(const std::string& name);
  Reply route(const Request& request);
  Reply give_token(const http::HttpServer::Call& call);
  Reply serve_blob(const Request& request);
  Reply serve_group(const Request& request);
  Reply serve_subscription(const Request& request);
  void make_parts(Resource& machine);
  Reply put(const Request& request, const std::string& type, const std::string& name);
  std::optional<Reply> refuse(const Request& request, const std::string& type,
                              const std::string& name);
  Reply remove(Resource& resource);
  Reply act(const Request& request, Resource& disk);
  Reply list(const Request& request, const std::string& type);
  Json shown(const Resource& resource) const;
  std::string state_of(const Resource& resource) const;
  std::string begin(async::Clock::TimePoint done, const std::string& error, Json result);
  static Reply refusal(int status, const std::string& code, const std::string& message);

  async::Runtime runtime_;
  std::map<std::string, std::vector<http::HttpServer::Call>> calls_;
  std::map<std::string, std::deque<Failure>> failures_;
  std::deque<Failure> any_;
  std::map<std::pair<std::string, std::string>, Resource> resources_;
  std::map<std::string, Operation> operations_;
  std::set<std::string> tokens_;
  std::size_t held_back_ = 0;
  int last_id_ = 0;
  http::HttpServer server_;
};

}  // namespace nodepool::drivers::azure

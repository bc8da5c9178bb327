#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/http_server.h"

namespace nodepool::drivers::gce {

// A stand-in for Compute Engine and Google's token endpoint, with one zone, `north-1-a` of the
// project `p`.
class StandIn {
 public:
  using Json = nlohmann::ordered_json;

  explicit StandIn(const async::Runtime& runtime)
      : runtime_(runtime),
        server_(runtime, [this](const http::HttpServer::Call& call) { return serve(call); }) {}

  std::string url() const { return server_.url(); }
  // A service account's key file, whose private key the token endpoint knows.
  std::string key_file() const;
  async::Task<> stop() { return server_.stop(); }

  // The calls of one kind: "GET instances", "POST instances", "DELETE instances/NAME", "POST
  // token", …
  const std::vector<http::HttpServer::Call>& calls(const std::string& call) { return calls_[call]; }
  std::size_t count(const std::string& call) { return calls(call).size(); }

  // Instead of an answer.
  struct Failure {
    int status = 503;  // 0: the connection is cut; -1: the same, once the call has been carried out
    std::string reason = "backendError";
    std::string message = "as the test wants it";
    std::string headers = {};
  };
  // The next calls of this kind fail like that; then all is well again.
  void fail(const std::string& call, std::vector<Failure> failures) {
    failures_[call] = {failures.begin(), failures.end()};
  }
  // The same for the next calls of any kind but those for tokens.
  void fail_any(std::vector<Failure> failures) { any_ = {failures.begin(), failures.end()}; }
  // The operations that are begun next fail with these codes.
  std::deque<std::string> operation_errors;

  struct Instance {
    Json body;
    std::string id;
    async::Clock::TimePoint made;
    bool is_broken = false;                  // does not come up
    bool has_failed = false;                 // goes once its operation is done
    std::optional<std::string> status = {};  // set by the test
    std::optional<async::Clock::TimePoint> deleted = {};
  };
  std::map<std::string, Instance> instances;  // by name

  async::Duration latency{};  // of each answer
  async::Duration operation_time = std::chrono::seconds(2);
  async::Duration boot_time{};  // after the operation
  std::size_t broken = 0;       // so many of those that are made next do not come up
  std::size_t capacity = 100;   // instances
  std::size_t others = 0;       // instances in other zones
  std::size_t page = 1000;      // instances
  std::string token_life = "3600";
  bool lists_failed = true;  // instances of operations that fail, for a moment
  int empty_lists = 0;       // so many listings show nothing
  std::set<std::string> families = {"debian-12"};
  std::set<std::string> resources = {"zones/north-1-a", "zones/north-1-a/diskTypes/pd-standard"};

  Instance& add_instance(const std::string& name,
                         const std::map<std::string, std::string>& metadata);
  // What time has done.
  void settle();
  void expire_tokens() { tokens_.clear(); }
  // Answers that are held back for `latency`.
  std::size_t held_back() const { return held_back_; }

 private:
  struct Request {
    std::string method;
    std::vector<std::string> path;  // below the project
    std::map<std::string, std::string> query;
    Json body;
  };
  struct Reply {
    int status = 200;
    std::string body;
  };
  struct Operation {
    std::string name;
    async::Clock::TimePoint done;
    std::string code;
  };

  async::Task<std::string> serve(const http::HttpServer::Call& call);
  std::optional<Failure> next_failure(const std::string& name);
  Reply route(const Request& request, const http::HttpServer::Call& call);
  Reply give_token(const http::HttpServer::Call& call);
  Reply insert(const Request& request);
  Reply list(const Request& request);
  Reply read_resource(const Request& request);
  std::string status_of(const Instance& instance) const;
  Json shown(const std::string& name, const Instance& instance) const;
  Operation& begin(const std::string& code);
  Reply shown(const Operation& operation) const;
  static Reply refusal(int status, const std::string& reason, const std::string& message);

  async::Runtime runtime_;
  std::map<std::string, std::vector<http::HttpServer::Call>> calls_;
  std::map<std::string, std::deque<Failure>> failures_;
  std::deque<Failure> any_;
  std::map<std::string, Operation> operations_;
  std::map<std::string, std::string> requests_;  // operations by request id
  std::set<std::string> tokens_;
  std::size_t held_back_ = 0;
  int last_id_ = 0;
  http::HttpServer server_;
};

}  // namespace nodepool::drivers::gce

#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/drivers/ibmvpc/stand_in/bucket.h"
#include "tests/support/http_server.h"

namespace nodepool::drivers::ibmvpc {

// A stand-in for the VPC API of a region, the resource manager, IAM and a bucket. It has the VPC
// `net` with the subnet `inner` in the zone `north-1`, the key `ci`, the profile `bx2-2x8` and the
// image `debian`. Names of instances, floating IPs and own images are unique.
class StandIn {
 public:
  using Json = nlohmann::ordered_json;

  explicit StandIn(const async::Runtime& runtime)
      : runtime_(runtime),
        server_(runtime, [this](const http::HttpServer::Call& call) { return serve(call); }) {}

  std::string url() const { return server_.url(); }
  async::Task<> stop() { return server_.stop(); }

  // The calls of one kind: "GET instances", "POST instances", "DELETE instances/ID", "POST
  // floating_ips", "POST token", "POST resource_groups", "GET images/ID", "storage UploadPart", …
  const std::vector<http::HttpServer::Call>& calls(const std::string& call) { return calls_[call]; }
  std::size_t count(const std::string& call) { return calls(call).size(); }
  // The calls of all kinds.
  std::size_t count() const;

  // Instead of an answer.
  struct Failure {
    int status = 503;  // 0: the connection is cut; -1: the same, once the call has been carried out
    std::string code = "internal_error";
    std::string headers = {};
  };
  // The next calls of this kind fail like that; then all is well again.
  void fail(const std::string& call, std::vector<Failure> failures) {
    failures_[call] = {failures.begin(), failures.end()};
  }
  // The same for the next calls of any kind but those for tokens.
  void fail_any(std::vector<Failure> failures) { any_ = {failures.begin(), failures.end()}; }
  // The instances that are made next fail for these reasons.
  std::deque<std::string> reasons;

  struct Instance {
    std::string name;
    std::string group;           // name
    std::string boot_disk_name;  // of the attachment
    async::Clock::TimePoint made;
    std::string reason = {};  // why it fails
    std::string status = {};  // set by the test
    Json body = {};
    std::optional<async::Clock::TimePoint> deleted = {};
  };
  std::map<std::string, Instance> instances;  // by id

  struct FloatingIp {
    std::string name;
    std::string group;   // name
    std::string target;  // interface
    async::Clock::TimePoint made;
    std::optional<async::Clock::TimePoint> deleted = {};
  };
  std::map<std::string, FloatingIp> floating_ips;  // by id

  // An uploaded image.
  struct Image {
    std::string name;
    std::string group;  // name
    async::Clock::TimePoint made;
    std::string status = {};  // set by the test
    Json body = {};
    std::optional<async::Clock::TimePoint> deleted = {};
  };
  std::map<std::string, Image> own_images;  // by id
  async::Duration import_time = std::chrono::seconds(60);
  bool breaks_imports = false;
  std::size_t stale_image_lists = 0;     // the next lists omit own images
  std::size_t stale_instance_lists = 0;  // the next lists omit all instances
  BucketStandIn bucket;

  async::Duration latency{};                                  // of each answer
  async::Duration operation_time = std::chrono::seconds(2);   // of each change
  async::Duration boot_time{};                                // after that
  async::Duration ip_removal_time = std::chrono::seconds(2);  // of floating IPs
  std::size_t capacity = 100;                                 // instances
  std::size_t page = 100;                                     // most in a page
  int token_life = 3600;                                      // seconds
  std::set<std::string> groups = {"Default"};                 // their ids are "g-NAME"
  std::set<std::string> images = {"debian"};
  std::set<std::string> keys = {"ci"};

  // Returns its id.
  std::string add_instance(Instance instance);
  // What time has done.
  void settle();
  void expire_tokens() { tokens_.clear(); }
  // Answers that are held back for `latency`.
  std::size_t held_back() const { return held_back_; }

 private:
  struct Request {
    std::string method;
    std::vector<std::string> path;  // below the version
    std::map<std::string, std::string> query;
    Json body;
  };
  struct Reply {
    int status = 200;
    std::string body = {};
    std::string headers = {};
  };

  async::Task<std::string> serve(const http::HttpServer::Call& call);
  std::optional<Failure> next_failure(const std::string& name);
  Reply answer_of(const Request& request, const http::HttpServer::Call& call);
  Reply route(const Request& request, const http::HttpServer::Call& call);
  Reply give_token(const http::HttpServer::Call& call);
  Reply make_group(const Request& request);
  Reply make_instance(const Request& request);
  Reply make_floating_ip(const Request& request);
  Reply make_image(const Request& request);
  Reply remove(const Request& request);
  Reply list(const Request& request);
  std::vector<Json> shown(const std::string& kind) const;
  std::string status_of(const Instance& instance) const;
  std::string status_of(const Image& image) const;
  Json shown(const std::string& id, const Instance& instance) const;
  Json shown(const std::string& id, const FloatingIp& ip) const;
  Json shown(const std::string& id, const Image& image) const;
  bool is_taken(const std::string& kind, const std::string& name) const;
  static Reply refusal(int status, const std::string& code);

  async::Runtime runtime_;
  std::map<std::string, std::vector<http::HttpServer::Call>> calls_;
  std::map<std::string, std::deque<Failure>> failures_;
  std::deque<Failure> any_;
  std::set<std::string> tokens_;
  std::size_t held_back_ = 0;
  int last_id_ = 0;
  http::HttpServer server_;
};

}  // namespace nodepool::drivers::ibmvpc

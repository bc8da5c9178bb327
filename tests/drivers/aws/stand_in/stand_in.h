#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/drivers/aws/stand_in/dedicated_hosts.h"
#include "tests/drivers/aws/stand_in/image_services.h"
#include "tests/support/http_server.h"

namespace nodepool::drivers::aws {

// A stand-in for EC2 and Service Quotas in one region, for what the third-party server of
// tests/aws cannot do: fail on demand, in virtual time. It is strict: a parameter that it does not
// know, or a call without a signature, is refused.
class StandIn {
 public:
  using Parameters = std::map<std::string, std::string>;

  struct Instance {
    std::string id;
    std::string type;
    std::string state = "pending";
    std::string image;
    std::string volume;
    std::string host;  // the dedicated host it is on; empty: none
    bool is_broken = false;
    std::string reason_code;  // why it has ended by itself; empty: it has not
    async::Clock::TimePoint made{};
    async::Clock::TimePoint ended{};
    std::map<std::string, std::string> tags;
    Parameters wanted;  // the parameters it was made with
  };

  explicit StandIn(const async::Runtime& runtime)
      : dedicated_hosts(runtime),
        image_services(runtime, own_images, snapshots),
        runtime_(runtime),
        server_(runtime, [this](const http::HttpServer::Call& call) { return serve(call); }) {}

  std::string url() const { return server_.url(); }
  async::Task<> stop() { return server_.stop(); }

  // How often an action was called, and with which parameters.
  int count(const std::string& action) const;
  // Of all actions.
  std::map<std::string, int> counts() const;
  void forget_calls() { calls_.clear(); }
  std::vector<Parameters> calls(const std::string& action) const;

  // The next calls of this action are refused with these codes, or (0) the connection is cut, or
  // (-1) the same once the call has been carried out, or (kUnreadable) it is carried out and
  // answered with the first half of what is to be said.
  static constexpr int kUnreadable = -2;
  struct Failure {
    int status = 400;  // 0 and less: see above
    std::string code = {};
  };
  void fail(const std::string& action, std::vector<Failure> failures);
  // The same for the next calls of any kind.
  void fail_any(std::vector<Failure> failures) {
    any_failures_ = {failures.begin(), failures.end()};
  }
  // Answers that are held back for `latency`.
  std::size_t held_back() const { return held_back_; }

  // --- the cloud
  std::map<std::string, Instance> instances;
  std::map<std::string, std::string> volumes;  // id: the instance that it is attached to
  std::map<std::string, std::map<std::string, std::string>> volume_tags;
  std::string creation_date = "2026-01-01T00:00:00.000Z";
  async::Duration latency{};    // of each answer
  async::Duration boot_time{};  // of an instance
  async::Duration shutdown_time = std::chrono::seconds(1);
  async::Duration terminated_time = std::chrono::minutes(1);  // how long they are listed yet
  std::size_t broken = 0;  // so many of those that are made next do not come up
  std::string broken_code = "Server.InternalError";
  std::set<std::string> forbidden;  // instances that may not be ended
  std::size_t room = 10;            // for instances: 2 virtual CPUs each
  std::size_t page = 1000;          // instances, or images
  std::size_t empty_listings = 0;   // the next ones, of instances
  async::Duration listing_lag{};    // after which an instance that was made is listed
  std::string default_host;         // where AWS itself puts instances; empty: on no dedicated host
  std::set<std::string> images = {"ami-1"};
  std::map<std::string, std::map<std::string, std::string>> templates;  // of launches: their tags
  std::map<std::string, OwnThing> own_images;
  std::map<std::string, OwnThing> snapshots;
  DedicatedHosts dedicated_hosts;
  ImageServices image_services;

  // AWS takes a spot instance away.
  void interrupt(const std::string& id);

  // What is shutting down is terminated when its time has come.
  void settle();

  std::string add_instance(const std::string& type, const std::map<std::string, std::string>& tags);
  std::string add_volume(const std::map<std::string, std::string>& tags);

 private:
  using Reply = ImageServices::Reply;

  async::Task<std::string> serve(const http::HttpServer::Call& call);
  Reply ebs(const http::HttpServer::Call& call);
  Reply create_tags(const Parameters& query);
  Reply register_image(const Parameters& query);
  Reply describe_snapshots() const;
  Reply create_template(const Parameters& query);
  Reply create_fleet(const Parameters& query);
  Reply describe_templates() const;
  Reply route(const std::string& action, const Parameters& query);
  Reply run_instances(const Parameters& query);
  Reply describe_instances(const Parameters& query);
  Reply describe_volumes(const Parameters& query);
  Reply describe_images(const Parameters& query);
  Reply describe_types(const Parameters& query);
  Reply terminate(const Parameters& query);
  Reply quotas() const;
  static Reply refusal(int status, const std::string& code, const std::string& message);
  Instance& add_instance(const std::string& id, const std::string& type,
                         const std::map<std::string, std::string>& tags);
  std::string shown(Instance& instance);
  std::optional<Failure> next_failure(const std::string& action);
  std::string new_id(const std::string& prefix);

  async::Runtime runtime_;
  std::map<std::string, std::vector<Parameters>> calls_;
  std::map<std::string, std::deque<Failure>> failures_;
  std::deque<Failure> any_failures_;
  struct Made {
    std::string instance;
    Parameters wanted;
  };
  std::map<std::string, Made> tokens_;                  // by ClientToken
  std::map<std::string, std::string> snapshot_tokens_;  // ClientToken: the snapshot
  std::size_t held_back_ = 0;
  int next_id_ = 0;
  http::HttpServer server_;
};

}  // namespace nodepool::drivers::aws

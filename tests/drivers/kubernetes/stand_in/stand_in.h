#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "async/event.h"
#include "tests/support/http_server.h"

namespace nodepool::drivers::kubernetes {

// A stand-in for the API of a cluster, for what a real one does not do when a test wants it:
// refuse, not answer, be slow. Things are kept as they are sent, by their paths.
class StandIn {
 public:
  using Json = nlohmann::ordered_json;

  explicit StandIn(const async::Runtime& runtime)
      : runtime_(runtime),
        server_(runtime, [this](const http::HttpServer::Call& call) { return serve(call); }) {}

  std::string url() const { return server_.url(); }
  async::Task<> stop() { return server_.stop(); }

  // The next calls of this kind get these statuses: "POST namespaces"; 0: the connection is cut,
  // -1: the same once the call has been carried out.
  void fail(const std::string& call, std::vector<int> statuses,
            const std::string& message = "busy");
  // The same, but a proxy answers them, with a page.
  void fail_at_proxy(const std::string& call, std::vector<int> statuses);
  // The same for the next calls of any kind but watches.
  void fail_any(std::vector<int> statuses) { any_failures_ = {statuses.begin(), statuses.end()}; }
  // Watches that are held back because nothing has changed.
  std::size_t held_back() const { return held_back_; }
  // Answers all watches: who has asked is not there any more.
  void end_watches();

  // How often a call was made; the bodies of these calls.
  int count(const std::string& call) const;
  std::vector<std::string> bodies(const std::string& call) const;
  const std::vector<http::HttpServer::Call>& calls() const { return server_.calls(); }

  // --- the cluster
  std::string space_kind = "namespaces";  // or "projects": what nodes have one each of
  // All that is there, by path: "namespaces/a", "namespaces/a/pods/b".
  std::map<std::string, Json> things();
  void add(const std::string& path, Json thing);
  void erase(const std::string& path);

  async::Duration boot_time{};                                     // of pods
  async::Duration deletion_time = std::chrono::milliseconds(500);  // of namespaces and pods
  std::size_t broken_pods = 0;  // so many of those that are made next fail
  std::size_t room = 100;       // of pods
  std::string token = "secret";
  bool is_forgetful = false;        // does not tell of changes: watches are forbidden
  int watch_status = 200;           // with which watches end that were held back
  bool lists_spaces = true;         // what nodes have one each of
  std::set<std::string> forbidden;  // namespaces with which nothing is allowed
  std::set<std::string> denied;     // calls that the user's role does not allow: "LIST pods"

 private:
  struct Request {
    std::string method;
    std::string path;      // "namespaces/a/pods"
    std::string resource;  // "pods"
    std::map<std::string, std::string> query;
    Json body;
  };
  struct Reply {
    int status = 200;
    Json body = Json::object();
  };

  async::Task<std::string> serve(const http::HttpServer::Call& call);
  static Reply refusal(int status, const std::string& message);
  static Request parse(const http::HttpServer::Call& call);
  Reply route(const Request& request);
  Reply make(const Request& request);
  Reply remove(const Request& request);
  Reply list(const Request& request);
  async::Task<> hold_back(const Request& request);
  void change();
  void pass_time();
  std::optional<async::Clock::TimePoint> next_change() const;
  std::size_t pods_there() const;

  struct Failures {
    std::deque<int> statuses;
    std::string message;
    bool is_of_proxy = false;
  };
  std::optional<int> next_failure(const std::string& call, bool is_watch);

  async::Runtime runtime_;
  std::map<std::string, Json> things_;
  std::map<std::string, async::Clock::TimePoint> going_;    // when they are gone
  std::map<std::string, async::Clock::TimePoint> booting_;  // when pods run
  std::map<std::string, std::vector<std::string>> bodies_;
  std::map<std::string, Failures> failures_;
  std::deque<int> any_failures_;
  std::size_t held_back_ = 0;
  std::size_t changes_ = 0;
  std::set<async::Event*> watching_;
  http::HttpServer server_;
};

}  // namespace nodepool::drivers::kubernetes

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordination/store.h"

// State of the launcher that the page shows in addition to the records.
namespace nodepool::page {

// Usage of a resource such as "instances".
struct Amount {
  std::string resource;
  double used = 0;
  std::optional<double> limit = {};  // nothing: unlimited or unknown
};

struct PoolFacts {
  std::string name;
  std::vector<Amount> amounts = {};
  std::vector<std::string> problems = {};  // with labels that cannot be served now
};

// Calls of a cloud since the start of the launcher, by name or by result.
struct CallFacts {
  std::string name;
  std::uint64_t count = 0;
  double seconds = 0;  // total duration
};

// A provider of this launcher.
struct ProviderView {
  std::string name;
  bool launches_machines = false;
  std::int64_t max_concurrency = -1;  // launches at a time; negative: unlimited
  std::int64_t launches = 0;          // in progress
  bool is_refusing = false;           // the cloud has just rejected a launch
  std::string quota_failure = {};     // why reading the quota failed; empty: it did not fail
  std::vector<Amount> amounts = {};
  std::vector<PoolFacts> pools = {};
  std::vector<CallFacts> calls = {};
  std::vector<CallFacts> errors = {};    // by HTTP status; "0": no response
  std::vector<CallFacts> launched = {};  // launches by result: "ready", "error.quota"
};

// Something in the installation that needs attention.
struct PageProblem {
  std::string level;    // "attention", "critical"
  std::string text;     // a sentence
  std::string kind;     // of its subject: "request", "host", …; empty: no single subject
  std::string subject;  // id or name
};

// An image of the configuration.
struct ConfiguredImage {
  std::string name;
  bool is_paused = false;
};

// The decision of a pool of this launcher about a request that it has not accepted.
struct PoolDecision {
  std::string pool;    // component id
  std::string text;    // "waits: the pool is full: … (until a node is free or gone)"
  std::string reason;  // stable code, "pool-full"; empty: none
};

// Read the state of the launcher. Called at most a few times a second, only while there are
// viewers.
struct PageSources {
  std::string dashboard_url = {};  // of another system; empty: none
  std::function<std::vector<ProviderView>()> providers;
  std::function<std::vector<PageProblem>()> problems;  // the worst first
  std::function<std::vector<ConfiguredImage>()> images;
  std::function<std::vector<PoolDecision>(const std::string& request_id)> opinions;
  // Calls the observer with the id of each request whose opinions have changed.
  std::function<coordination::Subscription(std::function<void(const std::string&)>)>
      observe_opinions;
};

}  // namespace nodepool::page

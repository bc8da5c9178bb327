#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordination/store.h"

// What the page shows of the launcher itself, beside the records.
namespace nodepool::page {

// How much of something there is: "instances".
struct Amount {
  std::string resource;
  double used = 0;
  std::optional<double> limit = {};  // nothing: no limit, or none that is known
};

struct PoolFacts {
  std::string name;
  std::vector<Amount> amounts = {};
  std::vector<std::string> problems = {};  // of labels that cannot be served now
};

// Calls of a cloud since the launcher was started, by name or by how they ended.
struct CallFacts {
  std::string name;
  std::uint64_t count = 0;
  double seconds = 0;  // that all took together
};

// One provider that this launcher has in service.
struct ProviderFacts {
  std::string name;
  bool makes_machines = false;
  std::int64_t max_concurrency = -1;  // launches at a time; negative: unlimited
  std::int64_t launches = 0;          // under way
  bool is_refusing = false;           // it has just refused a launch
  std::string quota_failure = {};     // why its limits are not known; empty: they are, or not yet
  std::vector<Amount> amounts = {};
  std::vector<PoolFacts> pools = {};
  std::vector<CallFacts> calls = {};
  std::vector<CallFacts> errors = {};    // of HTTP by status; "0": no answer
  std::vector<CallFacts> launched = {};  // launches by result: "ready", "error.quota"
};

// Something in the installation that needs attention.
struct Problem {
  std::string level;    // "attention", "critical"
  std::string text;     // a sentence
  std::string kind;     // of what it is about: "request", "host", …; empty: no single thing
  std::string subject;  // its id or name
};

// What a pool of this launcher has decided about a request that it has not served.
struct Opinion {
  std::string pool;    // component id
  std::string text;    // "waits: the pool is full: … (until a node is free or gone)"
  std::string reason;  // "pool-full": stable; empty: none
};

// Asks the launcher. Each is called at most a few times a second, and only while somebody looks.
struct Sources {
  std::function<std::vector<ProviderFacts>()> providers;
  std::function<std::vector<Problem>()> problems;  // the worst first
  std::function<std::vector<Opinion>(const std::string& request_id)> opinions;
  // Calls the observer with the id of each request about which an opinion has changed.
  std::function<coordination::Subscription(std::function<void(const std::string&)>)>
      observe_opinions;
};

}  // namespace nodepool::page

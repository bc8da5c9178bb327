#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/driver.h"
#include "driver/resources.h"
#include "model/boot_record.h"
#include "model/component_table.h"
#include "model/image_table.h"
#include "model/node.h"
#include "model/node_table.h"
#include "planning/decision.h"
#include "report/explanation/statement.h"

// Explains the capacity of providers that launch machines.
namespace nodepool::report {

// Decisions about one request, by the id of the registered pool.
using PoolDecisions = std::map<std::string, planning::Decision, std::less<>>;

// The facts about a provider that this process has.
struct ProviderFacts {
  std::shared_ptr<const driver::ProviderConfig> config;  // nullptr: see failure
  // Why its configuration is invalid or lacks a file, it could not start, or its cloud does not
  // respond.
  std::string failure;
  model::BootRecord boot_times;

  // From its cloud, with --online.
  std::optional<driver::Limits> available;     // as Provider::available()
  std::shared_ptr<const driver::Offer> offer;  // nullptr: it was not asked

  // Simulated decisions about the explained request. Without --online it lacks pools whose decision
  // depends on the cloud.
  PoolDecisions decisions;
};

// By name.
using Providers = std::map<std::string, ProviderFacts, std::less<>>;

// What providers use by the records of their nodes. Reads these once for each provider, when it is
// first asked for.
class RecordedUsage {
 public:
  struct Usage {
    driver::Resources all;
    std::map<std::string, driver::Resources, std::less<>> by_pool;
    // What the first node with this label only has, by pool and label.
    std::map<std::pair<std::string, std::string>, driver::Resources> of_label;
    std::vector<std::string> launches;  // the nodes in launch
  };

  // `nodes` outlives it.
  explicit RecordedUsage(const model::NodeTable& nodes) : nodes_(nodes) {}

  const Usage& of_provider(const std::string& provider);

 private:
  const model::NodeTable& nodes_;
  std::map<std::string, Usage> usage_;
};

// The records by which machines are explained.
struct MachineRecords {
  double now = 0;  // seconds since the epoch
  const model::NodeTable& nodes;
  const model::ImageTable& images;
  const model::ComponentTable& components;
  RecordedUsage& usage;
  MayName may_name = {};
};

// The `max-concurrency` of the provider: 0 accepts no requests. Negative: unlimited, or the
// provider is not configured on this host.
std::int64_t max_concurrency_of(const Providers& providers, std::string_view provider);

// Whether the provider launches machines, and another launcher can resume a launch.
bool launches_machines(const ProviderFacts& provider);

// How long such a machine usually takes until it is ready, in seconds. Returns nothing if no boot
// was measured.
std::optional<double> usual_boot_time(const ProviderFacts& provider, const std::string& label);

// "attempt 2 of 3"; empty if the node's record has no readable launch journal.
std::string attempt_of_launch(const ProviderFacts& provider, const model::Node& node);

// For a pool and the labels of a request: the resources that the nodes need, usage and limits of
// the pool and the provider, launches in progress, boot times, labels that cannot be served, and
// why images are missing. Adds nothing for a provider that does not launch machines.
void explain_capacity(Statements& to, const MachineRecords& records, const ProviderFacts& provider,
                      const model::Component& pool, const std::vector<std::string>& labels);

// The progress of a launch: its attempt and steps, and the boot times of its label. Adds nothing if
// the record has no launch journal.
void explain_launch(Statements& to, const MachineRecords& records, const ProviderFacts* provider,
                    const model::Node& node);

}  // namespace nodepool::report

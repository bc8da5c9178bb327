#pragma once

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
#include "model/component.h"
#include "model/image_table.h"
#include "model/node.h"
#include "model/node_table.h"
#include "planning/decision.h"
#include "report/explanation/statement.h"

// What explanations say of providers that make machines.
namespace nodepool::report {

// What this process knows of a provider.
struct ProviderFacts {
  using LabelKey = std::pair<std::string, std::string>;  // pool, label

  std::shared_ptr<const driver::ProviderConfig> config;  // null: see failure
  std::string failure;  // why it is not configured here, or its cloud does not answer
  model::BootRecord boot_times;

  // What its cloud has said, if it has been asked.
  std::optional<driver::Limits> available;  // as Provider::available()
  std::map<LabelKey, driver::Resources> needs;
  std::map<LabelKey, std::string> problems;  // of those labels that cannot be served

  // What its registered pools, by id, would decide about the request that is explained; nothing of
  // pools whose decision takes what only the cloud knows, if it has not been asked.
  std::map<std::string, planning::Decision, std::less<>> decisions;
};

// By name.
using Providers = std::map<std::string, ProviderFacts, std::less<>>;

// The records that the arithmetic is made from.
struct MachineRecords {
  double now = 0;  // seconds since the epoch
  const model::NodeTable& nodes;
  const model::ImageTable& images;
};

// Whether the provider makes machines, and another launcher goes on with a launch.
bool makes_machines(const ProviderFacts& provider);

// For a pool and the labels of a request: what the nodes need, what the pool and the provider may
// take and take, how many launches are under way, how long machines take to come up, which labels
// cannot be served, and why their images are not there. Nothing for a provider that makes no
// machines.
void explain_room(Statements& to, const MachineRecords& records, const ProviderFacts& provider,
                  const model::Component& pool, const std::vector<std::string>& labels);

// How far a launch has come: the attempt, its steps, and how long machines with its label take to
// come up. Nothing if the record has no journal.
void explain_launch(Statements& to, const MachineRecords& records, const ProviderFacts* provider,
                    const model::Node& node);

}  // namespace nodepool::report

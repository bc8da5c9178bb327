#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.h"
#include "driver/driver.h"
#include "driver/offer.h"
#include "driver/resources.h"

namespace nodepool::driver {

// What a cloud reports for a label.
using LabelDescription = LabelOffer;

using LabelKey = std::pair<std::string, std::string>;  // pool, label

// What a cloud offers to a provider at present.
struct CloudDescription {
  Limits limits = {};  // the quota for all machines together; empty: unlimited
  // Labels that are not listed take one instance and have no problem.
  std::map<LabelKey, LabelDescription> labels = {};
  // The zones of the cloud, for pools whose configuration names none. Empty: the cloud chooses.
  std::vector<std::string> zones = {};
  // The networks, zones, key pairs, … that the configuration names and the cloud does not have, a
  // sentence each, without flavors and images, which are problems of labels. Only filled in for
  // Purpose::check.
  std::vector<std::string> missing = {};

  enum class Purpose {
    plan,   // to launch machines
    check,  // an operator compares the configuration with the cloud
  };
};

// Describes one label. CloudError(permanent): the label cannot be served.
using DescribeLabel =
    std::function<async::Task<LabelDescription>(std::string pool, std::string label)>;

// The descriptions of all labels of the configuration. CloudError(permanent) becomes the label's
// problem; other exceptions are thrown. `config` outlives it.
async::Task<std::map<LabelKey, LabelDescription>> describe_labels(const ProviderConfig& config,
                                                                  DescribeLabel describe);

// The problem of a label whose image does not exist, worded like the reason with which the Python
// Nodepool declines its requests.
std::string images_unavailable(std::string_view why);

}  // namespace nodepool::driver

#pragma once

#include <algorithm>
#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/zuul/source.h"

// The providers of nodepool.yaml as providers of Zuul's own launcher, before they are put together
// (conversion.h). The keys are those of Zuul 14.3's drivers.
namespace nodepool::config::zuul {

// A section of zuul.conf, without credentials.
struct Connection {
  std::string name = {};
  std::vector<std::string> lines = {};  // "driver=aws"; comments begin with `#`

  friend auto operator<=>(const Connection&, const Connection&) = default;
};

// An image of a Nodepool provider.
struct ZuulImage {
  std::string name = {};
  std::string diskimage = {};      // the disk image that Nodepool builds for it; empty: none
  Value::Mapping settings = {};    // in a section, without name and type
  Value::Mapping for_labels = {};  // what Zuul wants to be set in labels instead

  // `type: zuul`; otherwise it exists in the cloud: `type: cloud`.
  bool is_built() const { return !diskimage.empty(); }
};

struct ZuulLabel {
  std::string name = {};
  Value::Mapping settings = {};  // in a provider, without name, image and flavor
  ZuulImage image = {};
  std::string flavor = {};  // a name that tells what it is: the instance type
  Value::Mapping flavor_settings = {};
};

// A pool.
struct ZuulProvider {
  std::string name = {};
  Connection connection = {};
  Value::Mapping section = {};         // without name, connection, images and flavors
  Value::Mapping settings = {};        // without name, section and labels
  std::vector<ZuulLabel> labels = {};  // each name once

  // The label of that name; nullptr if there is none.
  const ZuulLabel* find(std::string_view label) const {
    const auto found = std::ranges::find(labels, label, &ZuulLabel::name);
    return found == labels.end() ? nullptr : &*found;
  }
};

// One for each pool, or several if Zuul needs them. Each reports what it leaves out. Throw
// ConfigError if the provider's section is invalid.
std::vector<ZuulProvider> convert_aws(Source& provider, const Config& config);
std::vector<ZuulProvider> convert_azure(Source& provider, const Config& config);
std::vector<ZuulProvider> convert_kubernetes(Source& provider, const Config& config);
std::vector<ZuulProvider> convert_openshift(Source& provider, const Config& config);
std::vector<ZuulProvider> convert_openstack(Source& provider, const Config& config);
std::vector<ZuulProvider> convert_static(Source& provider, const Config& config);

// Adds the labels of a metastatic provider to the providers that have their backing labels.
void convert_metastatic(Source& provider, std::vector<ZuulProvider>& providers);

}  // namespace nodepool::config::zuul

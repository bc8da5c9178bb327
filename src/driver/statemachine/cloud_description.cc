#include "driver/statemachine/cloud_description.h"

#include <fmt/format.h>

#include "driver/cloud_error.h"

namespace nodepool::driver {

async::Task<std::map<LabelKey, LabelDescription>> describe_labels(const ProviderConfig& config,
                                                                  DescribeLabel describe) {
  std::map<LabelKey, LabelDescription> labels;
  for (const auto& [pool_name, pool] : config.pools()) {
    for (const std::string& label : pool.labels) {
      LabelDescription& described = labels[{pool_name, label}];
      try {
        described = co_await describe(pool_name, label);
      } catch (const CloudError& error) {
        if (error.kind() != CloudError::Kind::permanent) throw;
        described.problem = error.what();
      }
    }
  }
  co_return labels;
}

std::string images_unavailable(std::string_view why) {
  return fmt::format("images are not available: {}", why);
}

}  // namespace nodepool::driver

#include "drivers/aws/aws_driver.h"

#include "drivers/aws/account/profile_files.h"
#include "drivers/aws/aws_adapter.h"
#include "drivers/aws/config/aws_config.h"
#include "drivers/aws/config/aws_schema.h"
#include "http/attempt_metrics.h"

namespace nodepool::drivers::aws {

const config::Schema& AwsDriver::schema() const {
  return aws_schema();
}

std::shared_ptr<const driver::ProviderConfig> AwsDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  return std::make_shared<AwsConfig>(section, config, environment_);
}

std::set<std::string> AwsDriver::files(const config::ProviderSection& /*section*/) const {
  return profile_file_names(environment_);
}

std::unique_ptr<driver::Adapter> AwsDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  auto aws = std::dynamic_pointer_cast<const AwsConfig>(std::move(config));
  telemetry::Logger log = context.log.child("driver.aws." + aws->name());
  std::string name = aws->name();
  auto endpoint = accounts_->find(context.runtime, aws->account(), [&] {
    return std::make_shared<CloudEndpoint>(context.runtime, aws->account(), context.threads,
                                           context.log.child("driver.aws"));
  });
  return std::make_unique<AwsAdapter>(context.runtime, std::move(aws), std::move(endpoint),
                                      context.installation, context.threads, std::move(log),
                                      http::attempt_metrics(context.metrics, std::move(name)));
}

}  // namespace nodepool::drivers::aws

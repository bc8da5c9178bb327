#include "drivers/aws/usage.h"

#include <algorithm>

#include "drivers/aws/quota_codes.h"

namespace nodepool::drivers::aws {

using driver::Resources;

namespace {

constexpr double kGigabytesInTerabyte = 1000;

bool is_storage_code(std::string_view code) {
  for (const char* type : {"io1", "io2", "sc1", "gp2", "gp3", "standard", "st1"}) {
    if (volume_quota_codes(type).storage == code) return true;
  }
  return false;
}

}  // namespace

Resources instance_resources(const InstanceType& type, bool is_spot) {
  Resources::Amounts amounts = {{"instances", 1}, {"cores", type.cores}, {"ram", type.memory}};
  const std::string_view code = instance_quota_code(type.name, is_spot);
  if (!code.empty()) amounts[std::string(code)] = type.vcpus;
  return Resources(std::move(amounts));
}

Resources resources_of_host(const std::string& instance_type) {
  Resources::Amounts amounts = {{"instances", 1}};
  const std::string_view code = host_quota_code(instance_type);
  if (!code.empty()) amounts[std::string(code)] = 1;
  return Resources(std::move(amounts));
}

Resources resources_of_volume(const std::string& type, double size, double iops) {
  Resources::Amounts amounts;
  const VolumeQuotaCodes codes = volume_quota_codes(type);
  if (!codes.storage.empty() && size > 0) amounts[std::string(codes.storage)] = size;
  if (!codes.iops.empty() && iops > 0) amounts[std::string(codes.iops)] = iops;
  return Resources(std::move(amounts));
}

Resources instance_resources(const Ec2Instance& instance,
                             const std::map<std::string, InstanceType>& types,
                             const cloud::ById<Ec2Volume>& volumes) {
  Resources taken = Resources({{"instances", 1}});
  const auto type = types.find(instance.type);
  if (!instance.host_id.empty()) {
    taken = resources_of_host(instance.type);
  } else if (type != types.end()) {
    taken = instance_resources(type->second, instance.is_spot);
  }
  for (const std::string& id : instance.volume_ids) {
    const Ec2Volume* volume = volumes.find(id);
    if (volume == nullptr) continue;  // just attached or detached
    taken += resources_of_volume(volume->type, volume->size, volume->iops);
  }
  return taken;
}

Resources label_resources(const AwsLabel& label, const InstanceType& type) {
  Resources need = label.dedicated_host ? resources_of_host(type.name)
                                        : instance_resources(type, label.use_spot);
  if (!label.volume.type.empty()) {
    need +=
        resources_of_volume(label.volume.type, static_cast<double>(label.volume.size.value_or(0)),
                            static_cast<double>(label.volume.iops.value_or(0)));
  }
  return need;
}

Resources least_need_of(const AwsLabel& label, const std::vector<InstanceType>& types) {
  const Resources first = label_resources(label, types.front());
  Resources::Amounts least;
  for (const auto& [name, amount] : first.amounts()) {
    double smallest = amount;
    for (const InstanceType& type : types) {
      smallest = std::min(smallest, label_resources(label, type).amount(name));
    }
    if (smallest > 0) least[name] = smallest;
  }
  return Resources(std::move(least));
}

std::vector<std::string> types_of(const AwsLabel& label) {
  if (label.fleet) return label.fleet->instance_types;
  if (label.instance_type.empty()) return {};
  return {label.instance_type};
}

std::set<std::string> relevant_codes(const AwsConfig& config) {
  std::set<std::string> codes;
  for (const auto& [pool_name, pool] : config.pools()) {
    for (const std::string& name : pool.labels) {
      const AwsLabel& label = config.label(pool_name, name);
      for (const std::string& type : types_of(label)) {
        codes.emplace(label.dedicated_host ? host_quota_code(type)
                                           : instance_quota_code(type, label.use_spot));
      }
      const VolumeQuotaCodes of_volume = volume_quota_codes(label.volume.type);
      codes.emplace(of_volume.storage);
      codes.emplace(of_volume.iops);
    }
  }
  codes.erase("");
  return codes;
}

driver::Limits limits_for(const std::set<std::string>& codes,
                          const std::map<std::string, double>& values) {
  driver::Limits limits;
  for (const std::string& code : codes) {
    const auto value = values.find(code);
    if (value == values.end()) continue;
    limits[code] = value->second * (is_storage_code(code) ? kGigabytesInTerabyte : 1);
  }
  return limits;
}

}  // namespace nodepool::drivers::aws

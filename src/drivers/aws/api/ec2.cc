#include "drivers/aws/api/ec2.h"

#include <openssl/evp.h>

#include "cloud/outcome.h"
#include "cloud/pages.h"
#include "driver/cloud_error.h"
#include "driver/if_exists.h"
#include "drivers/aws/api/error_response.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;

namespace {

constexpr std::int64_t kPageSize = 1000;

Ami read_image(const cloud::XmlElement& item) {
  Ami image{.id = item.text("imageId"),
            .created = item.text_or("creationDate"),
            .state = item.text_or("imageState"),
            .root = std::nullopt,
            .name = item.text_or("name"),
            .snapshot_ids = {},
            .tags = read_tags(item)};
  const std::vector<cloud::XmlElement> devices = item.items("blockDeviceMapping");
  for (const cloud::XmlElement& device : devices) {
    const std::string snapshot = device.child("ebs").text_or("snapshotId");
    if (!snapshot.empty()) image.snapshot_ids.push_back(snapshot);
  }
  if (devices.empty() || !devices.front().child("ebs").exists()) return image;
  const cloud::XmlElement ebs = devices.front().child("ebs");
  image.root = {.name = devices.front().text("deviceName"),
                .snapshot_id = ebs.text_or("snapshotId"),
                .volume_type = ebs.text_or("volumeType"),
                .size = ebs.optional_integer("volumeSize"),
                .iops = ebs.optional_integer("iops"),
                .throughput = ebs.optional_integer("throughput")};
  return image;
}

std::string first_text(const std::vector<cloud::XmlElement>& items) {
  return items.empty() ? std::string() : items.front().own_text();
}

std::string from_base64(std::string text) {
  std::erase_if(text, [](unsigned char c) { return c <= ' '; });
  std::string data(text.size() / 4 * 3 + 3, '\0');
  const int size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(data.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  data.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  while (data.ends_with('\0')) data.pop_back();  // padding
  return data;
}

}  // namespace

std::string state_in_words(const Ec2Instance& instance) {
  std::string text = "instance " + instance.id + " is " + instance.state + ": ";
  const bool says_code = instance.reason.find(instance.reason_code) != std::string::npos;
  if (!says_code) text += instance.reason_code;
  if (!says_code && !instance.reason.empty()) text += ": ";
  text += instance.reason;
  if (instance.reason.empty() && instance.reason_code.empty()) text += "no reason given";
  return cloud::presentable(std::move(text));
}

driver::Metadata read_tags(const cloud::XmlElement& item) {
  driver::Metadata tags;
  for (const cloud::XmlElement& tag : item.items("tagSet"))
    tags[tag.text_or("key")] = tag.text_or("value");
  return tags;
}

Ec2Instance read_instance(const cloud::XmlElement& item) {
  Ec2Instance instance;
  instance.id = item.text("instanceId");
  instance.state = item.child("instanceState").text_or("name");
  const cloud::XmlElement reason = item.child("stateReason");
  instance.reason = reason.text_or("message");
  instance.reason_code = reason.text_or("code");
  instance.type = item.text_or("instanceType");
  const cloud::XmlElement placement = item.child("placement");
  instance.zone = placement.text_or("availabilityZone");
  instance.host_id = placement.text_or("hostId");
  instance.is_spot = item.text_or("instanceLifecycle") == "spot";
  instance.public_ipv4 = item.text_or("ipAddress");
  instance.private_ipv4 = item.text_or("privateIpAddress");
  for (const cloud::XmlElement& interface : item.items("networkInterfaceSet")) {
    for (const cloud::XmlElement& address : interface.items("ipv6AddressesSet")) {
      if (instance.ipv6.empty()) instance.ipv6 = address.text_or("ipv6Address");
    }
    break;
  }
  for (const cloud::XmlElement& device : item.items("blockDeviceMapping")) {
    const std::string id = device.child("ebs").text_or("volumeId");
    if (!id.empty()) instance.volume_ids.push_back(id);
  }
  instance.tags = read_tags(item);
  return instance;
}

Task<> Ec2::ask_pages(std::string action, Query query, Take take, std::string about) {
  cloud::Pages pages("ec2: " + action);
  while (true) {
    Query of_page = query;
    of_page.add_if_any("NextToken", pages.next());
    Call call{.action = action, .about = about};
    const cloud::XmlElement answer = co_await caller_.ask(std::move(call), std::move(of_page));
    const std::size_t so_far = take(answer);
    if (!pages.turn(answer.text_or("nextToken"), answer.document_size(), so_far)) co_return;
  }
}

Task<std::vector<Ec2Instance>> Ec2::describe_instances(Query query, std::string about) {
  std::vector<Ec2Instance> found;
  const Take take = [&found](const cloud::XmlElement& answer) {
    for (const cloud::XmlElement& reservation : answer.list("reservationSet")) {
      for (const cloud::XmlElement& item : reservation.items("instancesSet")) {
        found.push_back(read_instance(item));
      }
    }
    return found.size();
  };
  co_await ask_pages("DescribeInstances", std::move(query), take, std::move(about));
  co_return found;
}

Task<std::vector<Ec2Instance>> Ec2::instances() {
  Query query;
  query.add("MaxResults", kPageSize);
  return describe_instances(std::move(query), {});
}

Task<bool> Ec2::is_gone(std::string instance_id) {
  Query query;
  query.add("InstanceId.1", instance_id);
  const auto found =
      co_await driver::if_exists(describe_instances(std::move(query), std::move(instance_id)));
  if (!found) co_return true;
  co_return !found->empty() && found->front().is_gone();
}

Task<std::vector<Ec2Volume>> Ec2::volumes() {
  std::vector<Ec2Volume> found;
  const Take take = [&found](const cloud::XmlElement& answer) {
    for (const cloud::XmlElement& item : answer.list("volumeSet")) {
      found.push_back({.id = item.text("volumeId"),
                       .state = item.text_or("status"),
                       .type = item.text_or("volumeType"),
                       .size = item.optional_number("size").value_or(0),
                       .iops = item.optional_number("iops").value_or(0),
                       .tags = read_tags(item)});
    }
    return found.size();
  };
  Query query;
  query.add("MaxResults", kPageSize);
  co_await ask_pages("DescribeVolumes", std::move(query), take);
  co_return found;
}

Task<std::vector<Ami>> Ec2::describe_images(Query query, std::string about) {
  std::vector<Ami> found;
  const Take take = [&found](const cloud::XmlElement& answer) {
    for (const cloud::XmlElement& item : answer.list("imagesSet"))
      found.push_back(read_image(item));
    return found.size();
  };
  co_await ask_pages("DescribeImages", std::move(query), take, std::move(about));
  co_return found;
}

Task<std::vector<Ami>> Ec2::images(std::vector<std::string> ids) {
  Query query;
  query.add_list("ImageId", ids);
  std::string about = ids.empty() ? std::string() : ids.front();
  auto images = co_await driver::if_exists(describe_images(std::move(query), std::move(about)));
  co_return std::move(images).value_or(std::vector<Ami>{});
}

Task<std::vector<Ami>> Ec2::images_that(Query filters) {
  filters.add("MaxResults", kPageSize);
  return describe_images(std::move(filters), {});
}

Task<std::vector<Ami>> Ec2::own_images() {
  Query query;
  query.add("Owner.1", "self").add("MaxResults", kPageSize);
  return describe_images(std::move(query), {});
}

Task<std::vector<Snapshot>> Ec2::own_snapshots() {
  std::vector<Snapshot> found;
  const Take take = [&found](const cloud::XmlElement& answer) {
    for (const cloud::XmlElement& item : answer.list("snapshotSet")) {
      found.push_back({.id = item.text("snapshotId"),
                       .state = item.text_or("status"),
                       .description = item.text_or("description"),
                       .size = item.optional_integer("volumeSize").value_or(0),
                       .tags = read_tags(item)});
    }
    return found.size();
  };
  Query query;
  query.add("Owner.1", "self").add("MaxResults", kPageSize);
  co_await ask_pages("DescribeSnapshots", std::move(query), take);
  co_return found;
}

Task<std::string> Ec2::register_image(Query query) {
  Call call{.action = "RegisterImage", .precedence = http::Precedence::creation, .creates = true};
  const cloud::XmlElement answer = co_await caller_.ask(std::move(call), std::move(query));
  co_return cloud::read_outcome(true, [&answer] { return answer.text("imageId"); });
}

Task<> Ec2::remove(std::string action, std::string parameter, std::string id) {
  Query query;
  query.add(std::move(parameter), id);
  Call call{.action = std::move(action), .about = id, .precedence = http::Precedence::removal};
  co_await driver::if_exists(caller_.ask(std::move(call), std::move(query)));
}

Task<> Ec2::deregister_image(std::string id) {
  return remove("DeregisterImage", "ImageId", std::move(id));
}

Task<> Ec2::delete_snapshot(std::string id) {
  return remove("DeleteSnapshot", "SnapshotId", std::move(id));
}

Task<> Ec2::create_tags(std::vector<std::string> ids, driver::Metadata tags) {
  Query query;
  query.add_list("ResourceId", ids);
  int number = 0;
  for (const auto& [key, value] : tags) {
    const std::string tag = "Tag." + std::to_string(++number);
    query.add(tag + ".Key", key).add(tag + ".Value", value);
  }
  Call call{.action = "CreateTags",
            .about = ids.empty() ? std::string() : ids.front(),
            .precedence = http::Precedence::creation};
  co_await caller_.ask(std::move(call), std::move(query));
}

Task<std::vector<InstanceType>> Ec2::instance_types(std::vector<std::string> names) {
  std::vector<InstanceType> types;
  Query query;
  query.add_filter("instance-type", names);
  const Take take = [&types](const cloud::XmlElement& answer) {
    for (const cloud::XmlElement& item : answer.list("instanceTypeSet")) {
      const cloud::XmlElement vcpus = item.child("vCpuInfo");
      types.push_back(
          {.name = item.text("instanceType"),
           .vcpus = vcpus.number("defaultVCpus"),
           .cores = vcpus.optional_number("defaultCores").value_or(vcpus.number("defaultVCpus")),
           .memory = item.child("memoryInfo").number("sizeInMiB")});
    }
    return types.size();
  };
  co_await ask_pages("DescribeInstanceTypes", std::move(query), take);
  co_return types;
}

Task<std::string> Ec2::run_instance(Query query) {
  Call call{.action = "RunInstances",
            .precedence = http::Precedence::creation,
            .creates = true,
            .has_token = true};
  const cloud::XmlElement answer = co_await caller_.ask(std::move(call), std::move(query));
  co_return cloud::read_outcome(
      true, [&answer] { return answer.child("instancesSet").child("item").text("instanceId"); });
}

Task<std::string> Ec2::create_fleet(Query query) {
  Call call{.action = "CreateFleet",
            .precedence = http::Precedence::creation,
            .creates = true,
            .has_token = true};
  const cloud::XmlElement answer = co_await caller_.ask(std::move(call), std::move(query));
  for (const cloud::XmlElement& made : answer.items("fleetInstanceSet")) {
    std::string id = first_text(made.items("instanceIds"));
    if (!id.empty()) co_return id;
  }
  const std::vector<cloud::XmlElement> errors = answer.items("errorSet");
  if (errors.empty()) {
    const bool is_fleet = !answer.text_or("fleetId").empty();
    throw CloudError(is_fleet ? CloudError::Kind::failed : CloudError::Kind::unknown_outcome,
                     "ec2: CreateFleet: the response has no instance");
  }
  const ErrorResponse refusal{.code = errors.front().text_or("errorCode"),
                              .message = errors.front().text_or("errorMessage")};
  throw to_cloud_error("ec2: CreateFleet", refusal);
}

Task<std::string> Ec2::allocate_host(Query query) {
  Call call{.action = "AllocateHosts",
            .precedence = http::Precedence::creation,
            .creates = true,
            .has_token = true};
  const cloud::XmlElement answer = co_await caller_.ask(std::move(call), std::move(query));
  co_return cloud::read_outcome(true, [&answer] { return answer.child("hostIdSet").text("item"); });
}

Task<std::vector<DedicatedHost>> Ec2::hosts() {
  std::vector<DedicatedHost> found;
  const Take take = [&found](const cloud::XmlElement& answer) {
    for (const cloud::XmlElement& item : answer.list("hostSet")) {
      const cloud::XmlElement properties = item.child("hostProperties");
      found.push_back(
          {.id = item.text("hostId"),
           .state = item.text_or("state"),
           .family = properties.text_or("instanceFamily", properties.text_or("instanceType")),
           .tags = read_tags(item)});
    }
    return found.size();
  };
  co_await ask_pages("DescribeHosts", {}, take);
  co_return found;
}

Task<bool> Ec2::release_host(std::string id) {
  Query query;
  query.add("HostId.1", id);
  Call call{.action = "ReleaseHosts", .about = id, .precedence = http::Precedence::removal};
  try {
    const cloud::XmlElement answer = co_await caller_.ask(std::move(call), std::move(query));
    for (const cloud::XmlElement& item : answer.items("unsuccessful")) {
      const cloud::XmlElement error = item.child("error");
      const ErrorResponse refusal{.code = error.text_or("code"),
                                  .message = error.text_or("message")};
      throw to_cloud_error("ec2: ReleaseHosts " + id, refusal);
    }
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::not_found) throw;
    co_return false;
  }
  co_return true;
}

Task<> Ec2::create_template(Query query) {
  Call call{.action = "CreateLaunchTemplate", .precedence = http::Precedence::creation};
  try {
    co_await caller_.ask(std::move(call), std::move(query));
  } catch (const CloudError& error) {
    // With and without `Exception` at the end.
    if (!error.code().starts_with("InvalidLaunchTemplateName.AlreadyExists")) throw;
  }
}

Task<std::vector<LaunchTemplate>> Ec2::templates() {
  std::vector<LaunchTemplate> found;
  const Take take = [&found](const cloud::XmlElement& answer) {
    for (const cloud::XmlElement& item : answer.list("launchTemplates")) {
      found.push_back({.name = item.text("launchTemplateName"), .tags = read_tags(item)});
    }
    return found.size();
  };
  co_await ask_pages("DescribeLaunchTemplates", {}, take);
  co_return found;
}

Task<> Ec2::delete_template(std::string name) {
  return remove("DeleteLaunchTemplate", "LaunchTemplateName", std::move(name));
}

Task<> Ec2::terminate(std::vector<std::string> ids) {
  Query query;
  query.add_list("InstanceId", ids);
  Call call{.action = "TerminateInstances",
            .about = ids.size() == 1 ? ids.front() : std::to_string(ids.size()) + " instances",
            .precedence = http::Precedence::removal};
  co_await caller_.ask(std::move(call), std::move(query));
}

Task<> Ec2::delete_volume(std::string id) {
  return remove("DeleteVolume", "VolumeId", std::move(id));
}

Task<std::optional<std::string>> Ec2::console_output(std::string id) {
  Query query;
  query.add("InstanceId", id);
  Call call{.action = "GetConsoleOutput", .about = id};
  const cloud::XmlElement answer = co_await caller_.ask(std::move(call), std::move(query));
  std::string text = from_base64(answer.text_or("output"));
  if (text.empty()) co_return std::nullopt;
  co_return text;
}

}  // namespace nodepool::drivers::aws

#include "tests/drivers/aws/stand_in/stand_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include <nlohmann/json.hpp>

namespace nodepool::drivers::aws {

namespace {

using Parameters = StandIn::Parameters;

std::string decoded(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      result += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

Parameters parse_form(const std::string& body) {
  Parameters query;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = std::min(body.find('&', at), body.size());
    const std::string pair = body.substr(at, end - at);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    query[decoded(pair.substr(0, equals))] =
        decoded(pair.substr(std::min(equals + 1, pair.size())));
    at = end + 1;
  }
  return query;
}

std::string value_of(const Parameters& query, const std::string& name) {
  const auto found = query.find(name);
  return found == query.end() ? std::string() : found->second;
}

std::vector<std::string> list_of(const Parameters& query, const std::string& name) {
  std::vector<std::string> values;
  for (int i = 1; query.contains(fmt::format("{}.{}", name, i)); ++i) {
    values.push_back(value_of(query, fmt::format("{}.{}", name, i)));
  }
  return values;
}

// The tags for a type of resource.
std::map<std::string, std::string> tags_of(const Parameters& query, const std::string& type) {
  std::map<std::string, std::string> tags;
  for (int i = 1; query.contains(fmt::format("TagSpecification.{}.ResourceType", i)); ++i) {
    if (value_of(query, fmt::format("TagSpecification.{}.ResourceType", i)) != type) continue;
    for (int j = 1; query.contains(fmt::format("TagSpecification.{}.Tag.{}.Key", i, j)); ++j) {
      const std::string tag = fmt::format("TagSpecification.{}.Tag.{}", i, j);
      tags[value_of(query, tag + ".Key")] = value_of(query, tag + ".Value");
    }
  }
  return tags;
}

// What each action may be given.
const std::map<std::string, std::regex>& known_parameters() {
  static const std::map<std::string, std::regex> known = {
      {"RunInstances",
       std::regex(
           R"(ImageId|MinCount|MaxCount|ClientToken|InstanceType|EbsOptimized|KeyName|UserData|)"
           R"(NetworkInterface\.1\.(DeviceIndex|AssociatePublicIpAddress|SubnetId|SecurityGroupId\.1|Ipv6AddressCount)|)"
           R"(Placement\.(AvailabilityZone|Tenancy|HostId|Affinity)|IamInstanceProfile\.(Name|Arn)|)"
           R"(MetadataOptions\.(HttpTokens|HttpEndpoint)|InstanceMarketOptions\.MarketType|)"
           R"(InstanceMarketOptions\.SpotOptions\.(SpotInstanceType|InstanceInterruptionBehavior)|)"
           R"(BlockDeviceMapping\.1\.(DeviceName|Ebs\.(DeleteOnTermination|SnapshotId|VolumeType|VolumeSize|Iops|Throughput))|)"
           R"(TagSpecification\.[12]\.(ResourceType|Tag\.\d+\.(Key|Value)))")},
      {"DescribeInstances", std::regex(R"(MaxResults|NextToken|InstanceId\.1)")},
      {"DescribeVolumes", std::regex("MaxResults|NextToken")},
      {"AllocateHosts",
       std::regex(
           R"(AutoPlacement|AvailabilityZone|InstanceType|Quantity|HostRecovery|)"
           R"(HostMaintenance|ClientToken|TagSpecification\.1\.(ResourceType|Tag\.\d+\.(Key|Value)))")},
      {"CreateLaunchTemplate",
       std::regex(
           R"(LaunchTemplateName|LaunchTemplateData\.(KeyName|EbsOptimized|SecurityGroupId\.1)|)"
           R"(LaunchTemplateData\.BlockDeviceMapping\.1\.(DeviceName|Ebs\.DeleteOnTermination)|)"
           R"(TagSpecification\.1\.(ResourceType|Tag\.\d+\.(Key|Value)))")},
      {"CreateFleet",
       std::regex(
           R"(Type|ClientToken|OnDemandOptions\.AllocationStrategy|)"
           R"(TargetCapacitySpecification\.(TotalTargetCapacity|DefaultTargetCapacityType)|)"
           R"(LaunchTemplateConfigs\.1\.LaunchTemplateSpecification\.(LaunchTemplateName|Version)|)"
           R"(LaunchTemplateConfigs\.1\.Overrides\.\d+\.(ImageId|InstanceType|AvailabilityZone)|)"
           R"(TagSpecification\.[12]\.(ResourceType|Tag\.\d+\.(Key|Value)))")},
      {"DescribeHosts", std::regex("NextToken")},
      {"ReleaseHosts", std::regex(R"(HostId\.1)")},
      {"DescribeImages", std::regex(R"(Owner\.1|ImageId\.\d+|Filter\.\d+\.(Name|Value\.\d+)|)"
                                    R"(MaxResults|NextToken)")},
      {"DescribeInstanceTypes", std::regex(R"(Filter\.1\.(Name|Value\.\d+)|NextToken)")},
      {"TerminateInstances", std::regex(R"(InstanceId\.\d+)")},
      {"DeleteVolume", std::regex("VolumeId")},
      {"GetConsoleOutput", std::regex("InstanceId")},
      {"RegisterImage",
       std::regex(
           R"(Name|Architecture|RootDeviceName|VirtualizationType|EnaSupport|ImdsSupport|)"
           R"(BlockDeviceMapping\.1\.(DeviceName|Ebs\.(DeleteOnTermination|SnapshotId|VolumeType|VolumeSize|Iops|Throughput))|)"
           R"(TagSpecification\.1\.(ResourceType|Tag\.\d+\.(Key|Value)))")},
      {"DeregisterImage", std::regex("ImageId")},
      {"CreateTags", std::regex(R"(ResourceId\.\d+|Tag\.\d+\.(Key|Value))")},
      {"ImportSnapshot",
       std::regex(R"(Description|DiskContainer\.(Format|UserBucket\.(S3Bucket|S3Key))|ClientToken|)"
                  R"(TagSpecification\.1\.(ResourceType|Tag\.\d+\.(Key|Value)))")},
      {"ImportImage",
       std::regex(
           R"(Description|Architecture|DiskContainer\.1\.(Format|UserBucket\.(S3Bucket|S3Key))|)"
           R"(ClientToken|TagSpecification\.1\.(ResourceType|Tag\.\d+\.(Key|Value)))")},
      {"DescribeImportSnapshotTasks", std::regex(R"(ImportTaskId\.1|NextToken)")},
      {"DescribeImportImageTasks", std::regex(R"(ImportTaskId\.1|NextToken)")},
      {"CancelImportTask", std::regex("ImportTaskId")},
      {"DescribeLaunchTemplates", std::regex("NextToken")},
      {"DeleteLaunchTemplate", std::regex("LaunchTemplateName")},
      {"DescribeSnapshots", std::regex(R"(Owner\.1|MaxResults|NextToken)")},
      {"DeleteSnapshot", std::regex("SnapshotId")}};
  return known;
}

std::string tag_set(const std::map<std::string, std::string>& tags) {
  std::string items;
  for (const auto& [key, value] : tags) {
    items += fmt::format("<item><key>{}</key><value>{}</value></item>", key, value);
  }
  return "<tagSet>" + items + "</tagSet>";
}

// An AMI or a snapshot of the account.
std::string shown_own(const std::string& id_name, const std::string& id, const OwnThing& thing) {
  const std::string mapping =
      thing.snapshot.empty()
          ? std::string()
          : fmt::format(
                "<blockDeviceMapping><item><deviceName>/dev/sda1</deviceName><ebs>"
                "<snapshotId>{}</snapshotId></ebs></item></blockDeviceMapping>",
                thing.snapshot);
  return fmt::format(
      "<item><{0}>{1}</{0}><name>{2}</name><status>{3}</status><description>{4}</description>"
      "<volumeSize>1</volumeSize>{5}{6}</item>",
      id_name, id, thing.name, thing.state, thing.description, mapping, tag_set(thing.tags));
}

// An AMI of others.
std::string shown_public(const std::string& id, const std::string& created) {
  return fmt::format(
      "<item><imageId>{}</imageId><creationDate>{}</creationDate>"
      "<imageState>available</imageState><blockDeviceMapping><item>"
      "<deviceName>/dev/xvda</deviceName><ebs><snapshotId>snap-1</snapshotId>"
      "<volumeSize>8</volumeSize><volumeType>gp2</volumeType><encrypted>false</encrypted></ebs>"
      "</item></blockDeviceMapping></item>",
      id, created);
}

}  // namespace

int StandIn::count(const std::string& action) const {
  return static_cast<int>(calls(action).size());
}

std::map<std::string, int> StandIn::counts() const {
  std::map<std::string, int> counts;
  for (const auto& [action, calls] : calls_) counts[action] = static_cast<int>(calls.size());
  return counts;
}

std::vector<Parameters> StandIn::calls(const std::string& action) const {
  const auto found = calls_.find(action);
  return found == calls_.end() ? std::vector<Parameters>() : found->second;
}

void StandIn::fail(const std::string& action, std::vector<Failure> failures) {
  failures_[action] = {failures.begin(), failures.end()};
}

std::optional<StandIn::Failure> StandIn::next_failure(const std::string& action) {
  std::deque<Failure>& of_action = failures_[action];
  std::deque<Failure>& failures = of_action.empty() ? any_failures_ : of_action;
  if (failures.empty()) return std::nullopt;
  const Failure failure = failures.front();
  failures.pop_front();
  return failure;
}

std::string StandIn::new_id(const std::string& prefix) {
  return fmt::format("{}-{:08}", prefix, ++next_id_);
}

StandIn::Reply StandIn::refusal(int status, const std::string& code, const std::string& message) {
  return {status,
          fmt::format("<Response><Errors><Error><Code>{}</Code><Message>{}</Message></Error>"
                      "</Errors><RequestID>r</RequestID></Response>",
                      code, message)};
}

async::Task<std::string> StandIn::serve(const http::HttpServer::Call& call) {
  const auto header = [&call](const char* name) {
    const auto found = std::ranges::find(call.headers, name, &http::Headers::value_type::first);
    return found == call.headers.end() ? std::string() : found->second;
  };
  const std::string target = header("x-amz-target");
  const bool is_ebs = call.target.starts_with("/snapshots");
  const bool is_s3 = header("authorization").contains("/s3/aws4_request");
  Parameters query;
  if (target.empty() && !is_ebs && !is_s3) query = parse_form(call.body);
  const std::string action = is_ebs           ? "ebs"
                             : is_s3          ? ImageServices::action(call)
                             : target.empty() ? value_of(query, "Action")
                                              : target.substr(target.find('.') + 1);
  query.erase("Action");
  query.erase("Version");
  calls_[action].push_back(query);
  const std::optional<Failure> failure = next_failure(action);
  const bool is_signed =
      header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=AKIDTEST/");
  Reply reply = refusal(401, "AuthFailure", "not signed");
  if (failure && failure->status > 0) {
    reply = refusal(failure->status, failure->code, "as the test wants it");
  } else if (is_signed && (!failure || failure->status < 0)) {
    reply = is_ebs ? ebs(call) : is_s3 ? image_services.serve(action, call) : route(action, query);
  }
  if (latency > async::Duration::zero()) {
    ++held_back_;
    co_await runtime_.clock.sleep_for(latency);
    --held_back_;
  }
  if (failure && failure->status == kUnreadable) {
    // Cut in the middle: HTTP is complete, what it carries is not.
    co_return http::answer(reply.status, reply.body.substr(0, reply.body.size() / 2));
  }
  if (failure && failure->status <= 0) co_return std::string();
  co_return http::answer(reply.status, reply.body, reply.headers);
}

StandIn::Reply StandIn::route(const std::string& action, const Parameters& query) {
  if (action == "ListServiceQuotas") return quotas();
  const auto known = known_parameters().find(action);
  if (known == known_parameters().end()) return refusal(400, "InvalidAction", action);
  for (const auto& [name, value] : query) {
    if (!std::regex_match(name, known->second)) return refusal(400, "UnknownParameter", name);
  }
  if (action == "RunInstances") return run_instances(query);
  if (action == "DescribeInstances") return describe_instances(query);
  if (action == "DescribeVolumes") return describe_volumes(query);
  if (action == "DescribeImages") return describe_images(query);
  if (action == "DescribeInstanceTypes") return describe_types(query);
  if (action == "TerminateInstances") return terminate(query);
  if (action == "GetConsoleOutput") {
    return {200,
            "<GetConsoleOutputResponse><output>bG9naW46\n</output></GetConsoleOutputResponse>"};
  }
  if (action == "CreateTags") return create_tags(query);
  if (action == "AllocateHosts") {
    return {200, dedicated_hosts.allocate(query, tags_of(query, "dedicated-host"))};
  }
  if (action == "DescribeHosts") return {200, dedicated_hosts.describe()};
  if (action == "ReleaseHosts") {
    settle();
    return {200, dedicated_hosts.release(value_of(query, "HostId.1"))};
  }
  if (action.contains("Import")) {
    const bool is_image = action == "ImportImage";
    return image_services.import(
        action, query, tags_of(query, is_image ? "import-image-task" : "import-snapshot-task"));
  }
  if (action == "RegisterImage") return register_image(query);
  if (action == "CreateLaunchTemplate") return create_template(query);
  if (action == "CreateFleet") return create_fleet(query);
  if (action == "DescribeLaunchTemplates") return describe_templates();
  if (action == "DeleteLaunchTemplate") {
    templates.erase(value_of(query, "LaunchTemplateName"));
    return {200, "<DeleteLaunchTemplateResponse/>"};
  }
  if (action == "DescribeSnapshots") return describe_snapshots();
  if (action == "DeregisterImage" || action == "DeleteSnapshot") {
    const bool is_image = action == "DeregisterImage";
    auto& things = is_image ? own_images : snapshots;
    const bool was_there = things.erase(value_of(query, is_image ? "ImageId" : "SnapshotId")) > 0;
    if (!was_there) return refusal(400, "Invalid.NotFound", "no such thing");
    return {200, "<Response><return>true</return></Response>"};
  }
  if (volumes.erase(value_of(query, "VolumeId")) == 0) {
    return refusal(400, "InvalidVolume.NotFound", "no such volume");
  }
  return {200, "<DeleteVolumeResponse><return>true</return></DeleteVolumeResponse>"};
}

std::string StandIn::add_instance(const std::string& type,
                                  const std::map<std::string, std::string>& tags) {
  const std::string id = new_id("i");
  add_instance(id, type, tags);
  return id;
}

StandIn::Instance& StandIn::add_instance(const std::string& id, const std::string& type,
                                         const std::map<std::string, std::string>& tags) {
  Instance& instance = instances[id];
  instance.id = id;
  instance.type = type;
  instance.made = runtime_.clock.now();
  instance.tags = tags;
  instance.volume = add_volume(tags);
  volumes[instance.volume] = id;
  return instance;
}

std::string StandIn::add_volume(const std::map<std::string, std::string>& tags) {
  const std::string id = new_id("vol");
  volumes[id] = "";
  volume_tags[id] = tags;
  return id;
}

// An instance comes up when its time has come; in the answer, as it is now.
std::string StandIn::shown(Instance& instance) {
  const bool is_due = runtime_.clock.now() >= instance.made + boot_time;
  if (instance.state == "pending" && is_due) {
    instance.state = instance.is_broken ? "terminated" : "running";
    instance.ended = runtime_.clock.now();
    if (instance.is_broken) dedicated_hosts.release_slot(instance.id);
  }
  if (instance.is_broken && instance.state == "terminated") instance.reason_code = broken_code;
  const std::string reason =
      instance.reason_code.empty()
          ? std::string()
          : fmt::format(
                "<stateReason><code>{0}</code><message>{0}: by itself</message></stateReason>",
                instance.reason_code);
  const std::string number = instance.id.substr(instance.id.size() - 2);
  const bool is_spot = value_of(instance.wanted, "InstanceMarketOptions.MarketType") == "spot";
  const std::string zone = value_of(instance.wanted, "Placement.AvailabilityZone");
  return fmt::format(
      "<item><instanceId>{}</instanceId><instanceState><name>{}</name></instanceState>{}"
      "<instanceType>{}</instanceType><placement><availabilityZone>{}</availabilityZone>"
      "<hostId>{}</hostId></placement>"
      "<ipAddress>203.0.113.{}</ipAddress><privateIpAddress>10.0.0.{}</privateIpAddress>{}"
      "<blockDeviceMapping><item><ebs><volumeId>{}</volumeId></ebs></item></blockDeviceMapping>{}"
      "</item>",
      instance.id, instance.state, reason, instance.type, zone.empty() ? "north-1a" : zone,
      instance.host, std::stoi(number), std::stoi(number),
      is_spot ? "<instanceLifecycle>spot</instanceLifecycle>" : "", instance.volume,
      tag_set(instance.tags));
}

void StandIn::interrupt(const std::string& id) {
  Instance& instance = instances.at(id);
  instance.state = "shutting-down";
  instance.ended = runtime_.clock.now();
  instance.reason_code = "Server.SpotInstanceTermination";
}

StandIn::Reply StandIn::run_instances(const Parameters& query) {
  const std::string token = value_of(query, "ClientToken");
  const auto made = tokens_.find(token);
  if (made != tokens_.end() && made->second.wanted != query) {
    return refusal(400, "IdempotentParameterMismatch", "the token is that of another request");
  }
  std::string id = made == tokens_.end() ? std::string() : made->second.instance;
  if (id.empty()) {
    const auto alive = static_cast<std::size_t>(std::ranges::count_if(instances, [](const auto& i) {
      return i.second.state != "terminated" && i.second.state != "shutting-down";
    }));
    if (alive >= room) return refusal(400, "VcpuLimitExceeded", "more than the limit");
    const std::string image = value_of(query, "ImageId");
    if (!images.contains(image) && !own_images.contains(image)) {
      return refusal(400, "InvalidAMIID.NotFound", "no such image");
    }
    const std::string type = value_of(query, "InstanceType");
    std::string host = value_of(query, "Placement.HostId");
    if (host.empty()) host = default_host;
    settle();
    id = new_id("i");
    const std::string refused =
        host.empty() ? std::string() : dedicated_hosts.place(host, type, id);
    if (!refused.empty()) return refusal(400, refused, host);
    Instance& instance = add_instance(id, type, tags_of(query, "instance"));
    volume_tags[instance.volume] = tags_of(query, "volume");
    instance.wanted = query;
    instance.host = host;
    instance.is_broken = broken > 0;
    if (broken > 0) --broken;
    if (!token.empty()) tokens_[token] = {.instance = id, .wanted = query};
  }
  return {200, fmt::format("<RunInstancesResponse><instancesSet><item><instanceId>{}</instanceId>"
                           "<instanceState><name>pending</name></instanceState></item>"
                           "</instancesSet></RunInstancesResponse>",
                           id)};
}

void StandIn::settle() {
  for (auto& [id, instance] : instances) {
    const bool is_due = runtime_.clock.now() >= instance.ended + shutdown_time;
    if (instance.state != "shutting-down" || !is_due) continue;
    instance.state = "terminated";
    volumes.erase(instance.volume);
    dedicated_hosts.release_slot(id);
  }
  std::erase_if(instances, [this](const auto& entry) {
    const Instance& instance = entry.second;
    return instance.state == "terminated" &&
           runtime_.clock.now() >= instance.ended + terminated_time;
  });
}

StandIn::Reply StandIn::describe_instances(const Parameters& query) {
  settle();
  if (const std::string id = value_of(query, "InstanceId.1"); !id.empty()) {
    const auto found = instances.find(id);
    if (found == instances.end()) {
      return refusal(400, "InvalidInstanceID.NotFound",
                     "The instance ID '" + id + "' does not exist");
    }
    return {200, fmt::format("<DescribeInstancesResponse><reservationSet><item><instancesSet>{}"
                             "</instancesSet></item></reservationSet></DescribeInstancesResponse>",
                             shown(found->second))};
  }
  if (empty_listings > 0) {
    --empty_listings;
    return {200, "<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>"};
  }
  std::string items;
  std::size_t count = 0;
  auto next = instances.upper_bound(value_of(query, "NextToken"));
  for (; next != instances.end() && count < page; ++next, ++count) {
    if (runtime_.clock.now() < next->second.made + listing_lag) continue;
    items += fmt::format("<item><instancesSet>{}</instancesSet></item>", shown(next->second));
  }
  const std::string token = next == instances.end()
                                ? std::string()
                                : fmt::format("<nextToken>{}</nextToken>", std::prev(next)->first);
  return {200, fmt::format("<DescribeInstancesResponse><reservationSet>{}</reservationSet>{}"
                           "</DescribeInstancesResponse>",
                           items, token)};
}

StandIn::Reply StandIn::describe_volumes(const Parameters& /*query*/) {
  std::string items;
  for (const auto& [id, instance] : volumes) {
    items += fmt::format(
        "<item><volumeId>{}</volumeId><status>{}</status><volumeType>gp3</volumeType>"
        "<size>10</size>{}</item>",
        id, instance.empty() ? "available" : "in-use", tag_set(volume_tags[id]));
  }
  return {200, "<DescribeVolumesResponse><volumeSet>" + items +
                   "</volumeSet></DescribeVolumesResponse>"};
}

StandIn::Reply StandIn::ebs(const http::HttpServer::Call& call) {
  const std::string rest = call.target.substr(std::string("/snapshots").size());
  if (rest.empty()) {
    const auto wanted = nlohmann::json::parse(call.body);
    std::string& id = snapshot_tokens_[wanted["ClientToken"].get<std::string>()];
    if (id.empty()) id = new_id("snap");
    const bool is_new = !snapshots.contains(id);
    OwnThing& snapshot = snapshots[id];
    if (is_new) snapshot.state = "pending";
    for (const auto& tag : wanted["Tags"]) {
      snapshot.tags[tag["Key"].get<std::string>()] = tag["Value"].get<std::string>();
    }
    return {201,
            nlohmann::json{{"SnapshotId", id}, {"Status", snapshot.state}, {"BlockSize", 524288}}
                .dump()};
  }
  if (rest.starts_with("/completion/")) {
    const auto found = snapshots.find(rest.substr(std::string("/completion/").size()));
    if (found == snapshots.end()) return {404, "{}"};
    found->second.state = "completed";
    return {202, R"({"Status": "completed"})"};
  }
  const std::size_t blocks = rest.find("/blocks/");
  const auto snapshot = snapshots.find(rest.substr(1, blocks - 1));
  if (snapshot == snapshots.end() || call.body.size() != 524288) return {400, "{}"};
  if (snapshot->second.state != "pending") return {400, "{}"};
  ++snapshot->second.blocks[std::stoi(rest.substr(blocks + 8))];
  return {201, "{}"};
}

StandIn::Reply StandIn::create_tags(const Parameters& query) {
  for (const std::string& id : list_of(query, "ResourceId")) {
    auto& things = own_images.contains(id) ? own_images : snapshots;
    if (!things.contains(id)) return refusal(400, "InvalidID", id);
    for (int i = 1; query.contains(fmt::format("Tag.{}.Key", i)); ++i) {
      things[id].tags[value_of(query, fmt::format("Tag.{}.Key", i))] =
          value_of(query, fmt::format("Tag.{}.Value", i));
    }
  }
  return {200, "<CreateTagsResponse><return>true</return></CreateTagsResponse>"};
}

StandIn::Reply StandIn::register_image(const Parameters& query) {
  const std::string snapshot = value_of(query, "BlockDeviceMapping.1.Ebs.SnapshotId");
  if (!snapshots.contains(snapshot)) return refusal(400, "InvalidSnapshot.NotFound", snapshot);
  const std::string id = new_id("ami");
  own_images[id] = {.name = value_of(query, "Name"),
                    .snapshot = snapshot,
                    .description = {},
                    .tags = tags_of(query, "image"),
                    .blocks = {}};
  return {200,
          fmt::format("<RegisterImageResponse><imageId>{}</imageId></RegisterImageResponse>", id)};
}

StandIn::Reply StandIn::describe_snapshots() const {
  std::string items;
  for (const auto& [id, snapshot] : snapshots) items += shown_own("snapshotId", id, snapshot);
  return {200, "<Response><snapshotSet>" + items + "</snapshotSet></Response>"};
}

// A page's token is the number of the image that it begins with.
StandIn::Reply StandIn::describe_images(const Parameters& query) {
  const std::vector<std::string> ids = list_of(query, "ImageId");
  const auto is_wanted = [&ids](const std::string& id) {
    return ids.empty() || std::ranges::find(ids, id) != ids.end();
  };
  const bool is_own = query.contains("Owner.1");
  std::vector<std::string> shown;
  for (const std::string& id : images) {
    if (!is_own && is_wanted(id)) shown.push_back(shown_public(id, creation_date + id));
  }
  for (const auto& [id, image] : own_images) {
    const bool is_asked_for = is_own || !ids.empty();
    if (is_asked_for && is_wanted(id)) shown.push_back(shown_own("imageId", id, image));
  }
  const std::string token = value_of(query, "NextToken");
  const std::size_t begin = token.empty() ? 0 : std::stoul(token);
  const std::size_t end = std::min(begin + page, shown.size());
  std::string items;
  for (std::size_t i = begin; i < end; ++i) items += shown.at(i);
  const std::string next =
      end < shown.size() ? fmt::format("<nextToken>{}</nextToken>", end) : std::string();
  return {200, fmt::format("<DescribeImagesResponse><imagesSet>{}</imagesSet>{}"
                           "</DescribeImagesResponse>",
                           items, next)};
}

StandIn::Reply StandIn::create_template(const Parameters& query) {
  const bool is_new =
      templates.emplace(value_of(query, "LaunchTemplateName"), tags_of(query, "launch-template"))
          .second;
  if (!is_new) {
    return refusal(400, "InvalidLaunchTemplateName.AlreadyExistsException", "name in use");
  }
  return {200, "<CreateLaunchTemplateResponse/>"};
}

// The instance is of the first type.
StandIn::Reply StandIn::create_fleet(const Parameters& query) {
  const std::string config = "LaunchTemplateConfigs.1.";
  const std::string name =
      value_of(query, config + "LaunchTemplateSpecification.LaunchTemplateName");
  if (!templates.contains(name)) {
    return refusal(400, "InvalidLaunchTemplateName.NotFoundException", "no such template");
  }
  Parameters wanted = query;
  wanted["ImageId"] = value_of(query, config + "Overrides.1.ImageId");
  wanted["InstanceType"] = value_of(query, config + "Overrides.1.InstanceType");
  const Reply made = run_instances(wanted);
  if (made.status != 200) return made;
  const std::string id = tokens_.at(value_of(query, "ClientToken")).instance;
  return {200, fmt::format("<CreateFleetResponse><fleetId>fleet-1</fleetId><fleetInstanceSet><item>"
                           "<instanceIds><item>{}</item></instanceIds></item></fleetInstanceSet>"
                           "</CreateFleetResponse>",
                           id)};
}

StandIn::Reply StandIn::describe_templates() const {
  std::string items;
  for (const auto& [name, tags] : templates) {
    items += fmt::format("<item><launchTemplateName>{}</launchTemplateName>{}</item>", name,
                         tag_set(tags));
  }
  return {200, "<DescribeLaunchTemplatesResponse><launchTemplates>" + items +
                   "</launchTemplates></DescribeLaunchTemplatesResponse>"};
}

StandIn::Reply StandIn::describe_types(const Parameters& query) {
  std::string items;
  for (const std::string& name : list_of(query, "Filter.1.Value")) {
    if (!name.starts_with("t3.")) continue;
    items += fmt::format(
        "<item><instanceType>{}</instanceType><vCpuInfo><defaultVCpus>2</defaultVCpus>"
        "<defaultCores>1</defaultCores></vCpuInfo><memoryInfo><sizeInMiB>4096</sizeInMiB>"
        "</memoryInfo></item>",
        name);
  }
  return {200, "<DescribeInstanceTypesResponse><instanceTypeSet>" + items +
                   "</instanceTypeSet></DescribeInstanceTypesResponse>"};
}

StandIn::Reply StandIn::terminate(const Parameters& query) {
  const std::vector<std::string> ids = list_of(query, "InstanceId");
  for (const std::string& id : ids) {
    if (!id.starts_with("i-")) {
      return refusal(400, "InvalidInstanceID.Malformed", "Invalid id: \"" + id + "\"");
    }
    if (!instances.contains(id)) {
      return refusal(400, "InvalidInstanceID.NotFound",
                     "The instance ID '" + id + "' does not exist");
    }
    if (forbidden.contains(id)) return refusal(403, "UnauthorizedOperation", "not this one");
  }
  for (const std::string& id : ids) {
    Instance& instance = instances[id];
    if (instance.state == "terminated" || instance.state == "shutting-down") continue;
    instance.state = "shutting-down";
    instance.ended = runtime_.clock.now();
  }
  return {200, "<TerminateInstancesResponse><instancesSet/></TerminateInstancesResponse>"};
}

StandIn::Reply StandIn::quotas() const {
  const nlohmann::json answer = {
      {"Quotas",
       {{{"QuotaCode", "L-1216C47A"}, {"Value", 2.0 * static_cast<double>(room)}},
        {{"QuotaCode", "L-7A658B76"}, {"Value", 50.0}}}}};
  return {200, answer.dump()};
}

}  // namespace nodepool::drivers::aws

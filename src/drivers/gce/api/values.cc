#include "drivers/gce/api/values.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

namespace nodepool::drivers::gce {

using cloud::Element;
using json::Json;

namespace {

// "e2-small" of "https://…/zones/us-central1-a/machineTypes/e2-small".
std::string last_part(const std::string& url) {
  return url.substr(url.rfind('/') + 1);
}

}  // namespace

bool ComputeInstance::is_coming() const {
  return status == "PENDING" || status == "PROVISIONING" || status == "STAGING" ||
         status == "REPAIRING";
}

bool ComputeInstance::is_going() const {
  return status == "PENDING_STOP" || status == "STOPPING" || status == "SUSPENDING" ||
         status == "DEPROVISIONING";
}

ComputeInstance read_instance(const Element& instance) {
  ComputeInstance read{.name = instance.text("name"),
                       .status = instance.text("status"),
                       .status_message = instance.text_or("statusMessage"),
                       .machine_type = last_part(instance.text_or("machineType")),
                       .private_ipv4 = {},
                       .public_ipv4 = {},
                       .metadata = {}};
  const std::vector<Element> interfaces = instance.list("networkInterfaces");
  if (!interfaces.empty()) {
    read.private_ipv4 = interfaces.front().text_or("networkIP");
    const std::vector<Element> accesses = interfaces.front().list("accessConfigs");
    if (!accesses.empty()) read.public_ipv4 = accesses.front().text_or("natIP");
  }
  if (const auto metadata = instance.optional_object("metadata")) {
    // Other keys are not kept: they may be large, such as startup scripts.
    for (const Element& item : metadata->list("items")) {
      const std::string key = item.text("key");
      if (key.starts_with("nodepool_")) read.metadata[key] = item.text_or("value");
    }
  }
  return read;
}

std::string state_in_words(const ComputeInstance& instance) {
  return fmt::format("instance {} is {}{}{}", instance.name, instance.status,
                     instance.status_message.empty() ? "" : ": ", instance.status_message);
}

ComputeOperation read_operation(const Element& operation) {
  ComputeOperation read{.name = operation.text("name"),
                        .is_done = operation.text("status") == "DONE",
                        .code = {},
                        .message = {}};
  if (const auto error = operation.optional_object("error")) {
    const std::vector<Element> errors = error->list("errors");
    read.code = errors.empty() ? "UNKNOWN" : errors.front().text_or("code", "UNKNOWN");
    if (!errors.empty()) read.message = errors.front().text_or("message");
  }
  return read;
}

MachineType read_machine_type(const Element& type) {
  return {.url = type.text("selfLink"),
          .cores = type.number("guestCpus"),
          .memory = type.number("memoryMb")};
}

Quotas read_quotas(const Element& region) {
  Quotas quotas;
  for (const Element& quota : region.list("quotas")) {
    const std::string metric = quota.text("metric");
    quotas.limits[metric] = quota.number("limit");
    quotas.used += driver::Resources({{metric, quota.optional_number("usage").value_or(0)}});
  }
  return quotas;
}

std::string processor_metric(std::string_view machine_type) {
  constexpr std::array<std::string_view, 5> kShared = {"custom", "e2", "f1", "g1", "n1"};
  std::string series(machine_type.substr(0, machine_type.find('-')));
  if (std::ranges::find(kShared, series) != kShared.end()) return "CPUS";
  std::ranges::transform(series, series.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return series + "_CPUS";
}

Json body_of(const InstanceRequest& request) {
  Json items = Json::array();
  for (const auto& [key, value] : request.metadata) {
    items.push_back({{"key", key}, {"value", value}});
  }
  const Json disk = {
      {"boot", true},
      {"autoDelete", true},
      {"initializeParams",
       {{"sourceImage", request.image},
        {"diskType", fmt::format("zones/{}/diskTypes/{}", request.zone, request.disk_type)},
        {"diskSizeGb", std::to_string(request.disk_size)}}}};
  const Json access = {{"type", "ONE_TO_ONE_NAT"}, {"name", "External NAT"}};
  Json interface;
  if (!request.network.empty()) interface["network"] = request.network;
  if (!request.subnetwork.empty()) interface["subnetwork"] = request.subnetwork;
  interface["accessConfigs"] = Json::array({access});
  Json body = {{"name", request.name},
               {"machineType", request.machine_type_url},
               {"disks", Json::array({disk})},
               {"networkInterfaces", Json::array({interface})},
               {"serviceAccounts", Json::array()},
               {"metadata", {{"items", std::move(items)}}}};
  if (!request.labels.empty()) body["labels"] = request.labels;
  return body;
}

// A UUID of version 8 (RFC 9562 §5.8).
std::string request_id(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  if (::EVP_Digest(text.data(), text.size(), hash.data(), nullptr, ::EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("error computing SHA-256");
  }
  hash[6] = static_cast<unsigned char>(0x80U | (hash[6] & 0x0FU));
  hash[8] = static_cast<unsigned char>(0x80U | (hash[8] & 0x3FU));
  std::string id;
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) id += '-';
    id += fmt::format("{:02x}", hash[i]);
  }
  return id;
}

}  // namespace nodepool::drivers::gce

#include "drivers/ibmvpc/api/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace nodepool::drivers::ibmvpc {

using cloud::Element;
using json::Json;

namespace {

// The text `key` of the object `object`; empty if either is missing.
std::string text_in(const Element& element, const char* object, const char* key) {
  const auto inner = element.optional_object(object);
  return inner ? inner->text_or(key) : std::string();
}

// {"type": "fixed", "value": 4} or {"type": "range", "default": 4, …}.
std::optional<double> amount_in(const Element& profile, const char* key) {
  const auto amount = profile.optional_object(key);
  if (!amount) return std::nullopt;
  const auto value = amount->optional_number("value");
  return value ? value : amount->optional_number("default");
}

// Today's API has `primary_ip`, the one of 2021 had `primary_ipv4_address`. Until the address is
// known, it is 0.0.0.0.
std::string address_of(const Element& interface) {
  std::string address = text_in(interface, "primary_ip", "address");
  if (address.empty()) address = interface.text_or("primary_ipv4_address");
  return address == "0.0.0.0" ? std::string() : address;
}

struct Reason {
  std::string code;
  std::string message;
};

// The first reason of the status; empty if there is none.
Reason reason_in(const Element& element) {
  const std::vector<Element> reasons = element.list("status_reasons");
  if (reasons.empty()) return {};
  return {.code = reasons.front().text_or("code"), .message = reasons.front().text_or("message")};
}

template <std::size_t size>
bool is_one_of(std::string_view word, const std::array<std::string_view, size>& words) {
  return std::ranges::find(words, word) != words.end();
}

Json id_of(const std::string& id) {
  return {{"id", id}};
}

Json ids_of(const std::vector<std::string>& ids) {
  Json all = Json::array();
  for (const std::string& id : ids) all.push_back(id_of(id));
  return all;
}

}  // namespace

bool VpcInstance::is_coming() const {
  constexpr std::array<std::string_view, 4> kComing = {"pending", "waiting", "starting",
                                                       "restarting"};
  return is_one_of(status, kComing);
}

bool VpcInstance::is_off() const {
  constexpr std::array<std::string_view, 4> kOff = {"stopped", "stopping", "paused", "pausing"};
  return is_one_of(status, kOff);
}

VpcInstance read_instance(const Element& instance) {
  VpcInstance read{.id = instance.text("id"),
                   .name = instance.text("name"),
                   .status = instance.text("status"),
                   .reason_code = {},
                   .reason = {},
                   .group = text_in(instance, "resource_group", "name"),
                   .boot_disk_name = text_in(instance, "boot_volume_attachment", "name"),
                   .profile = text_in(instance, "profile", "name"),
                   .zone = text_in(instance, "zone", "name"),
                   .interface_id = {},
                   .private_ipv4 = {}};
  Reason reason = reason_in(instance);
  read.reason_code = std::move(reason.code);
  read.reason = std::move(reason.message);
  if (const auto interface = instance.optional_object("primary_network_interface")) {
    read.interface_id = interface->text_or("id");
    read.private_ipv4 = address_of(*interface);
  }
  return read;
}

std::string state_in_words(const VpcInstance& instance) {
  return fmt::format("instance {} is {}{}{}", instance.name, instance.status,
                     instance.reason.empty() ? "" : ": ", instance.reason);
}

VpcFloatingIp read_floating_ip(const Element& floating_ip) {
  return {.id = floating_ip.text("id"),
          .name = floating_ip.text("name"),
          .group = text_in(floating_ip, "resource_group", "name"),
          .status = floating_ip.text("status"),
          .address = floating_ip.text_or("address"),
          .target = text_in(floating_ip, "target", "id")};
}

// The API of 2021 has `owner_type`, today's has `visibility` instead.
VpcImage read_image(const Element& image) {
  const char* owner_type = image.text_or("visibility") == "public" ? "provider" : "user";
  return {.id = image.text("id"),
          .name = image.text("name"),
          .group = text_in(image, "resource_group", "name"),
          .status = image.text_or("status"),
          .reason = reason_in(image).message,
          .owner_type = image.text_or("owner_type", owner_type),
          .operating_system = image.texts("operating_system")};
}

VpcProfile read_profile(const Element& profile) {
  return {.name = profile.text("name"),
          .cores = amount_in(profile, "vcpu_count"),
          .memory = amount_in(profile, "memory")};
}

VpcThing read_thing(const Element& thing) {
  return {.id = thing.text("id"),
          .name = thing.text("name"),
          .vpc = text_in(thing, "vpc", "id"),
          .zone = text_in(thing, "zone", "name")};
}

Json body_of(const VpcImageRequest& request) {
  return {
      {"name", request.name},
      {"resource_group", id_of(request.group)},
      {"file",
       {{"href", fmt::format("cos://{}/{}/{}", request.location, request.bucket, request.key)}}},
      {"operating_system", {{"name", request.operating_system}}}};
}

Json body_of(const VpcInstanceRequest& request) {
  Json volume = {{"name", request.name}, {"profile", {{"name", request.volume_profile}}}};
  if (request.volume_iops) volume["iops"] = *request.volume_iops;
  Json disk = {{"volume", std::move(volume)}, {"delete_volume_on_instance_delete", true}};
  if (!request.boot_disk_name.empty()) disk["name"] = request.boot_disk_name;
  Json interface = {{"name", "eth0"}, {"subnet", id_of(request.subnet)}};
  if (!request.security_groups.empty()) {
    interface["security_groups"] = ids_of(request.security_groups);
  }
  Json body = {{"name", request.name},
               {"resource_group", id_of(request.group)},
               {"vpc", id_of(request.vpc)},
               {"zone", {{"name", request.zone}}},
               {"profile", {{"name", request.profile}}},
               {"image", request.image_id.empty() ? Json{{"href", request.image_href}}
                                                  : id_of(request.image_id)},
               {"keys", ids_of(request.keys)},
               {"primary_network_interface", std::move(interface)},
               {"boot_volume_attachment", std::move(disk)}};
  if (!request.user_data.empty()) body["user_data"] = request.user_data;
  return body;
}

}  // namespace nodepool::drivers::ibmvpc

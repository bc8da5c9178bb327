#include "drivers/azure/names.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "driver/cloud_error.h"
#include "drivers/azure/api/values.h"
#include "json/json.h"

namespace nodepool::drivers::azure {

namespace {

constexpr std::string_view kHostPrefix = "np";
constexpr std::size_t kMarkBytes = 8;

}  // namespace

model::Json external_id(const std::string& name) {
  return model::json_string(name);
}

std::string machine_name(const model::Json& external_id) {
  json::Json value;
  try {
    value = json::parse(external_id.text);
  } catch (const json::ParseError&) {
    value = nullptr;
  }
  if (!value.is_string() || value.get<std::string>().empty()) {
    throw driver::CloudError(driver::CloudError::Kind::not_found,
                             "invalid external id of a virtual machine: " + external_id.text);
  }
  return lowered(value.get<std::string>());
}

std::string owner_mark(const model::Installation& installation, const std::string& provider) {
  const std::string owner = installation.id + "/" + provider;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  if (::EVP_Digest(owner.data(), owner.size(), digest.data(), nullptr, ::EVP_sha256(), nullptr) !=
      1) {
    throw std::runtime_error("error computing a SHA-256");
  }
  std::string mark;
  for (std::size_t i = 0; i < kMarkBytes; ++i) mark += fmt::format("{:02x}", digest.at(i));
  return mark;
}

PartNames part_names(std::string_view host, std::string_view mark, std::int64_t attempt) {
  const std::string stem = fmt::format("{}-{}-{}-", host, mark, attempt);
  return {.interface = stem + "nic",
          .ipv4_address = stem + "v4-ip",
          .ipv6_address = stem + "v6-ip",
          .disk = stem + "disk"};
}

std::optional<std::string> node_of_part(std::string_view name, std::string_view mark) {
  const std::string text = lowered(std::string(name));
  const std::size_t end = text.find(fmt::format("-{}-", mark));
  if (!text.starts_with(kHostPrefix) || end == std::string::npos) return std::nullopt;
  const std::string node = text.substr(kHostPrefix.size(), end - kHostPrefix.size());
  return model::node_number(node) ? std::optional(node) : std::nullopt;
}

}  // namespace nodepool::drivers::azure

#include "drivers/ibmvpc/config/iam_credentials.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>

namespace nodepool::drivers::ibmvpc {

namespace {

constexpr const char* kFileName = "ibm-credentials.env";
constexpr std::string_view kPrefix = "VPC_";
constexpr const char* kUsualTokenUrl = "https://iam.cloud.ibm.com";
constexpr std::string_view kTokenPath = "/identity/token";

using Properties = std::map<std::string, std::string, std::less<>>;  // without the prefix

void add_property(Properties& properties, std::string_view name, std::string_view value) {
  if (!name.starts_with(kPrefix)) return;
  properties.insert_or_assign(std::string(name.substr(kPrefix.size())), value);
}

std::string trimmed(const std::string& line) {
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t first = line.find_first_not_of(kSpace);
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(kSpace) - first + 1);
}

Properties read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open()) throw IamCredentialError(path + ": cannot be read");
  Properties properties;
  for (std::string line; std::getline(file, line);) {
    const std::string text = trimmed(line);
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      add_property(properties, text.substr(0, equals), text.substr(equals + 1));
    }
  }
  if (file.bad()) throw IamCredentialError(path + ": cannot be read");
  return properties;
}

std::string value_of(const Properties& properties, std::string_view name) {
  const auto found = properties.find(name);
  return found == properties.end() ? std::string() : found->second;
}

std::string token_url(std::string base) {
  if (base.empty()) base = kUsualTokenUrl;
  while (base.ends_with('/')) base.pop_back();
  return base.ends_with(kTokenPath) ? base : base + std::string(kTokenPath);
}

}  // namespace

std::vector<std::string> credentials_files(const std::optional<std::string>& configured,
                                           const config::Environment& environment) {
  if (configured && !configured->empty()) return {*configured};
  const std::string named = config::variable(environment, "IBM_CREDENTIALS_FILE");
  if (!named.empty()) return {named};
  std::vector<std::string> usual = {kFileName};
  const std::string home = config::variable(environment, "HOME");
  if (!home.empty()) usual.push_back(home + "/" + kFileName);
  return usual;
}

IamCredentials find_credentials(const std::optional<std::string>& configured,
                                const config::Environment& environment) {
  const std::vector<std::string> files = credentials_files(configured, environment);
  const bool is_named = files.front() != kFileName;
  const auto exists = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
  };
  const auto file = std::ranges::find_if(files, exists);
  Properties properties;
  if (file != files.end()) {
    properties = read_file(*file);
  } else if (is_named) {
    throw IamCredentialError(files.front() + ": cannot be read");
  }
  if (properties.empty()) {
    for (const auto& [name, value] : environment) add_property(properties, name, value);
  }
  IamCredentials found{.token_url = token_url(value_of(properties, "AUTH_URL"))};
  std::string type = value_of(properties, "AUTH_TYPE");
  if (type.empty()) type = value_of(properties, "AUTHTYPE");
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  if (type.empty() || type == "iam") {
    found.api_key = value_of(properties, "APIKEY");
    if (found.api_key.empty()) {
      throw IamCredentialError(
          "no API key: set VPC_APIKEY in the file of `credentials-file` or the "
          "environment");
    }
  } else if (type == "bearertoken") {
    found.bearer_token = value_of(properties, "BEARER_TOKEN");
    if (found.bearer_token.empty()) throw IamCredentialError("VPC_BEARER_TOKEN is not set");
  } else {
    throw IamCredentialError("credentials of the type `" + type +
                             "` (VPC_AUTH_TYPE) are not supported, only `iam` and `bearerToken`");
  }
  return found;
}

}  // namespace nodepool::drivers::ibmvpc

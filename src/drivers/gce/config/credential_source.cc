#include "drivers/gce/config/credential_source.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "json/json.h"

namespace nodepool::drivers::gce {

namespace {

constexpr std::size_t kMaxFileSize = std::size_t{1} << 20;  // bytes
constexpr const char* kUsualTokenUrl = "https://oauth2.googleapis.com/token";

// The file that gcloud writes; empty if there is no home directory.
std::string gcloud_file(const config::Environment& environment) {
  std::string directory = config::variable(environment, "CLOUDSDK_CONFIG");
  const std::string home = config::variable(environment, "HOME");
  if (directory.empty() && !home.empty()) directory = home + "/.config/gcloud";
  return directory.empty() ? std::string() : directory + "/application_default_credentials.json";
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileSize + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad()) throw CredentialError(path + ": cannot be read");
  if (text.size() > kMaxFileSize) throw CredentialError(path + ": is too large");
  return text;
}

CredentialSource read_file(const std::string& path) {
  json::Json key;
  try {
    key = json::parse(text_of(path));
  } catch (const json::ParseError&) {
    throw CredentialError(path + ": is no JSON");
  }
  if (!key.is_object()) throw CredentialError(path + ": is no JSON object");
  const auto text_or = [&key](const char* name, const char* otherwise) -> std::string {
    const auto found = key.find(name);
    return found != key.end() && found->is_string() ? found->get<std::string>() : otherwise;
  };
  const auto text = [&](const char* name) {
    std::string found = text_or(name, "");
    if (found.empty()) throw CredentialError(path + ": has no `" + name + "`");
    return found;
  };
  CredentialSource source{.token_url = text_or("token_uri", kUsualTokenUrl)};
  const std::string type = text("type");
  if (type == "service_account") {
    source.kind = CredentialSource::Kind::service_account;
    source.email = text("client_email");
    source.private_key = text("private_key");
    source.private_key_id = text_or("private_key_id", "");
  } else if (type == "authorized_user") {
    source.kind = CredentialSource::Kind::authorized_user;
    source.client_id = text("client_id");
    source.client_secret = text("client_secret");
    source.refresh_token = text("refresh_token");
    source.quota_project = text_or("quota_project_id", "");
  } else {
    throw CredentialError(path + ": credentials of the type `" + type +
                          "` are not supported, only `service_account` and `authorized_user`");
  }
  return source;
}

}  // namespace

CredentialSource find_credentials(const config::Environment& environment) {
  const std::string named = config::variable(environment, "GOOGLE_APPLICATION_CREDENTIALS");
  if (!named.empty()) return read_file(named);
  const std::string of_gcloud = gcloud_file(environment);
  std::error_code ignored;
  if (!of_gcloud.empty() && std::filesystem::exists(of_gcloud, ignored)) {
    return read_file(of_gcloud);
  }
  std::string host = config::variable(environment, "GCE_METADATA_HOST");
  if (host.empty()) host = "metadata.google.internal";
  return {.token_url =
              "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token"};
}

std::set<std::string> credential_files(const config::Environment& environment) {
  std::set<std::string> names = {config::variable(environment, "GOOGLE_APPLICATION_CREDENTIALS"),
                                 gcloud_file(environment)};
  names.erase("");
  return names;
}

}  // namespace nodepool::drivers::gce

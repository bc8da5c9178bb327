#include "drivers/gce/config/credential_source.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

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

// An object with texts, in a file.
class Texts {
 public:
  Texts(std::string path, const json::Json& object) : path_(std::move(path)), object_(object) {
    if (!object_.is_object()) throw CredentialError(path_ + ": is no JSON object");
  }

  std::string text_or(const char* name, const char* otherwise) const {
    const auto found = object_.find(name);
    return found != object_.end() && found->is_string() ? found->get<std::string>() : otherwise;
  }
  std::string text(const char* name) const {
    std::string found = text_or(name, "");
    if (found.empty()) throw CredentialError(path_ + ": has no `" + name + "`");
    return found;
  }
  // An object in it; empty if there is none.
  Texts part(const char* name) const {
    const auto found = object_.find(name);
    const bool is_there = found != object_.end() && found->is_object();
    return {path_, is_there ? *found : json::Json::object()};
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  json::Json object_;
};

void read_external_account(const Texts& key, CredentialSource& source) {
  source.kind = CredentialSource::Kind::external_account;
  source.token_url = key.text("token_url");
  source.audience = key.text("audience");
  source.subject_token_type = key.text("subject_token_type");
  source.impersonation_url = key.text_or("service_account_impersonation_url", "");
  const Texts from = key.part("credential_source");
  source.subject_token_file = from.text_or("file", "");
  if (source.subject_token_file.empty()) {
    throw CredentialError(key.path() + ": only tokens in a `file` are supported");
  }
  const Texts format = from.part("format");
  if (format.text_or("type", "text") == "json") {
    source.subject_token_field = format.text("subject_token_field_name");
  }
}

CredentialSource read_file(const std::string& path) {
  json::Json content;
  try {
    content = json::parse(text_of(path));
  } catch (const json::ParseError&) {
    throw CredentialError(path + ": is no JSON");
  }
  const Texts key(path, content);
  CredentialSource source{.token_url = key.text_or("token_uri", kUsualTokenUrl)};
  const std::string type = key.text("type");
  if (type == "service_account") {
    source.kind = CredentialSource::Kind::service_account;
    source.email = key.text("client_email");
    source.private_key = key.text("private_key");
    source.private_key_id = key.text_or("private_key_id", "");
  } else if (type == "authorized_user") {
    source.kind = CredentialSource::Kind::authorized_user;
    source.client_id = key.text("client_id");
    source.client_secret = key.text("client_secret");
    source.refresh_token = key.text("refresh_token");
    source.quota_project = key.text_or("quota_project_id", "");
  } else if (type == "external_account") {
    read_external_account(key, source);
  } else {
    throw CredentialError(path + ": credentials of the type `" + type +
                          "` are not supported, only `service_account`, `authorized_user` and "
                          "`external_account`");
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

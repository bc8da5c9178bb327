#include "drivers/gce/config/credential_source.h"

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "config/command_line.h"
#include "json/json.h"

namespace nodepool::drivers::gce {

namespace {

constexpr std::size_t kMaxFileSize = std::size_t{1} << 20;  // bytes
constexpr const char* kUsualTokenUrl = "https://oauth2.googleapis.com/token";
// Of programs, in milliseconds.
constexpr std::int64_t kUsualTimeLimit = 30'000;
constexpr std::int64_t kShortestTimeLimit = 5'000;
constexpr std::int64_t kLongestTimeLimit = 120'000;

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

// An object in a file.
class KeyObject {
 public:
  KeyObject(std::string path, const json::Json& object) : path_(std::move(path)), object_(object) {
    if (!object_.is_object()) throw CredentialError(path_ + ": is no JSON object");
  }

  bool has(const char* name) const { return object_.contains(name); }
  std::string text_or(const char* name, const char* otherwise) const {
    const auto found = object_.find(name);
    return found != object_.end() && found->is_string() ? found->get<std::string>() : otherwise;
  }
  std::string text(const char* name) const {
    std::string found = text_or(name, "");
    if (found.empty()) throw error(std::string("has no `") + name + "`");
    return found;
  }
  // The texts of a list in it; empty if there is none.
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> found;
    const auto list = object_.find(name);
    if (list == object_.end() || !list->is_array()) return found;
    for (const json::Json& item : *list) {
      if (item.is_string()) found.push_back(item.get<std::string>());
    }
    return found;
  }
  // The names and values of its texts.
  std::vector<std::pair<std::string, std::string>> own_texts() const {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [name, value] : object_.items()) {
      if (value.is_string()) found.emplace_back(name, value.get<std::string>());
    }
    return found;
  }
  std::int64_t integer_or(const char* name, std::int64_t otherwise) const {
    const auto found = object_.find(name);
    if (found == object_.end() || found->is_null()) return otherwise;
    if (!found->is_number_integer()) throw error(std::string("`") + name + "` is no integer");
    return found->get<std::int64_t>();
  }
  // An object in it; empty if there is none.
  KeyObject part(const char* name) const {
    const auto found = object_.find(name);
    const bool is_there = found != object_.end() && found->is_object();
    return {path_, is_there ? *found : json::Json::object()};
  }
  CredentialError error(const std::string& problem) const {
    return CredentialError(path_ + ": " + problem);
  }

 private:
  std::string path_;
  json::Json object_;
};

// The address of the service account in the URL of generateAccessToken; empty without a URL.
std::string service_account_in(const std::string& url) {
  const std::size_t end = url.rfind(':');
  const std::size_t begin = url.rfind('/', end) + 1;
  return url.substr(begin, end - begin);
}

// Source: https://google.aip.dev/auth/4117, executable-sourced credentials.
void read_program(const KeyObject& executable, const config::Environment& environment,
                  CredentialSource& source) {
  if (config::variable(environment, "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES") != "1") {
    throw executable.error(
        "an `executable` runs only with "
        "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 in the environment");
  }
  SubjectTokenSource& token = source.subject_token;
  const std::string command = executable.text("command");
  try {
    token.program = config::split_command(command);
  } catch (const std::runtime_error&) {  // its text may contain a secret
    throw executable.error("`command` is no valid command");
  }
  std::int64_t limit = executable.integer_or("timeout_millis", 0);
  if (limit == 0) limit = kUsualTimeLimit;
  if (limit < kShortestTimeLimit || limit > kLongestTimeLimit) {
    throw executable.error("`timeout_millis` must be between 5000 and 120000");
  }
  token.time_limit = std::chrono::milliseconds(limit);
  const std::string service_account = service_account_in(source.impersonation_url);
  token.variables = {{"GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", source.audience},
                     {"GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", source.subject_token_type},
                     {"GOOGLE_EXTERNAL_ACCOUNT_ID", service_account},
                     {"GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "0"},
                     {"GOOGLE_EXTERNAL_ACCOUNT_REVOKE", "0"}};
  if (!service_account.empty()) {
    token.variables.emplace_back("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL", service_account);
  }
  const std::string output_file = executable.text_or("output_file", "");
  if (!output_file.empty()) {
    token.variables.emplace_back("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE", output_file);
  }
}

void read_external_account(const KeyObject& key, const config::Environment& environment,
                           CredentialSource& source) {
  source.kind = CredentialSource::Kind::external_account;
  source.token_url = key.text("token_url");
  source.audience = key.text("audience");
  source.subject_token_type = key.text("subject_token_type");
  source.impersonation_url = key.text_or("service_account_impersonation_url", "");
  const KeyObject from = key.part("credential_source");
  SubjectTokenSource& token = source.subject_token;
  // The source of AWS has an `environment_id`, and a `url` with another meaning.
  if (!from.has("environment_id")) {
    token.file = from.text_or("file", "");
    token.url = from.text_or("url", "");
    if (from.has("executable")) return read_program(from.part("executable"), environment, source);
  }
  if (token.file.empty() == token.url.empty()) {
    throw key.error(
        "the token of an external account must be in a `file`, at a `url` or of an `executable`: "
        "others, such as AWS's, are not supported");
  }
  token.headers = from.part("headers").own_texts();
  const KeyObject format = from.part("format");
  if (format.text_or("type", "text") == "json") {
    token.field = format.text("subject_token_field_name");
  }
}

CredentialSource read_key(const KeyObject& key, const config::Environment& environment);

// Other credentials, which may act as a service account.
CredentialSource read_impersonation(const KeyObject& key, const config::Environment& environment) {
  CredentialSource source = read_key(key.part("source_credentials"), environment);
  if (!source.impersonation_url.empty()) {
    throw key.error("its `source_credentials` must not act as another service account");
  }
  source.impersonation_url = key.text("service_account_impersonation_url");
  source.delegates = key.texts("delegates");
  return source;
}

CredentialSource read_key(const KeyObject& key, const config::Environment& environment) {
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
  } else if (type == "external_account") {
    read_external_account(key, environment, source);
  } else if (type == "impersonated_service_account") {
    source = read_impersonation(key, environment);
  } else {
    throw key.error("credentials of the type `" + type +
                    "` are not supported, only `service_account`, `authorized_user`, "
                    "`external_account` and `impersonated_service_account`");
  }
  // Google's own library ignores it in the key of a service account.
  if (type != "service_account") source.quota_project = key.text_or("quota_project_id", "");
  return source;
}

CredentialSource read_file(const std::string& path, const config::Environment& environment) {
  json::Json content;
  try {
    content = json::parse(text_of(path));
  } catch (const json::ParseError&) {
    throw CredentialError(path + ": is no JSON");
  }
  return read_key(KeyObject(path, content), environment);
}

}  // namespace

CredentialSource find_credentials(const config::Environment& environment) {
  const std::string named = config::variable(environment, "GOOGLE_APPLICATION_CREDENTIALS");
  if (!named.empty()) return read_file(named, environment);
  const std::string of_gcloud = gcloud_file(environment);
  std::error_code ignored;
  if (!of_gcloud.empty() && std::filesystem::exists(of_gcloud, ignored)) {
    return read_file(of_gcloud, environment);
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

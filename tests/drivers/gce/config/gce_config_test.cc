#include "drivers/gce/config/gce_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/gce/config/gce_schema.h"
#include "tests/drivers/provider_config_test.h"

namespace nodepool::drivers::gce {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

class GceConfigTest : public ProviderConfigTest {
 protected:
  GceConfigTest() : ProviderConfigTest({.schemas = {{"gce", &gce_schema()}}}) {}

  std::shared_ptr<const GceConfig> load(const std::string& text) {
    const config::Config config = read(text);
    return std::make_shared<GceConfig>(config.providers.at(0), config, environment_);
  }

  std::string load_error(const std::string& text) {
    return error_of([&] { load(text)->require_files(); });
  }

  config::Environment environment_;
};

// That of the Python Nodepool's own tests.
constexpr const char* kOfPython = R"(
labels: [{name: debian-stretch-f1-micro}]
providers:
  - name: gcloud-provider
    driver: gce
    project: gcloud-project
    region: us-central1
    zone: us-central1-a
    cloud-images:
      - name: debian-stretch
        image-project: debian-cloud
        image-family: debian-9
        username: zuul
        key: ssh-rsa something zuul
    pools:
      - name: main
        max-servers: 8
        use-internal-ip: True
        node-attributes:
          key1: value1
          key2: value2
        labels:
          - name: debian-stretch-f1-micro
            instance-type: f1-micro
            cloud-image: debian-stretch
            volume-type: standard
            volume-size: 10
)";

TEST_F(GceConfigTest, a_configuration_of_the_python_nodepool_is_read) {
  EXPECT_THAT(problems(kOfPython), IsEmpty());
  const auto config = load(kOfPython);
  EXPECT_EQ(config->account().project, "gcloud-project");
  EXPECT_EQ(config->account().region, "us-central1");
  EXPECT_EQ(config->account().zone, "us-central1-a");
  EXPECT_EQ(config->account().base_url, "https://compute.googleapis.com/compute/v1");
  EXPECT_EQ(config->pools().at("main").max_servers, 8);
  EXPECT_TRUE(config->machine_pool("main").use_internal_ip);
  const GceLabel& label = config->label("main", "debian-stretch-f1-micro");
  EXPECT_EQ(label.instance_type, "f1-micro");
  EXPECT_EQ(label.volume_type, "standard");
  EXPECT_EQ(label.volume_size, 10);
  EXPECT_EQ(label.ssh_key, "zuul:ssh-rsa something zuul");
  EXPECT_EQ(label.image->project, "debian-cloud");
  EXPECT_EQ(label.image->family, "debian-9");
  EXPECT_EQ(config->machine_label("main", "debian-stretch-f1-micro").access.username, "zuul");
}

constexpr const char* kLeast = R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: gce
    project: p
    region: north-1
    zone: north-1-a
    cloud-images: [{name: jammy}]
    pools:
      - name: main
        labels: [{name: small, cloud-image: jammy, instance-type: e2-small}]
)";

// A provider that differs from kLeast in one place.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kLeast;
  return text.replace(text.find(from), from.size(), to);
}

TEST_F(GceConfigTest, everything_has_its_documented_default) {
  EXPECT_THAT(problems(kLeast), IsEmpty());
  const auto config = load(kLeast);
  EXPECT_EQ(config->rate(), 2);
  EXPECT_EQ(config->boot_timeout(), 60s);
  EXPECT_EQ(config->launch_timeout(), 3600s);
  EXPECT_EQ(config->launch_retries(), 3);
  EXPECT_FALSE(config->machine_pool("main").use_internal_ip);
  const driver::MachineLabel& machine = config->machine_label("main", "small");
  EXPECT_TRUE(machine.host_key_checking);
  EXPECT_FALSE(machine.console_log);
  EXPECT_EQ(machine.access.username, std::nullopt);
  EXPECT_EQ(machine.access.python_path, "auto");
  EXPECT_EQ(machine.access.connection_type, "ssh");
  EXPECT_EQ(machine.access.connection_port, 22);
  const GceLabel& label = config->label("main", "small");
  EXPECT_EQ(label.volume_type, "pd-standard");
  EXPECT_EQ(label.volume_size, 10);
  EXPECT_EQ(label.ssh_key, "");
  EXPECT_EQ(label.network, "global/networks/default");
  EXPECT_EQ(label.subnetwork, "");
  EXPECT_THAT(label.metadata, IsEmpty());
  EXPECT_THAT(label.labels, IsEmpty());
}

TEST_F(GceConfigTest, every_key_is_read) {
  const std::string text = changed("zone: north-1-a",
                                   "zone: north-1-a\n"
                                   "    rate-limit: 5\n"
                                   "    boot-timeout: 10\n"
                                   "    launch-timeout: 20\n"
                                   "    launch-retries: 1");
  EXPECT_THAT(problems(text), IsEmpty());
  const auto config = load(text);
  EXPECT_EQ(config->rate(), 2) << "`rate-limit` has no effect";
  EXPECT_EQ(config->boot_timeout(), 10s);
  EXPECT_EQ(config->launch_timeout(), 20s);
  EXPECT_EQ(config->launch_retries(), 1);
  const auto with_image =
      load(changed("name: jammy",
                   "name: jammy, image-id: i, image-project: a, image-family: f, username: u,\n"
                   "                     key: k, python-path: p, shell-type: s, connection-type: "
                   "winrm"));
  const driver::ImageAccess& access = with_image->machine_label("main", "small").access;
  EXPECT_EQ(access.connection_port, 5986);
  EXPECT_EQ(access.python_path, "p");
  EXPECT_EQ(access.shell_type, "s");
  EXPECT_EQ(with_image->label("main", "small").image->id, "i");
  const auto with_disk = load(changed("e2-small",
                                      "e2-small, volume-type: pd-ssd, volume-size: 50,"
                                      " console-log: true"));
  EXPECT_EQ(with_disk->label("main", "small").volume_type, "pd-ssd");
  EXPECT_EQ(with_disk->label("main", "small").volume_size, 50);
  EXPECT_TRUE(with_disk->machine_label("main", "small").console_log);
}

TEST_F(GceConfigTest, the_size_of_a_disk_and_a_port_may_be_texts) {
  const auto config = load(changed("e2-small", "e2-small, volume-size: '50'"));
  EXPECT_EQ(config->label("main", "small").volume_size, 50);
  const auto with_port = load(changed("name: jammy", "name: jammy, connection-port: '2222'"));
  EXPECT_EQ(with_port->machine_label("main", "small").access.connection_port, 2222);
}

TEST_F(GceConfigTest, networks_are_names_or_paths) {
  const auto label_in = [this](const std::string& keys) {
    const std::string text = changed("- name: main", "- name: main\n        " + keys);
    EXPECT_THAT(problems(text), IsEmpty());
    return load(text)->label("main", "small");
  };
  EXPECT_EQ(label_in("network: ci").network, "global/networks/ci");
  EXPECT_EQ(label_in("network: projects/other/global/networks/ci").network,
            "projects/other/global/networks/ci");
  const GceLabel inside = label_in("subnetwork: ci");
  EXPECT_EQ(inside.network, "");
  EXPECT_EQ(inside.subnetwork, "regions/north-1/subnetworks/ci");
  EXPECT_EQ(label_in("subnetwork: projects/other/regions/north-1/subnetworks/ci").subnetwork,
            "projects/other/regions/north-1/subnetworks/ci");
}

TEST_F(GceConfigTest, metadata_and_labels_are_read) {
  const std::string text = changed("e2-small",
                                   "e2-small, labels: {team: infra},"
                                   " metadata: {startup-script: run, enable-oslogin: \"TRUE\"}");
  EXPECT_THAT(problems(text), IsEmpty());
  const auto config = load(text);
  const GceLabel& label = config->label("main", "small");
  EXPECT_THAT(label.labels, ElementsAre(Pair("team", "infra")));
  EXPECT_THAT(label.metadata,
              ElementsAre(Pair("enable-oslogin", "TRUE"), Pair("startup-script", "run")));
}

TEST_F(GceConfigTest, metadata_that_nodepool_sets_cannot_be_set) {
  for (const char* key : {"ssh-keys", "nodepool_node_id", "nodepool_anything"}) {
    const std::string metadata = std::string("e2-small, metadata: {") + key + ": x}";
    EXPECT_THAT(load_error(changed("e2-small", metadata)),
                AllOf(HasSubstr("providers[0] (sky).pools[0].labels[0].metadata"),
                      HasSubstr("sets `" + std::string(key) + "` itself")));
  }
}

TEST_F(GceConfigTest, what_only_daemons_accept_is_refused_by_the_strict_check) {
  std::string text = changed("zone: north-1-a", "zone: north-1-a\n    rate: 0.5");
  text.replace(text.find("- name: main"), 12, "- name: main\n        host-key-checking: false");
  EXPECT_EQ(problems(text).size(), 2U);
  const auto config = load(text);
  EXPECT_EQ(config->rate(), 0.5);
  EXPECT_FALSE(config->machine_label("main", "small").host_key_checking);
}

TEST_F(GceConfigTest, mistakes_are_reported_with_their_position) {
  EXPECT_THAT(problems(changed("zone: north-1-a", "zona: north-1-a")),
              ElementsAre(HasSubstr("f:4:5: providers[0] (sky): the key `zone` is missing"),
                          HasSubstr("f:8:5: providers[0] (sky): unknown key `zona`")));
  EXPECT_THAT(problems(changed("instance-type: e2-small", "flavor-name: e2-small")),
              ElementsAre(HasSubstr("the key `instance-type` is missing"),
                          HasSubstr("unknown key `flavor-name`")));
  EXPECT_THAT(load_error(changed("cloud-image: jammy", "cloud-image: gone")),
              HasSubstr(":12:45: providers[0] (sky).pools[0].labels[0].cloud-image: "
                        "the provider has no cloud image `gone`"));
  EXPECT_THAT(load_error(changed("name: small, cloud", "name: big, cloud")), HasSubstr("`big`"));
}

// --- credentials

TEST_F(GceConfigTest, credentials_are_in_the_file_of_the_variable) {
  const std::string path =
      directory_.write("key.json",
                       R"({"type": "service_account", "client_email": "ci@p", "private_key_id": "7",
          "private_key": "PEM", "token_uri": "http://localhost/token", "quota_project_id": "q"})");
  environment_ = {{"GOOGLE_APPLICATION_CREDENTIALS", path}};
  EXPECT_EQ(load(kLeast)->account().credentials,
            (CredentialSource{.kind = CredentialSource::Kind::service_account,
                              .token_url = "http://localhost/token",
                              .email = "ci@p",
                              .private_key_id = "7",
                              .private_key = "PEM"}))
      << "the quota project of a key does not count";
  EXPECT_THAT(credential_files(environment_), ElementsAre(path));
}

TEST_F(GceConfigTest, credentials_are_those_of_gclouds_user) {
  const std::string path =
      directory_.write("application_default_credentials.json",
                       R"({"type": "authorized_user", "client_id": "c", "client_secret": "s",
          "refresh_token": "r", "quota_project_id": "q"})");
  environment_ = {{"CLOUDSDK_CONFIG", path.substr(0, path.rfind('/'))}};
  EXPECT_EQ(load(kLeast)->account().credentials,
            (CredentialSource{.kind = CredentialSource::Kind::authorized_user,
                              .token_url = "https://oauth2.googleapis.com/token",
                              .client_id = "c",
                              .client_secret = "s",
                              .refresh_token = "r",
                              .quota_project = "q"}));
  EXPECT_THAT(credential_files(environment_), ElementsAre(path));
  EXPECT_THAT(credential_files({{"HOME", "/home/ci"}}),
              ElementsAre("/home/ci/.config/gcloud/application_default_credentials.json"));
}

TEST_F(GceConfigTest, credentials_are_those_of_the_machine) {
  environment_ = {{"HOME", "/nowhere"}};
  const auto token_url = [this] { return load(kLeast)->account().credentials.token_url; };
  EXPECT_EQ(token_url(),
            "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/"
            "token");
  environment_.emplace_back("GCE_METADATA_HOST", "127.0.0.1:1");
  EXPECT_THAT(token_url(), testing::StartsWith("http://127.0.0.1:1/computeMetadata/"));
}

TEST_F(GceConfigTest, credentials_that_cannot_be_used_are_an_error_without_secrets) {
  const auto error_with = [this](const std::string& text) {
    environment_ = {{"GOOGLE_APPLICATION_CREDENTIALS", directory_.write("key.json", text)}};
    return load_error(kLeast);
  };
  EXPECT_THAT(error_with("PRIVATE"), AllOf(HasSubstr("nodepool.yaml:6:14: "),
                                           HasSubstr("is no JSON"), Not(HasSubstr("PRIVATE"))));
  EXPECT_THAT(error_with("[]"), HasSubstr("is no JSON object"));
  EXPECT_THAT(error_with(R"({"type": "service_account", "private_key": "PRIVATE"})"),
              AllOf(HasSubstr("has no `client_email`"), Not(HasSubstr("PRIVATE"))));
  EXPECT_THAT(error_with(R"({"type": "gdch_service_account"})"),
              HasSubstr("credentials of the type `gdch_service_account` are not supported"));
  EXPECT_THAT(error_with(R"({"type": "external_account", "token_url": "u", "audience": "a",
                             "subject_token_type": "t", "credential_source":
                             {"environment_id": "aws1", "url": "x"}})"),
              HasSubstr("must be in a `file`, at a `url` or of an `executable`"));
  environment_ = {{"GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json"}};
  EXPECT_THAT(load_error(kLeast), HasSubstr("/nowhere/key.json: cannot be read"));
}

// The beginning of an external account's file.
constexpr const char* kExternal = R"({"type": "external_account", "token_url": "u",
    "audience": "//iam/pool", "subject_token_type": "jwt", "quota_project_id": "q",
    "service_account_impersonation_url": "https://iam/v1/projects/-/ci@p:generateAccessToken",
    "credential_source": )";

TEST_F(GceConfigTest, external_accounts_have_their_token_at_a_url) {
  const std::string source = R"({"url": "http://identity/token", "headers": {"Metadata": "True"},
      "format": {"type": "json", "subject_token_field_name": "access_token"}}})";
  environment_ = {
      {"GOOGLE_APPLICATION_CREDENTIALS", directory_.write("key.json", kExternal + source)}};
  const auto provider = load(kLeast);
  EXPECT_EQ(provider->account().credentials.quota_project, "q");
  EXPECT_EQ(provider->account().credentials.subject_token,
            (SubjectTokenSource{.url = "http://identity/token",
                                .headers = {{"Metadata", "True"}},
                                .field = "access_token"}));
}

TEST_F(GceConfigTest, external_accounts_have_a_program_only_with_permission) {
  const auto write = [this](const std::string& executable) {
    return directory_.write("key.json", kExternal + (R"({"executable": )" + executable) + "}}");
  };
  environment_ = {
      {"GOOGLE_APPLICATION_CREDENTIALS",
       write(R"({"command": "/opt/token --for 'the ci'", "output_file": "/run/output"})")}};
  EXPECT_THAT(load_error(kLeast), HasSubstr("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1"));
  environment_.emplace_back("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
  const auto provider = load(kLeast);
  const SubjectTokenSource& token = provider->account().credentials.subject_token;
  EXPECT_THAT(token.program, ElementsAre("/opt/token", "--for", "the ci"));
  EXPECT_EQ(token.time_limit, 30s);
  EXPECT_THAT(token.variables,
              ElementsAre(Pair("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", "//iam/pool"),
                          Pair("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", "jwt"),
                          Pair("GOOGLE_EXTERNAL_ACCOUNT_ID", "ci@p"),
                          Pair("GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "0"),
                          Pair("GOOGLE_EXTERNAL_ACCOUNT_REVOKE", "0"),
                          Pair("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL", "ci@p"),
                          Pair("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE", "/run/output")));
  write(R"({"command": "/opt/token 'HUSH"})");
  EXPECT_THAT(load_error(kLeast),
              AllOf(HasSubstr("`command` is no valid command"), Not(HasSubstr("HUSH"))));
  write(R"({"command": "/opt/token", "timeout_millis": 1})");
  EXPECT_THAT(load_error(kLeast), HasSubstr("`timeout_millis` must be between 5000 and 120000"));
}

TEST_F(GceConfigTest, programs_of_external_accounts_have_defaults) {
  for (const char* limit : {"0", "null"}) {
    const std::string path =
        directory_.write("key.json", std::string(R"({"type": "external_account", "token_url": "u",
            "audience": "a", "subject_token_type": "t", "credential_source": {"executable":
                {"command": "/opt/token", "timeout_millis": )") +
                                         limit + "}}}");
    environment_ = {{"GOOGLE_APPLICATION_CREDENTIALS", path},
                    {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1"}};
    const auto provider = load(kLeast);
    const SubjectTokenSource& token = provider->account().credentials.subject_token;
    EXPECT_EQ(token.time_limit, 30s) << limit;
    EXPECT_THAT(token.variables, ElementsAre(Pair("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", "a"),
                                             Pair("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", "t"),
                                             Pair("GOOGLE_EXTERNAL_ACCOUNT_ID", ""),
                                             Pair("GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "0"),
                                             Pair("GOOGLE_EXTERNAL_ACCOUNT_REVOKE", "0")));
  }
}

// As written by `gcloud auth application-default login --impersonate-service-account`.
TEST_F(GceConfigTest, credentials_may_act_as_a_service_account) {
  environment_ = {{"GOOGLE_APPLICATION_CREDENTIALS",
                   directory_.write("key.json", R"({"type": "impersonated_service_account",
      "service_account_impersonation_url": "https://iam/ci:generateAccessToken",
      "delegates": ["between"], "quota_project_id": "q", "source_credentials": {
          "type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r",
          "quota_project_id": "other"}})")}};
  EXPECT_EQ(load(kLeast)->account().credentials,
            (CredentialSource{.kind = CredentialSource::Kind::authorized_user,
                              .token_url = "https://oauth2.googleapis.com/token",
                              .client_id = "c",
                              .client_secret = "s",
                              .refresh_token = "r",
                              .impersonation_url = "https://iam/ci:generateAccessToken",
                              .delegates = {"between"},
                              .quota_project = "q"}));
  directory_.write("key.json",
                   R"({"type": "impersonated_service_account", "source_credentials": )" +
                       (kExternal + std::string(R"({"file": "/run/token"}}})")));
  EXPECT_THAT(load_error(kLeast), HasSubstr("must not act as another service account"));
}

TEST_F(GceConfigTest, external_accounts_have_their_token_in_a_file) {
  environment_ = {{"GOOGLE_APPLICATION_CREDENTIALS",
                   directory_.write("key.json", R"({"type": "external_account",
      "token_url": "https://sts.googleapis.com/v1/token", "audience": "//iam/pool",
      "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
      "service_account_impersonation_url": "https://iam/ci:generateAccessToken",
      "credential_source": {"file": "/run/token", "format":
          {"type": "json", "subject_token_field_name": "id_token"}}})")}};
  const auto provider = load(kLeast);
  const CredentialSource& source = provider->account().credentials;
  EXPECT_EQ(source.kind, CredentialSource::Kind::external_account);
  EXPECT_EQ(source.token_url, "https://sts.googleapis.com/v1/token");
  EXPECT_EQ(source.audience, "//iam/pool");
  EXPECT_EQ(source.subject_token_type, "urn:ietf:params:oauth:token-type:jwt");
  EXPECT_EQ(source.subject_token.file, "/run/token");
  EXPECT_EQ(source.subject_token.field, "id_token");
  EXPECT_EQ(source.impersonation_url, "https://iam/ci:generateAccessToken");
}

TEST_F(GceConfigTest, another_account_is_another_provider) {
  const auto one = load(kLeast);
  EXPECT_TRUE(one->same_as(*load(kLeast)));
  environment_ = {{"CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", "http://localhost:1/compute/v1/"}};
  const auto other = load(kLeast);
  EXPECT_FALSE(one->same_as(*other));
  EXPECT_EQ(other->account().base_url, "http://localhost:1/compute/v1");
}

TEST_F(GceConfigTest, the_environment_names_authorities) {
  const std::string private_ca = directory_.write("private.pem", "");
  environment_.emplace_back("REQUESTS_CA_BUNDLE", "/no/such/ca.pem");
  EXPECT_EQ(load(kLeast)->account().ca_file, "");
  environment_.emplace_back("HTTPLIB2_CA_CERTS", private_ca);
  EXPECT_EQ(load(kLeast)->account().ca_file, private_ca);
  std::filesystem::remove(private_ca);
  EXPECT_THAT(load_error(kLeast), HasSubstr("HTTPLIB2_CA_CERTS: " + private_ca + ": "));
}

}  // namespace
}  // namespace nodepool::drivers::gce

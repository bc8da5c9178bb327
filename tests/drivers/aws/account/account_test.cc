#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/aws/account/find_account.h"
#include "drivers/aws/account/profile_files.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::aws {
namespace {

using testing::HasSubstr;
using testing::Not;
using Kind = CredentialSource::Kind;

class AccountTest : public testing::Test {
 protected:
  AccountTest() { set("HOME", "/nonexistent"); }

  void set(const std::string& name, const std::string& value) {
    environment_.emplace_back(name, value);
  }
  void write_config(const std::string& text) {
    set("AWS_CONFIG_FILE", directory_.write("config", text));
  }
  void write_credentials(const std::string& text) {
    set("AWS_SHARED_CREDENTIALS_FILE", directory_.write("credentials", text));
  }

  Account find(const std::optional<std::string>& profile = {},
               const std::optional<std::string>& region = "north-1") {
    return find_account(profile, region, environment_);
  }
  std::string error(const std::optional<std::string>& profile = {},
                    const std::optional<std::string>& region = "north-1") {
    try {
      find(profile, region);
    } catch (const AccountError& error) {
      return error.what();
    }
    return "accepted";
  }

  test_support::TemporaryDirectory directory_;
  config::Environment environment_;
};

TEST_F(AccountTest, keys_of_the_environment_come_first) {
  write_credentials("[default]\naws_access_key_id = file\naws_secret_access_key = s\n");
  set("AWS_ACCESS_KEY_ID", "a");
  set("AWS_SECRET_ACCESS_KEY", "b");
  set("AWS_SESSION_TOKEN", "c");
  EXPECT_EQ(find().credentials.keys, (Keys{"a", "b", "c"}));
}

TEST_F(AccountTest, a_profile_that_is_named_goes_over_the_environment) {
  write_credentials("[ci]\naws_access_key_id = file\naws_secret_access_key = s # mine\n");
  set("AWS_ACCESS_KEY_ID", "a");
  set("AWS_SECRET_ACCESS_KEY", "b");
  EXPECT_EQ(find("ci").credentials.keys, (Keys{"file", "s", ""}));
  EXPECT_THAT(error("other"), HasSubstr("no profile `other`"));
}

TEST_F(AccountTest, a_profile_s_region_counts_where_none_is_configured) {
  write_config(
      "[profile ci]\nregion = south-1\naws_access_key_id = a\naws_secret_access_key = b\n");
  set("AWS_PROFILE", "ci");
  EXPECT_EQ(find().region, "north-1");
  EXPECT_EQ(find({}, std::nullopt).region, "south-1");
  set("AWS_DEFAULT_REGION", "east-1");
  EXPECT_EQ(find({}, std::nullopt).region, "east-1");
}

TEST_F(AccountTest, without_a_region_nothing_can_be_called) {
  EXPECT_THAT(error({}, std::nullopt), HasSubstr("no region is set"));
}

TEST_F(AccountTest, a_role_is_assumed_with_the_keys_of_another_profile) {
  write_config(
      "[profile ci]\nrole_arn = arn:role\nsource_profile = base\nexternal_id = x\n"
      "duration_seconds = 900\n[profile base]\naws_access_key_id = a\naws_secret_access_key = b\n");
  const CredentialSource source = find("ci").credentials;
  EXPECT_EQ(source.kind, Kind::assumed_role);
  EXPECT_EQ(source.role_arn, "arn:role");
  EXPECT_EQ(source.external_id, "x");
  EXPECT_EQ(source.session_name, "nodepool");
  EXPECT_EQ(source.duration, 900);
  EXPECT_EQ(source.base.at(0).keys, (Keys{"a", "b", ""}));
}

TEST_F(AccountTest, roles_that_lead_nowhere_are_refused) {
  write_config(
      "[profile alone]\nrole_arn = r\n[profile a]\nrole_arn = r\nsource_profile = b\n"
      "[profile b]\nrole_arn = r\nsource_profile = a\n[profile long]\nrole_arn = r\n"
      "source_profile = b\nduration_seconds = 10\n[profile mfa]\nrole_arn = r\nmfa_serial = m\n");
  EXPECT_THAT(error("alone"), HasSubstr("neither `source_profile` nor `credential_source`"));
  EXPECT_THAT(error("a"), HasSubstr("is its own `source_profile`"));
  EXPECT_THAT(error("long"), HasSubstr("`duration_seconds` is no number >= 900"));
  EXPECT_THAT(error("mfa"), HasSubstr("`mfa_serial` is not supported"));
}

TEST_F(AccountTest, a_profile_with_only_a_sign_in_is_rejected_with_the_remedy) {
  const std::string sign_in = "sso_session = corp\nsso_account_id = 123\nsso_role_name = builder\n";
  write_config("[profile ci]\n" + sign_in + "[profile role]\nrole_arn = r\nsource_profile = ci\n" +
               "[profile program]\n" + sign_in + "credential_process = /opt/keys\n" +
               "[profile keys]\n" + sign_in + "[sso-session corp]\nsso_start_url = u\n");
  write_credentials("[keys]\naws_access_key_id = a\naws_secret_access_key = b\n[old]\n" + sign_in);
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/keys");
  const std::string refusal = directory_.path() /
                              "config: the only credentials of profile `ci` are a sign-in to IAM "
                              "Identity Center (`sso_…`), which is not supported; add "
                              "`credential_process = aws configure export-credentials --profile ci "
                              "--format process` to the profile";
  EXPECT_EQ(error("ci"), refusal);
  EXPECT_EQ(error("role"), refusal);
  EXPECT_THAT(error("old"), HasSubstr("credentials: the only credentials of profile `old`"));
  EXPECT_EQ(find("program").credentials.kind, Kind::program);
  EXPECT_EQ(find("keys").credentials.keys, (Keys{"a", "b", ""}));
}

TEST_F(AccountTest, a_program_is_run_where_there_are_no_keys_in_the_credentials) {
  write_config(
      "[profile ci]\ncredential_process = /opt/keys --for \"the ci\"\naws_access_key_id = a\n"
      "aws_secret_access_key = b\n[profile broken]\ncredential_process = /opt/keys 'hush\n"
      "[profile role]\nrole_arn = r\nsource_profile = shared\n"
      "[profile shared]\ncredential_process = /opt/shared\n");
  const CredentialSource source = find("ci").credentials;
  EXPECT_EQ(source.kind, Kind::program);
  EXPECT_THAT(source.command, testing::ElementsAre("/opt/keys", "--for", "the ci"));
  EXPECT_THAT(error("broken"), HasSubstr("`credential_process` is no valid command"));
  EXPECT_THAT(error("broken"), Not(HasSubstr("hush")));
  EXPECT_EQ(find("role").credentials.base.at(0).kind, Kind::program);
  write_credentials("[ci]\naws_access_key_id = c\naws_secret_access_key = d\n");
  EXPECT_EQ(find("ci").credentials.keys, (Keys{"c", "d", ""}));
}

TEST_F(AccountTest, keys_of_a_source_profile_go_over_its_role) {
  write_config(
      "[profile ci]\nrole_arn = arn:role\nsource_profile = base\n"
      "[profile base]\nrole_arn = arn:other\nsource_profile = none\naws_access_key_id = a\n"
      "aws_secret_access_key = b\n");
  EXPECT_EQ(find("ci").credentials.base.at(0).keys, (Keys{"a", "b", ""}));
}

TEST_F(AccountTest, a_web_identity_a_container_and_at_last_the_instance) {
  EXPECT_EQ(find().credentials.kind, Kind::instance_metadata);
  EXPECT_EQ(find().credentials.url, "http://169.254.169.254");
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/keys");
  EXPECT_EQ(find().credentials.kind, Kind::container);
  EXPECT_EQ(find().credentials.url, "http://169.254.170.2/v2/keys");
  set("AWS_WEB_IDENTITY_TOKEN_FILE", "/token");
  set("AWS_ROLE_ARN", "arn:role");
  EXPECT_EQ(find().credentials.kind, Kind::web_identity);
  EXPECT_EQ(find().credentials.token_file, "/token");
}

TEST_F(AccountTest, an_instance_may_not_be_asked) {
  set("AWS_EC2_METADATA_DISABLED", "true");
  EXPECT_THAT(error(), HasSubstr("no credentials in the environment"));
}

TEST_F(AccountTest, the_instance_s_service_is_configured_as_for_aws_tools) {
  EXPECT_FALSE(find().credentials.needs_session);
  EXPECT_EQ(find().credentials.session_timeout, 1);
  write_config(
      "[default]\nec2_metadata_service_endpoint_mode = IPv6\nec2_metadata_v1_disabled = true\n"
      "metadata_service_timeout = 5\n[profile old]\nimds_use_ipv6 = true\n");
  EXPECT_EQ(find().credentials.url, "http://[fd00:ec2::254]");
  EXPECT_EQ(find("old").credentials.url, "http://[fd00:ec2::254]");
  EXPECT_TRUE(find().credentials.needs_session);
  EXPECT_EQ(find().credentials.session_timeout, 5);
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://emulator/");
  EXPECT_EQ(find().credentials.url, "http://emulator");
  set("AWS_EC2_METADATA_V1_DISABLED", "false");
  EXPECT_FALSE(find().credentials.needs_session);
}

TEST_F(AccountTest, settings_of_the_instance_s_service_are_checked) {
  set("AWS_METADATA_SERVICE_TIMEOUT", "0");
  EXPECT_THAT(error(), HasSubstr("is no number >= 1"));
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv5");
  EXPECT_THAT(error(), HasSubstr("neither `IPv4` nor `IPv6`"));
}

// Source: what botocore 1.43 makes of the same settings.
TEST_F(AccountTest, endpoints_with_fips) {
  set("AWS_ACCESS_KEY_ID", "a");
  set("AWS_SECRET_ACCESS_KEY", "b");
  const auto endpoint = [this](const std::string& region, ServiceKind service) {
    return find({}, region).endpoint(service);
  };
  set("AWS_USE_FIPS_ENDPOINT", "true");
  EXPECT_EQ(endpoint("us-east-1", ServiceKind::ec2), "https://ec2-fips.us-east-1.amazonaws.com");
  EXPECT_EQ(endpoint("us-east-1", ServiceKind::s3), "https://s3-fips.us-east-1.amazonaws.com");
  EXPECT_EQ(endpoint("us-gov-west-1", ServiceKind::ebs), "https://ebs.us-gov-west-1.amazonaws.com");
  EXPECT_EQ(endpoint("us-gov-west-1", ServiceKind::s3),
            "https://s3-fips.us-gov-west-1.amazonaws.com");
  set("AWS_USE_DUALSTACK_ENDPOINT", "true");
  EXPECT_EQ(endpoint("us-east-1", ServiceKind::service_quotas),
            "https://servicequotas-fips.us-east-1.api.aws");
  EXPECT_EQ(endpoint("us-east-1", ServiceKind::s3),
            "https://s3-fips.dualstack.us-east-1.amazonaws.com");
  EXPECT_EQ(endpoint("us-gov-west-1", ServiceKind::sts), "https://sts-fips.us-gov-west-1.api.aws");
}

TEST_F(AccountTest, endpoints_with_dual_stack) {
  set("AWS_ACCESS_KEY_ID", "a");
  set("AWS_SECRET_ACCESS_KEY", "b");
  set("AWS_USE_DUALSTACK_ENDPOINT", "true");
  const auto endpoint = [this](const std::string& region, ServiceKind service) {
    return find({}, region).endpoint(service);
  };
  EXPECT_EQ(endpoint("eu-central-1", ServiceKind::ec2), "https://ec2.eu-central-1.api.aws");
  EXPECT_EQ(endpoint("cn-north-1", ServiceKind::sts),
            "https://sts.cn-north-1.api.amazonwebservices.com.cn");
  EXPECT_EQ(endpoint("cn-north-1", ServiceKind::s3),
            "https://s3.dualstack.cn-north-1.amazonaws.com.cn");
  set("AWS_ENDPOINT_URL_EC2", "http://ec2");
  EXPECT_EQ(endpoint("eu-central-1", ServiceKind::ec2), "http://ec2");
}

TEST_F(AccountTest, the_profile_s_endpoints_with_fips_and_dual_stack) {
  const std::string keys = "aws_access_key_id = a\naws_secret_access_key = b\n";
  write_config("[profile both]\nuse_fips_endpoint = true\nuse_dualstack_endpoint = true\n" + keys +
               "[profile bucket]\n" + keys + "s3 =\n  use_dualstack_endpoint = true\n");
  EXPECT_EQ(find("both").endpoint(ServiceKind::ec2), "https://ec2-fips.north-1.api.aws");
  EXPECT_EQ(find("bucket").endpoint(ServiceKind::ec2), "https://ec2.north-1.amazonaws.com");
  EXPECT_EQ(find("bucket").endpoint(ServiceKind::s3), "https://s3.dualstack.north-1.amazonaws.com");
}

TEST_F(AccountTest, endpoints_are_the_region_s_or_configured) {
  set("AWS_ACCESS_KEY_ID", "a");
  set("AWS_SECRET_ACCESS_KEY", "b");
  EXPECT_EQ(find().endpoint(ServiceKind::ec2), "https://ec2.north-1.amazonaws.com");
  EXPECT_EQ(find({}, "cn-north-1").endpoint(ServiceKind::service_quotas),
            "https://servicequotas.cn-north-1.amazonaws.com.cn");
  write_config(
      "[default]\nservices = mine\nendpoint_url = http://all\n"
      "[services mine]\nservice_quotas =\n  endpoint_url = http://quotas/\n");
  EXPECT_EQ(find().endpoint(ServiceKind::ec2), "http://all");
  EXPECT_EQ(find().endpoint(ServiceKind::service_quotas), "http://quotas");
  set("AWS_ENDPOINT_URL_EC2", "http://ec2");
  EXPECT_EQ(find().endpoint(ServiceKind::ec2), "http://ec2");
  set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
  EXPECT_EQ(find().endpoint(ServiceKind::ec2), "https://ec2.north-1.amazonaws.com");
}

TEST_F(AccountTest, what_is_wrong_with_a_file_is_said_without_its_text) {
  write_credentials("[default]\naws_secret_access_key wJalr\n");
  EXPECT_THAT(error(), HasSubstr("credentials:2: not `key = value`"));
  EXPECT_THAT(error(), Not(HasSubstr("wJalr")));
}

TEST_F(AccountTest, the_files_are_known_before_they_are_there) {
  set("AWS_CONFIG_FILE", "~/aws-config");
  EXPECT_THAT(profile_file_names(environment_),
              testing::ElementsAre("/nonexistent/.aws/credentials", "/nonexistent/aws-config"));
}

}  // namespace
}  // namespace nodepool::drivers::aws

#include "drivers/gce/api/subject_token.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "cloud/element.h"
#include "cloud/helper_program.h"
#include "cloud/rest/refusal.h"
#include "driver/cloud_error.h"
#include "json/json.h"

namespace nodepool::drivers::gce {

using driver::CloudError;

namespace {

constexpr const char* kProgram = "executable of the credentials";

CloudError refused(const std::string& what, const std::string& problem) {
  return {CloudError::Kind::auth, what + ": " + problem};
}

cloud::Element parsed(const std::string& text, const std::string& where) {
  try {
    return {json::parse(text), where};
  } catch (const json::ParseError&) {
    throw refused(where, "cannot be read, or is no JSON");
  }
}

std::string not_empty(std::string token, const std::string& where) {
  if (token.empty()) throw refused(where, "the token is empty");
  return token;
}

}  // namespace

std::string subject_token_in(const std::string& text, const SubjectTokenSource& source,
                             const std::string& where) {
  return not_empty(source.field.empty() ? text : parsed(text, where).text(source.field), where);
}

async::Task<std::string> subject_token_of_program(async::Runtime runtime,
                                                  SubjectTokenSource source) {
  cloud::HelperProgram program{.what = kProgram,
                               .arguments = std::move(source.program),
                               .environment = std::move(source.variables),
                               .time_limit = source.time_limit};
  std::string problem;
  try {
    async::Task<std::string> running = cloud::output_of(runtime, std::move(program));
    const std::string output = co_await std::move(running);
    co_return subject_token_in_output(output, runtime.clock.wall_seconds());
  } catch (const std::system_error& error) {
    problem = error.what();
  }
  throw refused(kProgram, problem);
}

// Source: https://google.aip.dev/auth/4117, executable-sourced credentials.
std::string subject_token_in_output(const std::string& output, double now) {
  const cloud::Element response = parsed(output, kProgram);
  if (response.number("version") > 1) throw refused(kProgram, "the version of its output is not 1");
  if (!response.boolean_or("success", false)) {
    const std::string reason = response.text_or("code") + ": " + response.text_or("message");
    throw refused(kProgram, cloud::presentable(reason));
  }
  const auto expiry = response.optional_number("expiration_time");
  if (expiry && *expiry < now) throw refused(kProgram, "its token has expired");
  const bool is_saml = response.text("token_type") == "urn:ietf:params:oauth:token-type:saml2";
  return not_empty(response.text(is_saml ? "saml_response" : "id_token"), kProgram);
}

}  // namespace nodepool::drivers::gce

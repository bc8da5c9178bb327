#include "drivers/aws/api/error_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cloud/xml/xml_element.h"
#include "json/json.h"

namespace nodepool::drivers::aws {

using Kind = driver::CloudError::Kind;

namespace {

constexpr std::array<std::string_view, 10> kSlower = {
    "RequestLimitExceeded",      "Throttling",
    "ThrottlingException",       "ThrottledException",
    "TooManyRequestsException",  "RequestThrottled",
    "RequestThrottledException", "SlowDown",
    "BandwidthLimitExceeded",    "EC2ThrottledException"};
constexpr std::array<std::string_view, 5> kOldKeys = {"ExpiredToken", "ExpiredTokenException",
                                                      "RequestExpired", "InvalidClientTokenId",
                                                      "UnrecognizedClientException"};
constexpr std::array<std::string_view, 6> kAuth = {
    "AuthFailure",        "SignatureDoesNotMatch",      "InvalidSignatureException",
    "InvalidAccessKeyId", "MissingAuthenticationToken", "IncompleteSignature"};
constexpr std::array<std::string_view, 8> kQuota = {"VcpuLimitExceeded",
                                                    "InstanceLimitExceeded",
                                                    "MaxSpotInstanceCountExceeded",
                                                    "VolumeLimitExceeded",
                                                    "MaxIOPSLimitExceeded",
                                                    "HostLimitExceeded",
                                                    "NetworkInterfaceLimitExceeded",
                                                    "ResourceCountLimitExceeded"};
constexpr std::array<std::string_view, 7> kFull = {"InsufficientInstanceCapacity",
                                                   "InsufficientHostCapacity",
                                                   "InsufficientCapacity",
                                                   "InsufficientCapacityOnHost",
                                                   "InsufficientReservedInstanceCapacity",
                                                   "InsufficientVolumeCapacity",
                                                   "UnfulfillableCapacity"};
constexpr std::array<std::string_view, 3> kForbidden = {"UnauthorizedOperation", "AccessDenied",
                                                        "AccessDeniedException"};
constexpr std::array<std::string_view, 7> kGone = {
    "InvalidAMIID.Unavailable",  "NoSuchKey",    "NoSuchResourceException",
    "ResourceNotFoundException", "NoSuchBucket", "NoSuchUpload",
    "InvalidConversionTaskId"};

// Whether the id does not exist or is malformed.
bool is_of_no_thing(std::string_view code) {
  for (const char* end : {".NotFound", ".NotFoundException", "ID.Malformed", "Id.Malformed"}) {
    if (code.ends_with(end)) return true;
  }
  return false;
}

template <std::size_t size>
bool is_one_of(const std::array<std::string_view, size>& codes, std::string_view code) {
  return std::ranges::find(codes, code) != codes.end();
}

// The call was not carried out.
bool is_throttled(const ErrorResponse& refusal, int status) {
  return status == 429 || is_one_of(kSlower, refusal.code);
}

ErrorResponse refusal_in_xml(const std::string& body) {
  try {
    const cloud::XmlElement root = cloud::XmlElement::parse("", body);
    cloud::XmlElement error = root.child("Errors").child("Error");  // EC2
    if (!error.exists()) error = root.child("Error");               // STS
    if (!error.exists()) error = root;                              // S3
    return {.code = error.text_or("Code"), .message = error.text_or("Message")};
  } catch (const driver::CloudError&) {
    return {};
  }
}

ErrorResponse refusal_in_json(const std::string& body) {
  ErrorResponse refusal;
  json::Json answer;
  try {
    answer = json::parse(body);
  } catch (const json::ParseError&) {
    return refusal;
  }
  if (!answer.is_object()) return refusal;
  const auto text_at = [&answer](const char* key) {
    const auto found = answer.find(key);
    return found != answer.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  refusal.code = text_at("__type");
  refusal.code = refusal.code.substr(refusal.code.rfind('#') + 1);
  if (refusal.code.empty()) refusal.code = text_at("code");
  refusal.message = text_at("message");
  if (refusal.message.empty()) refusal.message = text_at("Message");
  return refusal;
}

}  // namespace

ErrorResponse error_in(const http::Response& response) {
  const std::size_t first = response.body.find_first_not_of(" \t\r\n");
  const char start = first == std::string::npos ? '\0' : response.body[first];
  ErrorResponse refusal;
  if (start == '<') refusal = refusal_in_xml(response.body);
  if (start == '{') refusal = refusal_in_json(response.body);
  if (refusal.code.empty()) {
    const std::string_view type = response.header("x-amzn-errortype");
    refusal.code = type.substr(0, type.find(':'));
  }
  return refusal;
}

Kind kind_of(const ErrorResponse& refusal, int status, bool creates) {
  const std::string& code = refusal.code;
  if (is_one_of(kQuota, code)) return Kind::quota;
  if (is_one_of(kFull, code)) return Kind::no_capacity;
  if (is_throttled(refusal, status)) return Kind::transient;
  if (is_one_of(kAuth, code) || is_one_of(kOldKeys, code)) return Kind::auth;
  // For a create call, the policy may depend on the parameters.
  if (is_one_of(kForbidden, code)) return creates ? Kind::failed : Kind::permanent;
  if (code == "InvalidInstanceType") return Kind::permanent;
  if (is_one_of(kGone, code) || is_of_no_thing(code)) return Kind::not_found;
  if (status == 404 && code.empty()) return Kind::not_found;
  // S3 did not receive the whole body in time; EC2 has not noticed the end of the AMI.
  if (code == "RequestTimeout" || code == "InvalidSnapshot.InUse") return Kind::transient;
  if (status >= 500) return creates ? Kind::unknown_outcome : Kind::transient;
  return Kind::failed;
}

cloud::Refusal classify(const http::Response& response, cloud::Effect effect) {
  const int status = response.status;
  const ErrorResponse refusal = error_in(response);
  const Kind kind =
      status == 401 ? Kind::auth : kind_of(refusal, status, effect == cloud::Effect::creates);
  return {.kind = kind,
          .code = refusal.code,
          .message = fmt::format("HTTP {} {}: {}", status, refusal.code, refusal.message),
          .retry = kind == Kind::transient || kind == Kind::unknown_outcome,
          .slow_down = is_throttled(refusal, status),
          .renew_credentials = status == 401 || is_one_of(kOldKeys, refusal.code)};
}

driver::CloudError to_cloud_error(const std::string& call, const ErrorResponse& error, int status) {
  return {kind_of(error, status, false),
          cloud::presentable(fmt::format("{}: {}: {}", call, error.code, error.message)), "",
          error.code};
}

}  // namespace nodepool::drivers::aws

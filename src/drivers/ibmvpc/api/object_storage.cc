#include "drivers/ibmvpc/api/object_storage.h"

#include <fmt/format.h>

#include "driver/cloud_error.h"
#include "drivers/ibmvpc/api/refusal.h"

namespace nodepool::drivers::ibmvpc {

using async::Task;
using driver::CloudError;

namespace {

constexpr int kLateFailure = 500;  // the status of an error that came late

}  // namespace

ObjectStorage::ObjectStorage(const async::Runtime& runtime, const VpcAccount& account,
                             std::string endpoint, IamTokens& tokens, const telemetry::Logger& log,
                             const http::Client::Observer& on_attempt)
    : endpoint_(std::move(endpoint)),
      rate_limit_(runtime.clock, 0),
      client_(runtime,
              {.transfers = {.ca_file = account.storage_ca_file},
               .request_id_headers = {"x-clv-request-id"}},
              log, on_attempt),
      rest_(runtime, client_, rate_limit_,
            {.authorize = [&tokens](http::Request& request) { return tokens.authorize(request); },
             .classify = classify},
            log) {}

cloud::Bucket ObjectStorage::bucket(std::string name) {
  const cloud::Bucket::Send send_call = [this](cloud::BucketCall call) {
    return send(std::move(call));
  };
  return {send_call, std::move(name), cloud::PartCheck::md5};
}

Task<http::Response> ObjectStorage::send(cloud::BucketCall call) {
  const std::chrono::milliseconds deadline = cloud::deadline_to_send(call.body.size());
  const std::string name = "cos: " + call.action;
  const std::string about = call.about;
  const bool may_fail_late = call.may_fail_late;
  http::Request request{
      .method = std::move(call.method),
      .url = endpoint_ + call.path,
      .headers = std::move(call.headers),
      .body = std::move(call.body),
      .name = name,
      .repeatable = call.creates ? http::Request::Repeatable::no : http::Request::Repeatable::yes,
      .deadline = deadline};
  cloud::RestCall rest_call{.request = std::move(request),
                            .effect = call.creates ? cloud::Effect::creates : cloud::Effect::none,
                            .about = std::move(call.about),
                            .precedence = call.precedence};
  http::Response response = co_await rest_.send(std::move(rest_call));
  if (!may_fail_late) co_return response;
  http::Response late = response;
  late.status = kLateFailure;
  const cloud::Refusal refusal = classify(late, cloud::Effect::none);
  if (refusal.code.empty()) co_return response;
  throw CloudError(refusal.kind,
                   fmt::format("{} {}: {}", name, about, cloud::presentable(refusal.message)), {},
                   refusal.code);
}

}  // namespace nodepool::drivers::ibmvpc

#include "drivers/aws/api/s3.h"

#include "drivers/aws/api/error_response.h"

namespace nodepool::drivers::aws {

namespace {

async::Task<http::Response> send(Caller& caller, cloud::BucketCall call) {
  const bool may_fail_late = call.may_fail_late;
  const std::string name = "s3: " + call.action + " " + call.about;
  Call signed_call{.service = ServiceKind::s3,
                   .action = std::move(call.action),
                   .about = std::move(call.about),
                   .precedence = call.precedence,
                   .method = std::move(call.method),
                   .path = std::move(call.path),
                   .headers = std::move(call.headers),
                   .body = std::move(call.body),
                   .body_hash = std::move(call.body_hash),
                   .creates = call.creates};
  http::Response response = co_await caller.send(std::move(signed_call));
  if (!may_fail_late) co_return response;
  const ErrorResponse refusal = error_in(response);
  if (refusal.code.empty()) co_return response;
  constexpr int kStatus = 500;  // the error occurred after the status had been sent
  throw to_cloud_error(name, refusal, kStatus);
}

}  // namespace

cloud::Bucket s3_bucket(Caller& caller, std::string name) {
  const cloud::Bucket::Send send_call = [&caller](cloud::BucketCall call) {
    return send(caller, std::move(call));
  };
  return {send_call, std::move(name), cloud::PartCheck::sha256};
}

}  // namespace nodepool::drivers::aws

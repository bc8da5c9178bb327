#pragma once

#include <string>

#include "async/runtime.h"
#include "cloud/rest/rest_client.h"
#include "cloud/s3/bucket.h"
#include "drivers/ibmvpc/api/iam_tokens.h"
#include "http/rate_governor.h"
#include "telemetry/log.h"

namespace nodepool::drivers::ibmvpc {

// Calls of Cloud Object Storage: S3's protocol with IAM's tokens. Without a rate limit, but for
// what IBM says.
class ObjectStorage {
 public:
  // `endpoint`: URL without a slash at the end. `tokens` outlives it. `on_attempt` is called for
  // every attempt of a call.
  ObjectStorage(const async::Runtime& runtime, const VpcAccount& account, std::string endpoint,
                IamTokens& tokens, const telemetry::Logger& log,
                const http::Client::Observer& on_attempt);

  // A bucket. This outlives it.
  cloud::Bucket bucket(std::string name);

 private:
  async::Task<http::Response> send(cloud::BucketCall call);

  std::string endpoint_;
  http::RateGovernor rate_limit_;
  http::Client client_;
  cloud::RestClient rest_;
};

}  // namespace nodepool::drivers::ibmvpc

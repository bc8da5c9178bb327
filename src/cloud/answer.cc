#include "cloud/answer.h"

#include <utility>

#include "driver/cloud_error.h"

namespace nodepool::cloud {

using driver::CloudError;

Element parse_answer(const std::string& call, const http::Response& response) {
  Json body;
  try {
    body = json::parse(response.body);
  } catch (const json::ParseError&) {
    throw CloudError(CloudError::Kind::failed, call + ": the response is no JSON");
  }
  return {std::move(body), call + ": the response"};
}

}  // namespace nodepool::cloud

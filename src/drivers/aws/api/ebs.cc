#include "drivers/aws/api/ebs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cloud/answer.h"
#include "cloud/base64.h"
#include "cloud/digest.h"
#include "cloud/outcome.h"
#include "driver/cloud_error.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;

Task<Snapshot> Ebs::start(std::int64_t size, std::string description, std::string token,
                          driver::Metadata tags) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [key, value] : tags) list.push_back({{"Key", key}, {"Value", value}});
  const nlohmann::json body = {
      {"VolumeSize", size}, {"Description", description}, {"ClientToken", token}, {"Tags", list}};
  Call call{.service = ServiceKind::ebs,
            .action = "StartSnapshot",
            .precedence = http::Precedence::creation,
            .path = "/snapshots",
            .headers = {{"Content-Type", "application/json"}},
            .body = body.dump(),
            .creates = true,
            .has_token = true};
  const http::Response response = co_await caller_.send(std::move(call));
  co_return cloud::read_outcome(true, [&] {
    const cloud::Element answer = cloud::parse_answer("ebs: StartSnapshot", response);
    return Snapshot{.id = answer.text("SnapshotId"),
                    .state = answer.text_or("Status"),
                    .description = description,
                    .size = size,
                    .tags = tags};
  });
}

Task<> Ebs::put(std::string snapshot, std::uint64_t index, std::string data) {
  const std::string hash = cloud::sha256(data);
  const std::string checksum = cloud::base64(hash);
  Call call{.service = ServiceKind::ebs,
            .action = "PutSnapshotBlock",
            .about = snapshot,
            .precedence = http::Precedence::creation,
            .method = "PUT",
            .path = fmt::format("/snapshots/{}/blocks/{}", snapshot, index),
            .headers = {{"Content-Type", "application/octet-stream"},
                        {"X-Amz-Data-Length", std::to_string(data.size())},
                        {"X-Amz-Checksum", checksum},
                        {"X-Amz-Checksum-Algorithm", "SHA256"}},
            .body = std::move(data),
            .body_hash = cloud::hexadecimal(hash)};
  const http::Response response = co_await caller_.send(std::move(call));
  const std::string_view arrived = response.header("x-amz-checksum");
  if (!arrived.empty() && arrived != checksum) {
    throw CloudError(CloudError::Kind::failed,
                     fmt::format("ebs: block {} of {} was corrupted", index, snapshot));
  }
}

Task<bool> Ebs::complete(std::string snapshot, std::uint64_t blocks) {
  Call call{.service = ServiceKind::ebs,
            .action = "CompleteSnapshot",
            .about = snapshot,
            .precedence = http::Precedence::creation,
            .path = "/snapshots/completion/" + snapshot,
            .headers = {{"Content-Type", "application/json"},
                        {"X-Amz-Changedblockscount", std::to_string(blocks)}}};
  const http::Response response = co_await caller_.send(std::move(call));
  const std::string status = cloud::read_outcome(false, [&response] {
    return cloud::parse_answer("ebs: CompleteSnapshot", response).text("Status");
  });
  if (status == "error") {
    throw CloudError(CloudError::Kind::failed, "snapshot " + snapshot + " has failed");
  }
  co_return status == "completed";
}

}  // namespace nodepool::drivers::aws

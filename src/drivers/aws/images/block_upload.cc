#include "drivers/aws/images/block_upload.h"

#include <algorithm>
#include <charconv>

#include "cloud/patience.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/aws/images/upload_identity.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;

namespace {

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
// Concurrent blocks, which one upload holds in memory.
constexpr int kBlockSenders = 10;
constexpr async::Duration kCompletionPoll = std::chrono::seconds(2);
constexpr async::Duration kCompletionLimit = std::chrono::hours(1);
// How much work an interruption loses, at most.
constexpr async::Duration kBetweenMarks = std::chrono::seconds(30);
// Tag with the number of the file's first blocks that have been written or are empty.
constexpr std::string_view kSentKey = "nodepool_blocks_sent";
constexpr cloud::OptionalPermission kTagProgress{
    .name = "ec2:CreateTags", .consequence = "interrupted uploads of blocks start anew"};

std::uint64_t sent_blocks(const driver::Metadata& tags) {
  const std::string text = driver::value_of(tags, kSentKey);
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() ? count : 0;
}

}  // namespace

BlockUpload::BlockUpload(const async::Runtime& runtime, Ebs& ebs, Ec2& ec2,
                         cloud::OptionalPermissions& permissions, telemetry::Logger log,
                         std::string name, driver::Metadata metadata)
    : runtime_(runtime),
      ebs_(ebs),
      ec2_(ec2),
      permissions_(permissions),
      log_(std::move(log)),
      name_(std::move(name)),
      metadata_(std::move(metadata)) {}

Task<Snapshot> BlockUpload::run(std::shared_ptr<const http::StreamedBody> body,
                                std::optional<Snapshot> begun,
                                driver::ImageSupport::Progress progress) {
  if (begun) {
    snapshot_ = *std::move(begun);
    sent_before_ = sent_blocks(snapshot_.tags);
    log_.info("Resuming snapshot {} of {} after {} blocks", snapshot_.id, name_, sent_before_);
  } else {
    snapshot_ = co_await begin(body->size);
  }
  if (snapshot_.state == "completed") co_return snapshot_;
  if (snapshot_.state == "error") {
    throw CloudError(CloudError::Kind::failed, "snapshot " + snapshot_.id + " has failed");
  }
  const cloud::PartSender::Send send = [this](std::uint64_t index, std::string block) {
    return this->send(index, std::move(block));
  };
  const cloud::PartSender::Plan plan{.part_size = Ebs::kBlock, .max_concurrent = kBlockSenders};
  sender_.emplace(runtime_, std::move(body), plan, send, std::move(progress));
  next_mark_ = runtime_.clock.now() + kBetweenMarks;
  co_await sender_->run();
  const std::function<Task<>()> mark_all = [this] { return mark(sender_->count()); };
  co_await cloud::retry_while_unreachable(runtime_, log_,
                                          mark_all);  // no blocks can be written after this
  co_await complete();
  co_return snapshot_;
}

// The idempotency token makes the call safe to retry. If the snapshot of an interrupted upload
// cannot be found, the call returns that snapshot. AWS does not document whether it returns the
// present state. If not, a completed snapshot refuses the first block, and the upload fails.
Task<Snapshot> BlockUpload::begin(std::uint64_t bytes) {
  const auto size =
      static_cast<std::int64_t>(std::max<std::uint64_t>(1, (bytes + kGibibyte - 1) / kGibibyte));
  const std::string token = upload_token(metadata_, "StartSnapshot");
  const std::function<Task<Snapshot>()> start = [this, size, &token] {
    return ebs_.start(size, name_, token, metadata_);
  };
  co_return co_await cloud::retry_while_unreachable(runtime_, log_, start);
}

// Blocks that are not written read as zeros.
Task<> BlockUpload::send(std::uint64_t index, std::string block) {
  if (block.find_first_not_of('\0') == std::string::npos) co_return;
  ++written_;
  if (index < sent_before_) co_return;
  block.resize(Ebs::kBlock, '\0');
  const std::function<Task<>()> put = [this, index, &block] {
    return ebs_.put(snapshot_.id, index, block);
  };
  co_await cloud::retry_while_unreachable(runtime_, log_, put);
  co_await refresh_periodically();
}

// A failure only costs repeated work after an interruption.
Task<> BlockUpload::refresh_periodically() {
  if (runtime_.clock.now() < next_mark_) co_return;
  next_mark_ = runtime_.clock.now() + kBetweenMarks;
  const std::uint64_t sent = std::max(sent_before_, sender_->contiguous_count());
  try {
    co_await mark(sent);
  } catch (const CloudError& error) {
    log_.warning("Error recording the progress of the upload {}: {}", name_, error.what());
  }
}

// The provider's name is kept: IAM policies may depend on it.
Task<> BlockUpload::mark(std::uint64_t blocks) {
  const std::string provider(driver::kProviderNameKey);
  Task<> tagging =
      ec2_.create_tags({snapshot_.id}, {{std::string(kSentKey), std::to_string(blocks)},
                                        {provider, driver::value_of(metadata_, provider)}});
  co_await permissions_.if_permitted(std::move(tagging), kTagProgress);
}

Task<> BlockUpload::complete() {
  const auto until = runtime_.clock.now() + kCompletionLimit;
  while (true) {
    const std::function<Task<bool>()> ask = [this] {
      return ebs_.complete(snapshot_.id, written_);
    };
    const bool is_complete = co_await cloud::retry_while_unreachable(runtime_, log_, ask);
    if (is_complete) co_return;
    if (runtime_.clock.now() >= until) {
      throw CloudError(CloudError::Kind::failed,
                       "snapshot " + snapshot_.id + " has not completed in time");
    }
    co_await runtime_.clock.sleep_for(kCompletionPoll);
  }
}

}  // namespace nodepool::drivers::aws

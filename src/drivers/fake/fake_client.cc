#include "drivers/fake/fake_client.h"

#include <exception>

#include <boost/algorithm/string/predicate.hpp>

namespace nodepool::drivers::fake {

using driver::CloudError;
using driver::CloudImage;

namespace {

// The upload of an image with this property set to "true" in any case fails: a boolean of the
// configuration is "True". Source: the Python Nodepool's fake driver.
constexpr const char* kShouldFail = "SHOULD_FAIL";

}  // namespace

Task<> FakeClient::simulate_latency() {
  co_await runtime_.clock.sleep_for(cloud_->behaviour.latency / 2);
}

Task<> FakeClient::call(CloudCall call, std::string what, std::function<void()> act) {
  co_await simulate_latency();
  std::optional<FakeFailure> failure = cloud_->take_failure(call);
  if (!failure) failure = draw_failure(call);
  std::exception_ptr refusal;
  if (!failure || failure->is_done) {
    try {
      act();
    } catch (const CloudError&) {
      refusal = std::current_exception();
    }
  }
  co_await simulate_latency();
  if (failure) throw CloudError(failure->kind, what + ": the fake cloud fails on purpose");
  if (refusal) std::rethrow_exception(refusal);
}

std::optional<FakeFailure> FakeClient::draw_failure(CloudCall call) {
  using Kind = CloudError::Kind;
  const FakeBehaviour& behaviour = cloud_->behaviour;
  const FakeBehaviour::CreateFailures& create = behaviour.create_failures;
  if (call == CloudCall::create) {
    if (draw(create.error)) return FakeFailure{.kind = Kind::failed};
    if (draw(create.no_capacity)) return FakeFailure{.kind = Kind::no_capacity};
    if (draw(create.lost_answer)) {
      return FakeFailure{.kind = Kind::unknown_outcome, .is_done = draw(0.5)};
    }
  }
  if (call == CloudCall::remove && draw(behaviour.remove_failures)) return FakeFailure{};
  if (call == CloudCall::list && draw(behaviour.list_failures)) return FakeFailure{};
  return std::nullopt;
}

// --- machines

Task<std::string> FakeClient::create(ServerSpec spec) {
  const std::string id = runtime_.random.uuid_hex();
  const bool is_broken = draw(cloud_->behaviour.create_failures.broken);
  const std::string what = "creating server " + spec.name;
  const std::function<void()> act = [&] {
    cloud_->create(id, std::move(spec), is_broken, runtime_.clock.now());
  };
  co_await call(CloudCall::create, what, act);
  co_return id;
}

Task<> FakeClient::remove(std::string id) {
  const std::string what = "deleting server " + id;
  const std::function<void()> act = [&] { cloud_->remove(id, runtime_.clock.now()); };
  co_await call(CloudCall::remove, what, act);
}

Task<std::vector<FakeServer>> FakeClient::servers() {
  std::vector<FakeServer> found;
  const std::function<void()> act = [&] { found = cloud_->servers(runtime_.clock.now()); };
  co_await call(CloudCall::list, "listing servers", act);
  co_return found;
}

Task<std::optional<FakeServer>> FakeClient::server(std::string id) {
  std::optional<FakeServer> found;
  const std::function<void()> act = [&] { found = cloud_->server(id, runtime_.clock.now()); };
  co_await call(CloudCall::list, "getting server " + id, act);
  co_return found;
}

Task<driver::Limits> FakeClient::limits() {
  driver::Limits limits;
  const std::function<void()> act = [&] { limits = cloud_->behaviour.limits; };
  co_await call(CloudCall::limits, "reading the limits", act);
  co_return limits;
}

// --- images

Task<std::string> FakeClient::upload_image(std::string name, driver::Metadata metadata) {
  const std::string id = runtime_.random.uuid_hex();
  const std::function<void()> act = [&] {
    const auto should_fail = metadata.find(kShouldFail);
    if (should_fail != metadata.end() && boost::algorithm::iequals(should_fail->second, "true")) {
      throw CloudError(CloudError::Kind::failed, "image " + name + " has SHOULD_FAIL set");
    }
    cloud_->add_image({.id = id, .name = name, .metadata = metadata});
  };
  const std::string what = "uploading image " + name;
  co_await call(CloudCall::upload_image, what, act);
  co_return id;
}

Task<> FakeClient::remove_image(std::string id) {
  const std::string what = "deleting image " + id;
  const std::function<void()> act = [&] { cloud_->remove_image(id); };
  co_await call(CloudCall::remove_image, what, act);
}

Task<std::vector<CloudImage>> FakeClient::images() {
  std::vector<CloudImage> found;
  const std::function<void()> act = [&] { found = cloud_->images(); };
  co_await call(CloudCall::list_images, "listing images", act);
  co_return found;
}

}  // namespace nodepool::drivers::fake

#include "api/operator_calls.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>

#include "config/names.h"
#include "model/change_image.h"
#include "model/change_node.h"
#include "model/lease.h"
#include "requestor/error.h"
#include "requestor/lease.h"

namespace nodepool::api {

using async::Task;
using model::Node;
using model::NodeState;

namespace {

// The node, which the client may change. Throws CallError.
const Node& changeable_node(const Call& call) {
  const Node* node = call.view.find_node(call.id);
  if (node == nullptr) throw CallError(404, fmt::format("Node {} not found", call.id));
  if (!call.view.may_change(*node)) {
    throw CallError(403, fmt::format("{} may not change node {}", call.client.name, call.id));
  }
  return *node;
}

// Changes a node that is not locked. Throws CallError.
Task<> change(Call& call, std::function<bool(Node&)> change) {
  ApiContext& context = call.context;
  const model::NodeChange result = co_await model::change_node(
      context.runtime, context.store, context.records.nodes, call.id, std::move(change));
  switch (result) {
    case model::NodeChange::written:
    case model::NodeChange::unchanged:
      co_return;
    case model::NodeChange::locked:
    case model::NodeChange::outdated:
      throw CallError(409, fmt::format("Node {} is locked: it is in use or being launched or "
                                       "deleted. Retry when it is not",
                                       call.id));
    case model::NodeChange::gone:
      throw CallError(404, fmt::format("Node {} not found", call.id));
  }
}

// Holds a node that its lease has locked. Returns false if it is not leased any more. Throws
// CallError.
Task<bool> hold_leased(Call& call, std::string lease, std::string reason) {
  try {
    co_return co_await requestor::keep_leased_node(call.context.runtime, call.context.store,
                                                   call.id, std::move(lease), std::move(reason));
  } catch (const requestor::RequestError& error) {
    throw CallError(409, error.what());
  }
}

// Whether the configuration pauses the image. Returns nothing if it does not have the image.
std::optional<bool> configured_pause(const Call& call) {
  const auto& configured = call.context.configured_pause;
  return configured ? configured(call.id) : std::nullopt;
}

// Throws CallError unless there is such an image and the client may change it: images belong to all
// tenants.
void require_image(const Call& call) {
  if (!call.view.is_complete()) {
    throw CallError(403, fmt::format("Images belong to all tenants; {} may change those of {} only",
                                     call.client.name, call.client.tenant));
  }
  const bool is_known =
      call.context.records.images.images().contains(call.id) || configured_pause(call);
  if (!is_known || !config::is_part_of_path(call.id)) {
    throw CallError(404, fmt::format("Image {} not found", call.id));
  }
}

}  // namespace

Task<web::Response> hold_node(Call& call) {
  const std::optional<model::Lease> lease = lease_of(changeable_node(call));
  CallBody body(call.request);
  const std::string reason = body.text("reason").value_or("");
  body.end();
  bool is_held = false;
  if (lease) is_held = co_await hold_leased(call, lease->id, reason);
  if (!is_held) {
    const double now = call.context.runtime.clock.wall_seconds();
    const std::function<bool(Node&)> hold = [&reason, now](Node& node) {
      if (node.state == NodeState::hold) return false;
      node.set_state(NodeState::hold, now);
      if (!reason.empty()) node.comment = reason;
      return true;
    };
    co_await change(call, hold);
  }
  call.outcome = fmt::format("held {}", call.id);
  co_return web::Response{204};
}

Task<web::Response> delete_node(Call& call) {
  if (const std::optional<model::Lease> lease = lease_of(changeable_node(call))) {
    throw CallError(
        409, fmt::format("Node {} is leased: release it from lease {} first", call.id, lease->id));
  }
  const double now = call.context.runtime.clock.wall_seconds();
  const std::function<bool(Node&)> mark = [now](Node& node) {
    if (node.state == NodeState::deleting) return false;
    node.set_state(NodeState::deleting, now);
    return true;
  };
  co_await change(call, mark);
  call.outcome = fmt::format("deleted {}", call.id);
  co_return web::Response{204};
}

Task<web::Response> build_image(Call& call) {
  require_image(call);
  const bool is_paused =
      configured_pause(call).value_or(false) || call.context.records.images.is_paused(call.id);
  if (is_paused) throw CallError(409, fmt::format("Image {} is paused", call.id));
  co_await model::request_build(call.context.store, call.id);
  call.outcome = fmt::format("requested a build of {}", call.id);
  co_return web::Response{204};
}

Task<web::Response> pause_image(Call& call) {
  require_image(call);
  if (!co_await model::pause_image(call.context.store, call.id)) {
    throw CallError(
        409, fmt::format("Image {} has no records: it has never been built or requested", call.id));
  }
  call.outcome = fmt::format("paused {}", call.id);
  co_return web::Response{204};
}

Task<web::Response> unpause_image(Call& call) {
  require_image(call);
  co_await model::unpause_image(call.context.store, call.id);
  call.outcome = fmt::format("unpaused {}", call.id);
  co_return web::Response{204};
}

}  // namespace nodepool::api

#include "page/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/lease.h"
#include "model/lease_request.h"
#include "page/row_text.h"

namespace nodepool::page {

namespace {

using model::Node;
using model::NodeRequest;

RowText lease_text(const Node& node) {
  RowText row;
  const std::optional<model::Lease> lease = model::lease_of(node);
  if (!lease) return row;
  row.text("id", lease->id).text("holder", lease->holder).text("owner", lease->owner);
  row.time("expires", lease->expires);
  return row;
}

RowText lease_request_text(const NodeRequest& request) {
  RowText row;
  const std::optional<model::LeaseRequest> lease = model::lease_request_of(request);
  if (!lease) return row;
  row.text("owner", lease->owner).text("holder", lease->holder).time("expires", lease->expires);
  return row;
}

std::vector<RowText> declines(const NodeRequest& request) {
  std::vector<RowText> rows;
  for (const std::string& pool : request.declined_by) {
    RowText& row = rows.emplace_back();
    row.text("pool", pool);
    const auto reason = request.decline_reasons.find(pool);
    if (reason != request.decline_reasons.end()) row.text("reason", reason->second);
  }
  return rows;
}

RowText upload_text(const model::ImageTable& images, const model::ImageUpload& upload) {
  RowText row;
  row.text("provider", upload.provider).text("id", upload.id);
  row.text("state", to_string(upload.state)).time("since", upload.state_time);
  row.text("name", upload.external_name).text("format", upload.format);
  row.text("failure", upload.failure);
  row.truth("busy", images.is_being_uploaded(upload.image, upload.build_id, upload.provider));
  return row;
}

RowText build_text(const model::ImageTable& images, const model::ImageBuild& build) {
  std::vector<RowText> uploads;
  for (const model::ImageUpload* upload : images.uploads_of(build.image, build.id)) {
    uploads.push_back(upload_text(images, *upload));
  }
  RowText row;
  row.text("id", build.id).text("state", to_string(build.state)).time("since", build.state_time);
  row.text("builder", build.builder).texts("formats", build.formats);
  row.text("failure", build.failure).objects("uploads", uploads);
  return row;
}

std::vector<RowText> amount_texts(const std::vector<Amount>& amounts) {
  std::vector<RowText> rows;
  for (const Amount& amount : amounts) {
    RowText& row = rows.emplace_back();
    row.text("resource", amount.resource).number("used", amount.used);
    row.number("limit", amount.limit);
  }
  return rows;
}

std::vector<RowText> call_texts(const std::vector<CallFacts>& calls) {
  std::vector<RowText> rows;
  for (const CallFacts& call : calls) {
    RowText& row = rows.emplace_back();
    row.text("name", call.name).number("count", static_cast<double>(call.count));
    row.time("seconds", call.seconds);
  }
  return rows;
}

}  // namespace

std::string node_row(const Node& node, bool is_locked, std::optional<double> requested) {
  RowText row;
  row.text("id", node.id).texts("labels", node.type).text("state", to_string(node.state));
  row.time("since", node.state_time).text("provider", node.provider).text("pool", node.pool);
  if (requested) row.time("asked", *requested);
  if (node.created_time) row.time("created", *node.created_time);
  row.text("request", node.allocated_to).text("tenant", node.tenant_name);
  row.text("requestor", node.requestor).text("host", node.hostname).text("az", node.az);
  row.truth("locked", is_locked).truth("slot", node.slot.has_value());
  row.json("machine", node.external_id).text("image", node.image_id);
  row.text("comment", node.comment).text("hold_job", node.hold_job);
  row.object("lease", lease_text(node)).json("journal", node.launch_journal);
  return row.str();
}

std::string request_row(const NodeRequest& request, const model::IdSet& nodes,
                        const std::vector<PoolDecision>& opinions) {
  RowText row;
  row.text("id", request.id).text("state", to_string(request.state));
  row.time("since", request.state_time).texts("labels", request.node_types);
  if (request.created_time) row.time("created", *request.created_time);
  row.text("requestor", request.requestor).text("tenant", request.tenant_name);
  row.text("prefers", request.provider).text("event", request.event_id);
  if (request.relative_priority != 0) {
    row.number("relative", static_cast<double>(request.relative_priority));
  }
  row.objects("declined", declines(request)).object("order", lease_request_text(request));
  row.texts("nodes", {nodes.begin(), nodes.end()});
  std::vector<RowText> opinion_rows;
  for (const PoolDecision& opinion : opinions) {
    opinion_rows.emplace_back()
        .text("pool", opinion.pool)
        .text("text", opinion.text)
        .text("reason", opinion.reason);
  }
  row.objects("opinions", opinion_rows);
  return row.str();
}

std::string image_row(const model::ImageTable& images, const std::string& image) {
  std::vector<RowText> builds;
  for (const model::ImageBuild* build : images.builds_of(image)) {
    builds.push_back(build_text(images, *build));
  }
  RowText row;
  row.text("id", image).truth("paused", images.is_paused(image));
  row.truth("busy", images.is_being_built(image));
  const auto requested = images.build_requests().find(image);
  if (requested != images.build_requests().end()) row.time("wanted", requested->second.created());
  row.objects("builds", builds);
  return row.str();
}

std::string configured_image_row(const ConfiguredImage& image) {
  return RowText().text("id", image.name).truth("paused", image.is_paused).str();
}

std::string component_row(const std::string& id, const model::Component& component) {
  RowText row;
  row.text("id", id).text("kind", to_string(component.kind)).text("host", component.hostname);
  row.text("state", component.state).text("version", component.version);
  if (component.kind != model::Component::Kind::pool) return row.str();
  row.text("component", component.id).text("name", component.name);
  row.text("provider", component.provider_name).texts("labels", component.supported_labels);
  row.number("priority", static_cast<double>(component.priority));
  row.truth("paused", component.paused);
  return row.str();
}

std::string host_row(const std::string& id, const model::HostReport& host) {
  RowText row;
  row.text("id", id).text("provider", host.provider).text("pool", host.pool);
  row.text("host", host.host).number("port", static_cast<double>(host.port));
  row.texts("labels", host.labels).text("problem", host.problem).time("since", host.since);
  row.number("next_check", host.next_check).text("launcher", host.launcher);
  return row.str();
}

std::string problem_row(const std::string& id, const PageProblem& problem) {
  RowText row;
  row.text("id", id).text("level", problem.level).text("text", problem.text);
  row.text("kind", problem.kind).text("subject", problem.subject);
  return row.str();
}

std::string provider_row(const ProviderView& provider) {
  RowText row;
  row.text("id", provider.name).truth("makes_machines", provider.launches_machines);
  row.number("max_concurrency", static_cast<double>(provider.max_concurrency));
  row.number("launches", static_cast<double>(provider.launches));
  row.truth("refusing", provider.is_refusing).text("quota_failure", provider.quota_failure);
  row.objects("amounts", amount_texts(provider.amounts));
  std::vector<RowText> pools;
  for (const PoolFacts& pool : provider.pools) {
    pools.emplace_back()
        .text("name", pool.name)
        .objects("amounts", amount_texts(pool.amounts))
        .texts("problems", pool.problems);
  }
  row.objects("pools", pools).objects("calls", call_texts(provider.calls));
  row.objects("errors", call_texts(provider.errors));
  row.objects("launched", call_texts(provider.launched));
  return row.str();
}

std::string failure_row(const std::string& id, const history::JournalEntry& entry) {
  RowText row;
  row.text("id", id).time("time", entry.time);
  const bool is_node = entry.subject == history::JournalEntry::Subject::node;
  row.text("subject", std::string_view(is_node ? "node" : "request")).text("of", entry.id);
  row.text("event", entry.event).texts("related", entry.related).text("details", entry.details);
  return row.str();
}

}  // namespace nodepool::page

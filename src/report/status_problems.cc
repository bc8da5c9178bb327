#include "report/status_problems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace nodepool::report {

namespace {

using model::Component;
using model::ImageUpload;
using model::NodeRequest;

using Problems = std::vector<StatusProblem>;

// The most problems of one kind that are listed one by one.
constexpr std::size_t kMaxOfOneKind = 20;

void add(Problems& to, std::string about, std::string text, std::string kind = {},
         std::string subject = {}) {
  to.push_back({.about = std::move(about),
                .text = std::move(text),
                .kind = std::move(kind),
                .subject = std::move(subject)});
}

bool is_running(const StatusSources& sources, Component::Kind kind) {
  return std::ranges::any_of(sources.components.all(),
                             [kind](const auto& entry) { return entry.second.kind == kind; });
}

// Several daemons of one kind and configuration may run on a host: a problem that all report is
// listed once.
void add_of_daemon(Problems& to, std::string about, std::string text, const std::string& id) {
  if (std::ranges::find(to, text, &StatusProblem::text) != to.end()) return;
  add(to, std::move(about), std::move(text), "component", id);
}

void add_daemons(Problems& to, const StatusSources& sources) {
  if (!is_running(sources, Component::Kind::launcher)) {
    add(to, "no-launcher",
        "no launcher is running: requests are not served and nodes are not reclaimed");
    to.back().level = StatusLevel::critical;
  }
  if (!sources.diskimages.empty() && !is_running(sources, Component::Kind::builder)) {
    add(to, "no-builder", "no builder is running: images are neither built nor uploaded");
  }
  for (const auto& [id, component] : sources.components.all()) {
    const std::string daemon =
        fmt::format("{} on {}", to_string(component.kind), component.hostname);
    if (!component.configuration_problem.empty()) {
      add_of_daemon(to, "configuration-rejected",
                    daemon + ": " + model::rejection_text(component.configuration_problem), id);
    }
    for (const std::string& problem : component.problems) {
      add_of_daemon(to, "daemon", fmt::format("{}: {}", daemon, problem), id);
    }
  }
}

struct Remains {
  std::size_t nodes = 0;
  std::set<std::string> requests;  // to which the nodes are allocated
};

// By provider, if it is not configured here and no launcher serves it.
std::map<std::string, Remains> remains_of_removed_providers(const StatusSources& sources,
                                                            const std::set<std::string>& served) {
  std::map<std::string, Remains> all;
  for (const auto& [id, node] : sources.nodes.all()) {
    const std::string provider = node.provider.value_or("");
    if (provider.empty() || served.contains(provider) || sources.providers.contains(provider)) {
      continue;
    }
    Remains& remains = all[provider];
    ++remains.nodes;
    const bool is_waited_for =
        node.allocated_to && sources.requests.find(*node.allocated_to) != nullptr;
    if (is_waited_for) remains.requests.insert(*node.allocated_to);
  }
  return all;
}

void add_removed_providers(Problems& to, const StatusSources& sources,
                           const std::set<std::string>& served) {
  for (const auto& [provider, remains] : remains_of_removed_providers(sources, served)) {
    const std::string requests =
        remains.requests.empty() ? "" : fmt::format(" and {} request(s)", remains.requests.size());
    add(to, "provider-removed",
        fmt::format("provider {} is not configured here and no launcher serves it: {} node(s){} of "
                    "it remain",
                    provider, remains.nodes, requests),
        "provider", provider);
  }
}

void add_providers(Problems& to, const StatusSources& sources) {
  if (!is_running(sources, Component::Kind::launcher)) return;  // reported by add_daemons()
  std::set<std::string> served;
  for (const Component* pool : sources.components.pools()) served.insert(pool->provider_name);
  for (const std::string& provider : sources.providers) {
    if (served.contains(provider)) continue;
    add(to, "provider-not-served",
        fmt::format("provider {} is configured here, but no launcher serves it", provider),
        "provider", provider);
  }
  for (const auto& [provider, sentence] : sources.components.providers_of_both_kinds()) {
    add(to, "provider-of-both-kinds", sentence, "provider", provider);
  }
  add_removed_providers(to, sources, served);
}

// Unless a daemon has recorded the same.
void add_store(Problems& to, const StatusSources& sources) {
  const std::string& problem = sources.store.problem;
  const bool is_known = std::ranges::any_of(
      to, [&problem](const StatusProblem& each) { return each.text.ends_with(problem); });
  if (!problem.empty() && !is_known) add(to, "store", problem);
}

void add_hosts(Problems& to, const StatusSources& sources) {
  std::size_t count = 0;
  for (const model::HostReport& host : sources.hosts) {
    if (++count > kMaxOfOneKind) continue;
    add(to, "unhealthy-host",
        fmt::format("host {} of pool {}-{} is unhealthy: {}", host.host, host.provider, host.pool,
                    host.problem),
        "host", host.provider + "/" + host.host);
  }
  if (count > kMaxOfOneKind) {
    add(to, "unhealthy-hosts", fmt::format("{} more hosts are unhealthy", count - kMaxOfOneKind));
  }
}

std::string because(const std::optional<std::string>& failure) {
  return failure ? ": " + *failure : std::string();
}

// A missing build of a paused image is no problem.
void add_builds(Problems& to, const StatusSources& sources) {
  std::set<std::string> images = sources.diskimages;
  images.insert(sources.images.images().begin(), sources.images.images().end());
  for (const std::string& image : images) {
    const auto builds = sources.images.builds_of(image);
    const bool has_ready = std::ranges::any_of(builds, [](const model::ImageBuild* build) {
      return build->state == model::BuildState::ready;
    });
    const bool is_wanted = sources.diskimages.contains(image) && !sources.images.is_paused(image);
    if (!builds.empty() && builds.front()->state == model::BuildState::failed) {
      add(to, "build-failed",
          fmt::format("the last build of image {} ({}) failed{}", image, builds.front()->id,
                      because(builds.front()->failure)),
          "image", image);
    } else if (!has_ready && is_wanted) {
      add(to, "no-build", fmt::format("image {} has no ready build", image), "image", image);
    }
  }
}

// Considers the last upload of each image to each provider.
void add_uploads(Problems& to, const StatusSources& sources) {
  for (const std::string& image : sources.images.images()) {
    std::map<std::string, const ImageUpload*> last;
    for (const ImageUpload* upload : sources.images.uploads_of(image)) {
      const ImageUpload*& known = last[upload->provider];
      if (known == nullptr || known->state_time < upload->state_time) known = upload;
    }
    for (const auto& [provider, upload] : last) {
      if (upload->state != model::UploadState::failed) continue;
      add(to, "upload-failed",
          fmt::format("the last upload of image {} to {} failed{}", image, provider,
                      because(upload->failure)),
          "image", image);
    }
  }
}

// "90 s", "12 min", "3 h 05 min".
std::string wait_text(double seconds) {
  constexpr double kFewSeconds = 120;
  if (seconds < kFewSeconds) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<std::int64_t>(seconds) / 60;
  if (minutes < 60) return fmt::format("{} min", minutes);
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

void add_requests(Problems& to, const StatusSources& sources) {
  const auto requests = overdue(sources);
  for (std::size_t i = 0; i < std::min(requests.size(), kMaxOfOneKind); ++i) {
    const NodeRequest& request = *requests[i];
    add(to, "request-waits",
        fmt::format("request {} for {} has been waiting for {}: see `nodepool explain {}`",
                    request.id, fmt::join(request.node_types, ", "),
                    wait_text(sources.now - request.stat.created()), request.id),
        "request", request.id);
  }
  if (requests.size() > kMaxOfOneKind) {
    add(to, "requests-wait",
        fmt::format("{} more requests have been waiting too long",
                    requests.size() - kMaxOfOneKind));
  }
}

}  // namespace

std::vector<const NodeRequest*> overdue(const StatusSources& sources) {
  std::vector<const NodeRequest*> requests;
  for (const auto& [id, request] : sources.requests.all()) {
    const bool is_open = request.state == model::RequestState::requested ||
                         request.state == model::RequestState::pending;
    if (is_open && sources.now - request.stat.created() > sources.wait_limit)
      requests.push_back(&request);
  }
  std::ranges::sort(requests, {}, [](const NodeRequest* request) {
    return std::tuple(request->stat.ctime, std::string_view(request->id));
  });
  return requests;
}

std::vector<StatusProblem> status_problems(const StatusSources& sources) {
  Problems problems;
  add_daemons(problems, sources);  // first, as these may be critical
  add_store(problems, sources);
  add_providers(problems, sources);
  add_hosts(problems, sources);
  add_builds(problems, sources);
  add_uploads(problems, sources);
  add_requests(problems, sources);
  return problems;
}

}  // namespace nodepool::report

#include "report/explanation/clouds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <set>

#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/launch_journal.h"

namespace nodepool::report {

namespace {

using driver::Limits;
using driver::PoolConfig;
using driver::Resources;
using model::Node;

// The most nodes in launch that are named.
constexpr std::size_t kMostLaunches = 5;

Resources one_instance() {
  return Resources({{"instances", 1}});
}

// By the cloud, or else by another node with the label. Returns nothing if unknown.
std::optional<Resources> label_resources(const MachineRecords& records,
                                         const ProviderFacts& provider,
                                         const model::Component& pool, const std::string& label) {
  if (provider.offer) return provider.offer->label(pool.name, label).need;
  const auto& known = records.usage.of_provider(pool.provider_name).of_label;
  const auto found = known.find({pool.name, label});
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

std::string describe(const Resources& resources) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : resources.amounts()) {
    const bool is_one = amount == 1 && name == "instances";
    parts.push_back(fmt::format("{} {}", amount, is_one ? "instance" : name));
  }
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string needs_of_all(const MachineRecords& records, const ProviderFacts& provider,
                         const model::Component& pool, const std::vector<std::string>& labels) {
  Resources sum;
  std::set<std::string> unknown;
  for (const std::string& label : labels) {
    const std::optional<Resources> need = label_resources(records, provider, pool, label);
    if (!need) unknown.insert(label);
    sum += need.value_or(one_instance());
  }
  if (unknown.empty()) return describe(sum);
  return fmt::format("{}, plus what the cloud knows of {} (use --online)", describe(sum),
                     fmt::join(unknown, ", "));
}

Resources used_by_pool(const MachineRecords& records, const model::Component& pool) {
  const auto& pools = records.usage.of_provider(pool.provider_name).by_pool;
  const auto found = pools.find(pool.name);
  return found == pools.end() ? Resources() : found->second;
}

std::string describe(const Limits& limits, const Resources& used) {
  std::vector<std::string> parts;
  for (const auto& [name, left] : driver::remaining(limits, used)) {
    parts.push_back(fmt::format("{}: {} used of {}, {} left", name, used.amount(name),
                                limits.at(name), std::max(left, 0.0)));
  }
  return parts.empty() ? "no limits" : fmt::format("{}", fmt::join(parts, "; "));
}

std::string pool_capacity(const MachineRecords& records, const PoolConfig& config,
                          const model::Component& pool) {
  const Resources used = used_by_pool(records, pool);
  if (!config.max_servers || *config.max_servers > 0) return describe(config.limits, used);
  return fmt::format("disabled: max-servers is {}; {} used", *config.max_servers, describe(used));
}

std::string cloud_capacity(const MachineRecords& records, const ProviderFacts& provider,
                           const model::Component& pool) {
  const Resources& of_provider = records.usage.of_provider(pool.provider_name).all;
  if (provider.available) return describe(*provider.available, of_provider);
  if (!provider.failure.empty()) return "not known: " + provider.failure;
  return fmt::format("{} used; use --online to query its quota", describe(of_provider));
}

std::string launches(const MachineRecords& records, const ProviderFacts& provider,
                     const model::Component& pool) {
  const std::vector<std::string>& ids = records.usage.of_provider(pool.provider_name).launches;
  const std::int64_t most = provider.config->max_concurrency();
  std::string text = fmt::format("{} under way", ids.size());
  if (most < 0) return text;
  text += fmt::format(", max-concurrency {}", most);
  const auto is_named = [&](const std::string& id) { return is_visible(records.may_name, id); };
  std::vector<std::string> named;
  std::ranges::copy_if(ids, std::back_inserter(named), is_named);
  if (named.empty() || std::ssize(ids) < most) return text;
  const std::size_t shown = std::min(named.size(), kMostLaunches);
  return fmt::format("{}: node {}{}", text, fmt::join(named | std::views::take(shown), ", "),
                     ids.size() > shown ? ", …" : "");
}

// As configured; empty: none.
std::string diskimage_of(const ProviderFacts& provider, const model::Component& pool,
                         const std::string& label) {
  return provider.config->offer().label(pool.name, label).diskimage;
}

// What the launcher of the pool has in its record.
std::optional<std::string> reported_problem(const MachineRecords& records,
                                            const model::Component& pool,
                                            const std::string& label) {
  const std::string start = model::label_problem_text(pool.provider_name, pool.name, label, "");
  for (const auto& [id, component] : records.components.all()) {
    if (component.hostname != pool.hostname) continue;
    for (const std::string& problem : component.problems) {
      if (problem.starts_with(start)) return problem.substr(start.size());
    }
  }
  return std::nullopt;
}

std::optional<std::string> problem_of(const MachineRecords& records, const ProviderFacts& provider,
                                      const model::Component& pool, const std::string& label) {
  if (provider.offer) {
    const std::string& problem = provider.offer->label(pool.name, label).problem;
    return problem.empty() ? std::nullopt : std::optional(problem);
  }
  if (auto reported = reported_problem(records, pool, label)) return reported;
  const std::string image = diskimage_of(provider, pool, label);
  const bool is_there =
      image.empty() || records.images.newest_ready_upload(image, pool.provider_name) != nullptr;
  if (is_there) return std::nullopt;
  return fmt::format("images are not available: no ready upload of {}", image);
}

// The failure of the last upload or build of the label's image. Returns nothing if the provider has
// the image, or nothing failed.
std::optional<std::string> image_failure(const MachineRecords& records,
                                         const ProviderFacts& provider,
                                         const model::Component& pool, const std::string& label) {
  const std::string image = diskimage_of(provider, pool, label);
  const std::string& name = pool.provider_name;
  if (image.empty() || records.images.newest_ready_upload(image, name)) return std::nullopt;
  const model::ImageUpload* last = nullptr;
  for (const model::ImageUpload* upload : records.images.uploads_of(image)) {
    if (upload->provider != name) continue;
    if (last == nullptr || upload->state_time > last->state_time) last = upload;
  }
  if (last != nullptr) {
    if (!last->failure) return std::nullopt;
    return fmt::format("the last upload of {} has failed: {}", image, *last->failure);
  }
  const auto builds = records.images.builds_of(image);
  if (builds.empty() || !builds.front()->failure) return std::nullopt;
  return fmt::format("the last build of {} has failed: {}", image, *builds.front()->failure);
}

// Adds nothing if no boot of such a machine was measured.
void say_boot_time(Statements& to, const ProviderFacts& provider, const std::string& label) {
  const std::optional<double> usual = usual_boot_time(provider, label);
  if (!usual) return;
  const std::vector<double>& known = provider.boot_times.find(label)->second;
  const auto [shortest, longest] = std::ranges::minmax(known);
  say_of(to, "boots",
         fmt::format("{}: usually {:.1f} s, the last {} took {:.1f} s to {:.1f} s", label, *usual,
                     known.size(), shortest, longest));
}

std::string attempt_text(const ProviderFacts* provider, const driver::LaunchJournal& journal) {
  const std::int64_t attempts = provider == nullptr || provider->config == nullptr
                                    ? 0
                                    : provider->config->offer().launch_attempts;
  // After an outage, there may be one more than configured.
  const std::int64_t all = std::max(attempts, journal.attempt);
  return fmt::format("attempt {}{}{}", journal.attempt,
                     attempts == 0 ? "" : fmt::format(" of {}", all),
                     journal.undo ? ", deleting the resources of the previous attempt" : "");
}

std::string describe(const MachineRecords& records, const driver::LaunchJournal::Step& step) {
  const std::string begun = duration_text(records.now - step.begun);
  if (step.result) return fmt::format("done: {}; begun {} ago", *step.result, begun);
  return fmt::format("begun {} ago, outcome not known yet", begun);
}

}  // namespace

const RecordedUsage::Usage& RecordedUsage::of_provider(const std::string& provider) {
  const auto [found, is_new] = usage_.try_emplace(provider);
  Usage& usage = found->second;
  if (!is_new) return usage;
  for (const std::string& id : nodes_.of_provider(provider)) {
    const Node& node = *nodes_.find(id);
    const std::string pool = node.pool.value_or("");
    const std::optional<Resources> resources = Resources::parse(node.resources);
    usage.all += resources.value_or(one_instance());
    usage.by_pool[pool] += resources.value_or(one_instance());
    if (resources && node.type.size() == 1) {
      usage.of_label.try_emplace({pool, node.type.front()}, *resources);
    }
    if (node.state == model::NodeState::building && nodes_.is_locked(id)) {
      usage.launches.push_back(id);
    }
  }
  return usage;
}

std::int64_t max_concurrency_of(const Providers& providers, std::string_view provider) {
  const auto found = providers.find(provider);
  const bool is_known = found != providers.end() && found->second.config;
  return is_known ? found->second.config->max_concurrency() : -1;
}

std::optional<double> usual_boot_time(const ProviderFacts& provider, const std::string& label) {
  const auto known = provider.boot_times.find(label);
  if (known == provider.boot_times.end()) return std::nullopt;
  driver::BootTimes times;
  times.restore(known->second);
  if (!times.expectation()) return std::nullopt;
  return std::chrono::duration<double>(times.expectation()->usual).count();
}

std::string attempt_of_launch(const ProviderFacts& provider, const Node& node) {
  if (node.launch_journal.is_null()) return {};
  try {
    return attempt_text(&provider, driver::LaunchJournal::parse(node.launch_journal));
  } catch (const model::RecordError&) {
    return {};
  }
}

bool launches_machines(const ProviderFacts& provider) {
  return provider.config != nullptr && provider.config->offer().launch_attempts > 0;
}

void explain_capacity(Statements& to, const MachineRecords& records, const ProviderFacts& provider,
                      const model::Component& pool, const std::vector<std::string>& labels) {
  if (provider.config == nullptr) {
    say(to, "unknown", "its configuration on this host is invalid: " + provider.failure);
    return;
  }
  const auto found = provider.config->pools().find(pool.name);
  if (!launches_machines(provider) || found == provider.config->pools().end()) return;
  const PoolConfig& config = found->second;
  say_of(to, "needs", needs_of_all(records, provider, pool, labels));
  say_of(to, "pool", pool_capacity(records, config, pool));
  say_of(to, "provider",
         config.ignore_provider_quota ? "its quota is ignored"
                                      : cloud_capacity(records, provider, pool));
  say_of(to, "launches", launches(records, provider, pool));
  for (const std::string& label : std::set<std::string>(labels.begin(), labels.end())) {
    if (!config.labels.contains(label)) continue;
    if (const auto problem = problem_of(records, provider, pool, label)) {
      say_of(to, "label", fmt::format("{}: {}", label, *problem));
    }
    if (const auto failure = image_failure(records, provider, pool, label)) {
      say_of(to, "image", *failure);
    }
    say_boot_time(to, provider, label);
  }
}

void explain_launch(Statements& to, const MachineRecords& records, const ProviderFacts* provider,
                    const Node& node) {
  if (node.launch_journal.is_null()) return;
  driver::LaunchJournal journal;
  try {
    journal = driver::LaunchJournal::parse(node.launch_journal);
  } catch (const model::RecordError& error) {
    say_of(to, "launch", error.what());
    return;
  }
  say_of(to, "launch", attempt_text(provider, journal));
  for (const auto& [name, step] : journal.steps) {
    say_of(to, "step", fmt::format("{} {}", name, describe(records, step)));
  }
  if (provider == nullptr) return;
  for (const std::string& label : node.type) say_boot_time(to, *provider, label);
}

}  // namespace nodepool::report

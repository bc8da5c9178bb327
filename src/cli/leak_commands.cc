#include <algorithm>
#include <exception>
#include <ostream>

#include "cli/commands.h"
#include "cli/own_provider.h"
#include "cli/show.h"
#include "report/leak_listing.h"

namespace nodepool::cli {

namespace {

Task<> find_leaks(driver::Provider& provider, std::vector<driver::Leak>& leaks) {
  if (auto* launching = provider.launching()) leaks = co_await launching->leaks();
}

Task<std::vector<driver::Leak>> leaks_of(Session& session, const config::ProviderSection& section) {
  std::vector<driver::Leak> leaks;
  const std::function<Task<>(driver::Provider&)> find = [&leaks](driver::Provider& provider) {
    return find_leaks(provider, leaks);
  };
  Task<> finding = with_own_provider(session, section, find);
  co_await std::move(finding);
  co_return leaks;
}

const config::ProviderSection* find_section(Session& session, const std::string& provider) {
  const auto& all = session.config().providers;
  const auto found = std::ranges::find(all, provider, &config::ProviderSection::name);
  return found == all.end() ? nullptr : &*found;
}

// Returns the exit status.
int refuse_provider(const Context& context, const std::string& provider) {
  context.err << "There is no provider " << provider << " in the configuration.\n";
  return 1;
}

// The ids that are not in `leaks`.
std::vector<std::string> unknown_ids(const std::vector<std::string>& ids,
                                     const std::vector<driver::Leak>& leaks) {
  std::vector<std::string> unknown;
  std::ranges::copy_if(ids, std::back_inserter(unknown), [&leaks](const std::string& id) {
    return std::ranges::find(leaks, id, &driver::Leak::id) == leaks.end();
  });
  return unknown;
}

// Deletes the leaks with these ids and prints each result; a failure sets `status` to 1. The leaks
// are listed again, so a resource that has a record by now is not deleted.
Task<> delete_leaks(driver::Provider& provider, const std::vector<std::string>& ids,
                    Context& context, int& status) {
  driver::LaunchingProvider* const launching = provider.launching();
  std::vector<driver::Leak> leaks;
  if (launching != nullptr) leaks = co_await launching->leaks();
  for (const std::string& id : unknown_ids(ids, leaks)) {
    context.err << "Provider " << provider.config().name() << " has no leak with ID " << id
                << ".\n";
    status = 1;
  }
  for (const driver::Leak& leak : leaks) {
    if (std::ranges::find(ids, leak.id) == ids.end()) continue;
    std::string failure;
    try {
      co_await launching->remove_leak(leak);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (failure.empty()) {
      context.out << "Deleted " << leak.type << " " << leak.id << ".\n" << std::flush;
      continue;
    }
    context.err << "Cannot delete " << leak.type << " " << leak.id << ": " << failure << "\n";
    status = 1;
  }
}

}  // namespace

Task<int> perform(Session& session, ListLeaks command) {
  if (!command.provider.empty() && find_section(session, command.provider) == nullptr) {
    co_return refuse_provider(session.context(), command.provider);
  }
  const telemetry::Logger log = session.logger("nodepool.NodePoolCmd");
  report::Table table = report::leak_columns();
  bool all_answered = true;
  for (const config::ProviderSection& section : session.config().providers) {
    if (!command.provider.empty() && section.name != command.provider) continue;
    std::string failure;
    try {
      const std::vector<driver::Leak> leaks = co_await leaks_of(session, section);
      for (const driver::Leak& leak : leaks) report::add_leak(table, section.name, leak);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (failure.empty()) continue;
    all_answered = false;
    log.error("Provider {} cannot be queried: {}", section.name, failure);
  }
  print(session.context(), table, command.listing);
  co_return all_answered ? 0 : 1;
}

Task<int> perform(Session& session, DeleteLeaks command) {
  Context& context = session.context();
  const config::ProviderSection* section = find_section(session, command.provider);
  if (section == nullptr) co_return refuse_provider(context, command.provider);
  int status = 0;
  const std::function<Task<>(driver::Provider&)> remove = [&](driver::Provider& provider) {
    return delete_leaks(provider, command.ids, context, status);
  };
  Task<> removing = with_own_provider(session, *section, remove);
  co_await std::move(removing);
  co_return status;
}

}  // namespace nodepool::cli

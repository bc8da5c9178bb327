#include "model/host_table.h"

#include <utility>

#include "model/paths.h"

namespace nodepool::model {

HostTable::HostTable(const async::Runtime& runtime, coordination::Store& store,
                     telemetry::Logger log)
    : RecordTable(runtime, store, kHostsRoot, std::move(log)) {}

std::vector<HostReport> HostTable::reports() const {
  std::vector<HostReport> reports;
  reports.reserve(all().size());
  for (const auto& [id, report] : all()) reports.push_back(report);
  sort_reports(reports);
  return reports;
}

coordination::TreeListener::Interest HostTable::interest(std::string_view path) const {
  return path.find('/') == std::string_view::npos ? Interest::data : Interest::none;
}

void HostTable::on_changed(std::string_view path, const coordination::Entry& entry) {
  record_changed(path, entry);
}

void HostTable::on_removed(std::string_view path) {
  record_removed(path);
}

HostReport HostTable::parse(std::string /*id*/, const coordination::Entry& entry) const {
  return parse_host_report(entry);
}

void HostTable::unindex(const HostReport&) {}
void HostTable::index(const HostReport&) {}

}  // namespace nodepool::model

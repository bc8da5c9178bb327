#include "model/host_report.h"

#include <algorithm>
#include <tuple>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "model/record_io.h"

namespace nodepool::model {

using coordination::Task;

HostReport parse_host_report(const coordination::Entry& entry) {
  record_io::Reader reader(entry.data);
  HostReport report;
  reader.field("provider", report.provider);
  reader.field("pool", report.pool);
  reader.field("host", report.host);
  reader.field("username", report.username);
  reader.field("port", report.port);
  reader.field("labels", report.labels);
  reader.field("problem", report.problem);
  reader.field("since", report.since);
  reader.field("next_check", report.next_check);
  reader.field("launcher", report.launcher);
  return report;
}

std::string to_record(const HostReport& report) {
  record_io::Writer writer;
  writer.field("provider", report.provider);
  writer.field("pool", report.pool);
  writer.field("host", report.host);
  writer.field("username", report.username);
  writer.field("port", report.port);
  writer.field("labels", report.labels);
  writer.field("problem", report.problem);
  writer.field("since", report.since);
  writer.field("next_check", report.next_check);
  writer.field("launcher", report.launcher);
  return writer.text();
}

void sort_reports(std::vector<HostReport>& reports) {
  std::ranges::sort(reports, {}, [](const HostReport& report) {
    return std::tie(report.host, report.port, report.provider, report.launcher);
  });
}

Task<std::vector<HostReport>> read_host_reports(coordination::Store& store) {
  std::vector<HostReport> reports;
  const std::vector<std::string> names =
      co_await coordination::find_children(store, std::string(kHostsRoot));
  for (const std::string& name : names) {
    const std::optional<coordination::Entry> entry =
        co_await coordination::find(store, coordination::join_path(kHostsRoot, name));
    if (!entry) continue;  // healthy again
    try {
      reports.push_back(parse_host_report(*entry));
    } catch (const RecordError&) {
      // Not a report.
    }
  }
  sort_reports(reports);
  co_return reports;
}

}  // namespace nodepool::model

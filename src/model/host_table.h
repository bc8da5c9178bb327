#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/host_report.h"
#include "model/record_table.h"

namespace nodepool::model {

// The reports of all launchers about unhealthy hosts. For display only.
class HostTable final : public RecordTable<HostReport> {
 public:
  HostTable(const async::Runtime& runtime, coordination::Store& store, telemetry::Logger log);

  // All reports, by host and port.
  std::vector<HostReport> reports() const;

 private:
  Interest interest(std::string_view path) const override;
  void on_changed(std::string_view path, const coordination::Entry& entry) override;
  void on_removed(std::string_view path) override;
  HostReport parse(std::string id, const coordination::Entry& entry) const override;
  void unindex(const HostReport& report) override;
  void index(const HostReport& report) override;
};

}  // namespace nodepool::model

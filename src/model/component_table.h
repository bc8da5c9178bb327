#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/component.h"
#include "model/record_table.h"

namespace nodepool::model {

// All running components; the ids are "<kind>/<hostname><sequence>".
class ComponentTable final : public RecordTable<Component> {
 public:
  ComponentTable(const async::Runtime& runtime, coordination::Store& store, telemetry::Logger log);

  // The registered pools of all launchers.
  std::vector<const Component*> pools() const;

  // By provider, a pool of a launcher of the Python Nodepool. Valid until the next change.
  std::map<std::string_view, const Component*> python_pools() const;

  // The providers that launchers of both this Nodepool and the Python Nodepool serve, each with a
  // sentence for people.
  std::map<std::string, std::string> providers_of_both_kinds() const;

  // The labels that they support. Valid until the next change.
  std::set<std::string_view> supported_labels() const;

 private:
  Interest interest(std::string_view path) const override;
  void on_changed(std::string_view path, const coordination::Entry& entry) override;
  void on_removed(std::string_view path) override;
  Component parse(std::string id, const coordination::Entry& entry) const override;
  void unindex(const Component& component) override;
  void index(const Component& component) override;
};

}  // namespace nodepool::model

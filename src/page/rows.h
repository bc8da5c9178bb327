#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/entry.h"
#include "model/component.h"
#include "model/host_report.h"
#include "model/image_table.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "page/facts.h"

// What the page is told of each thing, as JSON objects. Times are seconds since the epoch. What
// helps to log in to a node is not among it.
namespace nodepool::page {

// `asked`: when its request was made, if that is known.
std::string node_row(const model::Node& node, bool is_locked, std::optional<double> asked);

// `nodes`: those that it holds.
std::string request_row(const model::NodeRequest& request, const model::IdSet& nodes,
                        const std::vector<Opinion>& opinions);

// With its builds, the newest first, and their uploads.
std::string image_row(const model::ImageTable& images, const std::string& image);

std::string component_row(const std::string& id, const model::Component& component);

// `id`: of its report.
std::string host_row(const std::string& id, const model::HostReport& host);

// `id` is its place in the list.
std::string problem_row(const std::string& id, const Problem& problem);

std::string provider_row(const ProviderFacts& provider);

// Something that went wrong. `id` orders them.
std::string failure_row(const std::string& id, const history::Entry& entry);

}  // namespace nodepool::page

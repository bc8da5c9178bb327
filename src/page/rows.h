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

// The rows of the status page as JSON objects. Times are seconds since the epoch. Rows contain no
// login data of nodes.
namespace nodepool::page {

// `requested`: creation time of its request, if known.
std::string node_row(const model::Node& node, bool is_locked, std::optional<double> requested);

// `nodes`: ids of the nodes that are allocated to it.
std::string request_row(const model::NodeRequest& request, const model::IdSet& nodes,
                        const std::vector<PoolDecision>& opinions);

// Includes its builds, newest first, and their uploads.
std::string image_row(const model::ImageTable& images, const std::string& image);

std::string configured_image_row(const ConfiguredImage& image);

std::string component_row(const std::string& id, const model::Component& component);

// `id`: of the report.
std::string host_row(const std::string& id, const model::HostReport& host);

// `id`: its index in the list.
std::string problem_row(const std::string& id, const PageProblem& problem);

std::string provider_row(const ProviderView& provider);

// A failure from the history.
std::string failure_row(const std::string& id, const history::JournalEntry& entry);

}  // namespace nodepool::page

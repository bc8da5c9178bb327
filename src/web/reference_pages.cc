#include "web/reference_pages.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "report/image_listings.h"
#include "report/listings.h"
#include "report/rendering/table_text.h"
#include "web/error_pages.h"
#include "web/http_date.h"

namespace nodepool::web {

namespace {

using report::Ages;
using report::Detail;
using report::Table;

// Whoever asks again within that is shown the same.
constexpr double kKept = 1;  // seconds

// Bodies of some megabytes each: clients that ask in many ways cost no more memory.
constexpr std::size_t kMostKept = 16;

constexpr std::string_view kLists[] = {"/node-list",    "/image-list",   "/dib-image-list",
                                       "/image-status", "/request-list", "/label-list"};

std::string content_type(bool is_json) {
  return is_json ? "application/json" : "text/plain; charset=UTF-8";
}

// A node that is asked for by its id: nobody looks at its lock.
Table one_node(const model::NodeTable& nodes, const std::string& id, double now) {
  Table table = report::node_columns(Detail::full);
  if (const model::Node* node = nodes.find(id)) {
    report::add_node(table, *node, /*locked=*/false, now, Detail::full);
  }
  return table;
}

// Of all registered pools.
Table labels(const model::ComponentTable& components) {
  std::set<std::string> labels;
  for (const model::Component* pool : components.pools()) {
    labels.insert(pool->supported_labels.begin(), pool->supported_labels.end());
  }
  Table table({{"label", "Label"}});
  for (const std::string& label : labels) table.add({model::json_string(label)});
  return table;
}

std::set<std::string, std::less<>> fields_of(std::string_view text) {
  std::set<std::string, std::less<>> fields;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    fields.emplace(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return fields;
}

// What makes one body another one: the other parameters do not.
std::string key_of(const Request& request, bool is_json) {
  std::string key = request.path + (is_json ? " json" : " text");
  for (const char* name : {"node_id", "fields"}) {
    const std::string* value = request.parameter(name);
    if (value != nullptr) key.append("\n").append(name).append("=").append(*value);
  }
  return key;
}

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The part that a Range header asks for (RFC 9110, 14.2): first and length. Nothing for what is no
// single range of bytes: then all is sent. A length of 0: there is no such part.
std::optional<std::pair<std::size_t, std::size_t>> part_of(std::string_view range,
                                                           std::size_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!range.starts_with(kUnit)) return std::nullopt;
  range.remove_prefix(kUnit.size());
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<std::size_t> first = number(range.substr(0, dash));
  const std::optional<std::size_t> last = number(range.substr(dash + 1));
  if (!first && last) return std::pair(size - std::min(*last, size), std::min(*last, size));
  if (!first || (!last && dash + 1 < range.size()) || (last && *last < *first)) return std::nullopt;
  if (*first >= size) return std::pair(std::size_t{0}, std::size_t{0});
  return std::pair(*first, std::min(last.value_or(size), size - 1) - *first + 1);
}

// Only what the client does not have, or has asked for.
Response conditional(Response response, const Request& request, std::int64_t produced) {
  if (const std::string* since = request.header("if-modified-since")) {
    if (const auto moment = parse_http_date(*since); moment && *moment >= produced) {
      response.status = 304;
      response.body = nullptr;
      return response;
    }
  }
  const std::string* range = request.header("range");
  if (range == nullptr) return response;
  const std::size_t size = response.body->size();
  const auto part = part_of(*range, size);
  if (!part) return response;
  const auto [first, length] = *part;
  if (length == 0) {
    return {416, {{"Content-Range", "bytes */" + std::to_string(size)}}, nullptr};
  }
  response.status = 206;
  response.headers.emplace_back("Content-Range", "bytes " + std::to_string(first) + "-" +
                                                     std::to_string(first + length - 1) + "/" +
                                                     std::to_string(size));
  response.body = std::make_shared<const std::string>(response.body->substr(first, length));
  return response;
}

}  // namespace

ReferencePages::ReferencePages(const async::Runtime& runtime, model::Records& records)
    : runtime_(runtime), records_(records) {}

async::Task<Response> ReferencePages::answer(Request request) {
  const std::optional<MediaType> type = negotiate(request.header("accept"));
  if (!type) co_return error_page(406, "There is only text and application/json.", request);
  if (std::ranges::find(kLists, request.path) == std::end(kLists)) {
    co_return error_page(404, "The resource could not be found.", request);
  }
  co_await records_.until_ready();
  const bool is_json = *type == MediaType::json;
  const Kept kept = body_of(request, is_json);
  const auto produced = static_cast<std::int64_t>(kept.produced);
  co_return conditional({200,
                         {{"Content-Type", content_type(is_json)},
                          {"Access-Control-Allow-Origin", "*"},
                          {"Cache-Control", "max-age=1, public"},
                          {"Last-Modified", http_date(produced)},
                          {"Expires", http_date(produced + 1)}},
                         kept.body},
                        request, produced);
}

ReferencePages::Kept ReferencePages::body_of(const Request& request, bool is_json) {
  const double now = runtime_.clock.wall_seconds();
  forget_old(now);
  const std::string key = key_of(request, is_json);
  if (const auto known = kept_.find(key); known != kept_.end()) return known->second;
  Table table = listing(request, is_json, now);
  const std::string* fields = request.parameter("fields");
  if (!is_json && fields != nullptr && !fields->empty()) table = table.only(fields_of(*fields));
  const Kept made{now, std::make_shared<const std::string>(is_json ? report::table_json(table)
                                                                   : report::table_text(table))};
  if (kept_.size() < kMostKept) kept_.emplace(key, made);
  return made;
}

void ReferencePages::forget_old(double now) {
  std::erase_if(kept_, [now](const auto& entry) {
    return std::abs(now - entry.second.produced) >= kKept;  // the clock may have been set back
  });
}

Table ReferencePages::listing(const Request& request, bool is_json, double now) const {
  const Ages ages = is_json ? Ages::moments : Ages::spans;
  if (request.path == "/node-list") {
    const std::string* id = request.parameter("node_id");
    if (id != nullptr && !id->empty()) return one_node(records_.nodes, *id, now);
    return report::node_listing(records_.nodes, now, Detail::full);
  }
  if (request.path == "/image-list") {
    Table table = report::upload_listing(records_.images, now, ages);
    table.sort_by({"image", "id", "provider", "upload_id"});
    return table;
  }
  if (request.path == "/dib-image-list") {
    Table table = report::build_listing(records_.images, now, ages);
    table.sort_by({"image", "id"});
    return table;
  }
  if (request.path == "/image-status") {
    return report::image_status_listing(records_.images, now, ages);
  }
  if (request.path == "/label-list") return labels(records_.components);
  return report::request_listing(records_.requests);
}

}  // namespace nodepool::web

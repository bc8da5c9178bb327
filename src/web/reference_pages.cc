#include "web/reference_pages.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "report/image_listings.h"
#include "report/listings.h"
#include "report/rendering/table_text.h"
#include "web/error_pages.h"
#include "web/http_date.h"
#include "web/negotiation.h"

namespace nodepool::web {

namespace {

using report::Ages;
using report::Detail;
using report::Table;

// How long a rendering is reused.
constexpr double kCacheTime = 1;  // seconds

// Bodies have some megabytes. These limit the memory and the waiting time that clients with many
// different column selections can cause.
constexpr std::size_t kMaxCached = 4;  // renderings of a list
constexpr std::size_t kMaxWaiting = 64;

// Number of rows between two yields to the event loop: about a millisecond.
constexpr std::size_t kSlice = 200;

constexpr std::string_view kLists[] = {"/node-list",    "/image-list",   "/dib-image-list",
                                       "/image-status", "/request-list", "/label-list"};

// The policy of lists: dashboards embed them in frames, which the server's default forbids.
constexpr std::string_view kEmbeddable = "default-src 'none'";

std::string content_type(bool is_json) {
  return is_json ? "application/json" : "text/plain; charset=UTF-8";
}

// The page of a single node. As in the Python Nodepool, its lock is not read.
Table one_node(const model::NodeTable& nodes, const std::string& id, double now) {
  Table table = report::node_columns(Detail::full);
  if (const model::Node* node = nodes.find(id)) {
    report::add_node(table, *node, /*locked=*/false, now, Detail::full);
  }
  return table;
}

// Of all registered pools.
Table labels(const model::ComponentTable& components) {
  Table table({{"label", "Label"}});
  for (const std::string_view label : components.supported_labels()) {
    table.add({model::json_string(label)});
  }
  return table;
}

using Keys = std::set<std::string, std::less<>>;

Keys keys_of(const Table& table) {
  Keys keys;
  for (const report::Column& column : table.columns()) keys.insert(column.key);
  return keys;
}

bool has_selected_columns(const Request& request, bool is_json) {
  const std::string* fields = request.parameter("fields");
  return !is_json && fields != nullptr && !fields->empty();
}

// The columns that the request selects. JSON always has all.
Keys columns_of(const Keys& all, const Request& request, bool is_json) {
  if (!has_selected_columns(request, is_json)) return all;
  Keys selected;
  for (std::string_view rest = *request.parameter("fields"); !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const auto known = all.find(rest.substr(0, end));
    if (known != all.end()) selected.insert(*known);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return selected;
}

std::string text_of(const Table& table, const Keys& columns) {
  return report::table_text(columns.size() == table.columns().size() ? table : table.only(columns));
}

// Adds a row for each record, by id. It yields to the event loop in between, so the rows may be of
// different times.
template <typename Record, typename Add>
async::Task<> add_rows(const std::map<std::string, Record, std::less<>>& records, Add add) {
  std::string last;
  for (auto at = records.begin(); at != records.end(); at = records.upper_bound(last)) {
    for (std::size_t i = 0; i < kSlice && at != records.end(); ++i, ++at) {
      add(at->second);
      last = at->first;
    }
    co_await boost::asio::post(boost::asio::use_awaitable);
  }
}

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The offset and length that a Range header requests (RFC 9110, 14.2). Returns nothing unless it is
// a single range of bytes: then all is sent. Length 0: not satisfiable.
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

// Applies If-Modified-Since and Range.
Response conditional(Response response, const Request& request, std::int64_t produced) {
  if (const std::string* since = request.header("if-modified-since")) {
    if (const auto time = parse_http_date(*since); time && *time >= produced) {
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

// Counts a waiting request with selected columns.
class ReferencePages::Waiting {
 public:
  explicit Waiting(std::size_t& count) : count_(count) { ++count_; }
  ~Waiting() { --count_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::size_t& count_;
};

ReferencePages::ReferencePages(const async::Runtime& runtime, model::Records& records)
    : runtime_(runtime), records_(records) {}

std::set<std::string> ReferencePages::paths() {
  return {std::begin(kLists), std::end(kLists)};
}

async::Task<Response> ReferencePages::answer(Request request) {
  const std::optional<MediaType> type = negotiate(request.header("accept"));
  if (!type) co_return error_page(406, "Only text and application/json are available.", request);
  if (std::ranges::find(kLists, request.path) == std::end(kLists)) {
    co_return error_page(404, "The resource could not be found.", request);
  }
  if (!co_await records_.ready_by(runtime_.clock.now() + kRecordsTimeout)) {
    co_return incomplete_records_page(request);
  }
  const bool is_json = *type == MediaType::json;
  const std::optional<Page> page = co_await page_of(request, is_json);
  if (!page) {
    Response response =
        error_page(503, "Too many requests with selected columns; retry later.", request);
    response.headers.emplace_back("Retry-After", "1");
    co_return response;
  }
  const auto produced = static_cast<std::int64_t>(page->produced);
  co_return conditional({200,
                         {{"Content-Type", content_type(is_json)},
                          {"Access-Control-Allow-Origin", "*"},
                          {"Content-Security-Policy", std::string(kEmbeddable)},
                          {"Cache-Control", "max-age=1, public"},
                          {"Last-Modified", http_date(produced)},
                          {"Expires", http_date(produced + 1)}},
                         page->body},
                        request, produced);
}

// Returns nothing if too many requests are waiting.
async::Task<std::optional<ReferencePages::Page>> ReferencePages::page_of(const Request& request,
                                                                         bool is_json) {
  const std::string* id = request.parameter("node_id");
  if (request.path == "/node-list" && id != nullptr && !id->empty()) {
    co_return node_page(request, *id, is_json);
  }
  if (std::optional<Page> known = find_page(request, is_json)) co_return known;
  std::optional<Waiting> waiting;
  if (has_selected_columns(request, is_json)) {
    if (waiting_ >= kMaxWaiting) co_return std::nullopt;
    waiting.emplace(waiting_);
  }
  const async::Slots::Hold turn = co_await turn_.take();
  if (std::optional<Page> known = find_page(request, is_json)) co_return known;
  co_return co_await render(request, is_json);
}

ReferencePages::Page ReferencePages::node_page(const Request& request, const std::string& id,
                                               bool is_json) const {
  const double now = runtime_.clock.wall_seconds();
  const Table node = one_node(records_.nodes, id, now);
  const Keys columns = columns_of(keys_of(node), request, is_json);
  return {now, std::make_shared<const std::string>(is_json ? report::table_json(node)
                                                           : text_of(node, columns))};
}

// Returns the cached list; null if there is none of the last second.
std::shared_ptr<ReferencePages::Listing> ReferencePages::find_listing(const std::string& path,
                                                                      bool is_json) const {
  const auto found = listings_.find({path, is_json});
  if (found == listings_.end()) return nullptr;
  // The clock may have been set back.
  const double age = std::abs(runtime_.clock.wall_seconds() - found->second->produced);
  return age < kCacheTime ? found->second : nullptr;
}

std::optional<ReferencePages::Page> ReferencePages::find_page(const Request& request,
                                                              bool is_json) const {
  const std::shared_ptr<Listing> listing = find_listing(request.path, is_json);
  if (!listing) return std::nullopt;
  const auto body = listing->bodies.find(columns_of(listing->columns, request, is_json));
  if (body == listing->bodies.end()) return std::nullopt;
  return Page{listing->produced, body->second};
}

// The caller holds the turn. Work that grows with the number of rows runs in slices (the table) or
// on a thread (the text, freeing the previous table).
async::Task<ReferencePages::Page> ReferencePages::render(const Request& request, bool is_json) {
  std::shared_ptr<Listing> before;
  std::shared_ptr<Listing> listing = find_listing(request.path, is_json);
  if (!listing || !listing->table) {
    listing = std::make_shared<Listing>(Listing{.produced = runtime_.clock.wall_seconds()});
    Table table = co_await table_of(request.path, is_json, listing->produced);
    listing->columns = keys_of(table);
    listing->table = std::make_shared<const Table>(std::move(table));
    before = std::exchange(listings_[{request.path, is_json}], listing);
  }
  const Keys columns = columns_of(listing->columns, request, is_json);
  std::shared_ptr<const Table> table = listing->table;
  if (is_json) listing->table.reset();
  auto make = [table = std::move(table), before = std::move(before), columns, is_json]() mutable {
    before.reset();
    std::string text = is_json ? report::table_json(*table) : text_of(*table, columns);
    table.reset();
    return text;
  };
  async::Task<std::string> making = threads_.run("rendering a page", std::move(make));
  Body body = std::make_shared<const std::string>(co_await std::move(making));
  const bool is_kept = columns.size() == listing->columns.size();
  if (is_kept || listing->bodies.size() < kMaxCached) listing->bodies.emplace(columns, body);
  co_return Page{listing->produced, std::move(body)};
}

async::Task<Table> ReferencePages::table_of(const std::string& path, bool is_json,
                                            double now) const {
  const Ages ages = is_json ? Ages::moments : Ages::spans;
  if (path == "/node-list") co_return co_await nodes(now);
  if (path == "/request-list") co_return co_await requests();
  if (path == "/image-list") {
    Table table = report::upload_listing(records_.images, now, ages);
    table.sort_by({"image", "id", "provider", "upload_id"});
    co_return table;
  }
  if (path == "/dib-image-list") {
    Table table = report::build_listing(records_.images, now, ages);
    table.sort_by({"image", "id"});
    co_return table;
  }
  if (path == "/image-status") {
    co_return report::image_status_listing(records_.images, now, ages);
  }
  co_return labels(records_.components);
}

async::Task<Table> ReferencePages::nodes(double now) const {
  Table table = report::node_columns(Detail::full);
  const auto add = [this, &table, now](const model::Node& node) {
    report::add_node(table, node, records_.nodes.is_locked(node.id), now, Detail::full);
  };
  async::Task<> adding = add_rows(records_.nodes.all(), add);
  co_await std::move(adding);
  co_return table;
}

async::Task<Table> ReferencePages::requests() const {
  Table table = report::request_columns();
  const auto add = [&table](const model::NodeRequest& request) {
    report::add_request(table, request, 0);
  };
  async::Task<> adding = add_rows(records_.requests.all(), add);
  co_await std::move(adding);
  co_return table.with(Detail::brief);
}

}  // namespace nodepool::web

#include "page/status_page.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "model/image_build.h"
#include "page/assets.h"
#include "page/build_log_tail.h"
#include "page/row_text.h"
#include "web/error_pages.h"
#include "web/negotiation.h"

namespace nodepool::page {

using async::Task;
using web::Request;
using web::Response;

namespace {

constexpr std::string_view kRows = "/page/rows";
constexpr std::string_view kChanges = "/page/changes";
constexpr std::string_view kTrends = "/page/trends";
constexpr std::string_view kBuildLog = "/page/build-log";

// After this the client reconnects and is authorized again.
constexpr auto kLongestStream = std::chrono::minutes(10);

constexpr std::string_view kStaleEvent =
    "event: stale\n"
    "data: {\"reason\":\"The launcher has lost its store: records may be out of date\"}\n\n";
constexpr std::string_view kCurrentEvent = "event: current\ndata: {}\n\n";

constexpr auto kPing = web::kStreamSilence - std::chrono::seconds(1);

Response json_page(std::shared_ptr<const std::string> text) {
  return {
      200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}}, std::move(text)};
}

std::string parameter(const Request& request, std::string_view name) {
  const std::string* value = request.parameter(name);
  return value == nullptr ? std::string() : *value;
}

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

StatusPage::StatusPage(const async::Runtime& runtime, model::Records& records,
                       const telemetry::Logger& log, Options options)
    : runtime_(runtime),
      records_(records),
      build_logs_(std::move(options.build_logs)),
      threads_(1, "status page"),
      feed_(runtime, records, log, std::move(options.sources), options.journal),
      trend_sampler_(runtime, records, threads_, log, options.journal) {}

StatusPage::Part StatusPage::part_of(const Request& request) {
  const std::string& path = request.path;
  if (path == kRows || path == kChanges || path == kTrends || path == kBuildLog) return Part::data;
  if (!asset(request)) return Part::none;
  const bool is_start = path == "/";
  const bool is_for_people =
      !is_start || web::negotiate(request.header("accept")) == web::MediaType::html;
  return is_for_people ? Part::file : Part::none;
}

bool StatusPage::is_build_log(const Request& request) {
  return request.path == kBuildLog;
}

Task<Response> StatusPage::answer(Request request) {
  if (request.method != "GET" && request.method != "HEAD") {
    Response response = web::error_page(405, "Method not allowed; use GET.", request);
    response.headers.emplace_back("Allow", "GET, HEAD");
    co_return response;
  }
  if (request.path == kTrends) co_return show_trends(request);
  if (const std::optional<Response> file = asset(request)) co_return *file;
  if (part_of(request) != Part::data) {
    co_return web::error_page(404, "The resource could not be found.", request);
  }
  if (!co_await records_.ready_by(runtime_.clock.now() + web::kRecordsTimeout)) {
    co_return web::incomplete_records_page(request);
  }
  if (request.path == kBuildLog) co_return co_await show_build_log(std::move(request));
  feed_.activate();
  co_return request.path == kRows ? json_page(feed_.rows()) : show_changes(request);
}

void StatusPage::start() {
  trend_sampler_.start();
}

Task<> StatusPage::stop() {
  co_await trend_sampler_.stop();
  co_await feed_.stop();
}

Response StatusPage::show_changes(const Request& request) {
  Response response{200,
                    {{"Content-Type", "text/event-stream"},
                     {"Cache-Control", "no-store"},
                     {"X-Accel-Buffering", "no"}}};  // proxies must not buffer it
  if (request.method == "HEAD") return response;
  response.stream = [this, after = parameter(request, "after")](web::StreamSink& sink) {
    return stream_changes(after, sink);
  };
  return response;
}

Task<> StatusPage::stream_changes(std::string revision, web::StreamSink& sink) {
  const Feed::Viewer viewer(feed_);
  const async::Clock::TimePoint end = runtime_.clock.now() + kLongestStream;
  // Sent at once: tells the client that it is connected, and the time of the server's clock.
  std::string greeting =
      fmt::format("event: hello\ndata: {{\"now\":{:.2f}}}\n\n", runtime_.clock.wall_seconds());
  bool is_taken = co_await sink.send(std::move(greeting));
  bool is_current = true;
  while (is_taken && runtime_.clock.now() < end) {
    if (std::exchange(is_current, records_.ready()) != records_.ready()) {
      std::string event(is_current ? kCurrentEvent : kStaleEvent);
      is_taken = co_await sink.send(std::move(event));
    }
    auto messages = feed_.since(revision);
    if (!messages) {
      co_await sink.send("event: behind\ndata: {}\n\n");
      co_return;
    }
    revision = feed_.revision();
    const bool is_newer = !messages->empty();
    // A slow client must not keep old messages in memory. If they are dropped meanwhile, it has to
    // load all rows again.
    const std::vector<std::weak_ptr<const std::string>> rest(messages->begin(), messages->end());
    messages->clear();
    for (const auto& message : rest) {
      RowChanges::Text text = message.lock();
      if (!text) {
        co_await sink.send("event: behind\ndata: {}\n\n");
        co_return;
      }
      is_taken = is_taken && co_await sink.send(std::move(text));
    }
    if (is_newer) continue;
    const async::Clock::TimePoint ping = runtime_.clock.now() + kPing;
    co_await feed_.wait_for_changes(ping);
    if (runtime_.clock.now() >= ping) is_taken = co_await sink.send(":\n\n");
  }
}

Response StatusPage::show_trends(const Request& request) {
  const std::string of = parameter(request, "of");
  const std::string* name = request.parameter("name");
  std::optional<Trends::Kind> kind;
  if (of == "all") kind = Trends::Kind::all;
  if (of == "label") kind = Trends::Kind::label;
  if (of == "provider") kind = Trends::Kind::provider;
  if (!kind) return web::error_page(400, "`of` must be all, label or provider.", request);
  if (name == nullptr && kind != Trends::Kind::all) return json_page(trend_sampler_.all(*kind));
  std::string text = trend_sampler_.trends().one(
      *kind, name == nullptr ? "" : *name, trend_sampler_.now(), runtime_.clock.wall_seconds());
  return json_page(std::make_shared<const std::string>(std::move(text)));
}

// The file name comes from a record, not from the request.
Task<Response> StatusPage::show_build_log(Request request) {
  const model::ImageBuild* build =
      records_.images.find_build(parameter(request, "image"), parameter(request, "build"));
  if (build == nullptr) co_return web::error_page(404, "Build not found.", request);
  const std::string path =
      std::filesystem::path(build_logs_) / model::build_log_name(build->image, build->id);
  const bool is_in_progress = build->state == model::BuildState::building;
  auto read = [path, from = number(parameter(request, "from"))] { return read_tail(path, from); };
  const std::optional<FilePart> part =
      co_await threads_.run("reading the log of a build", std::move(read));
  if (!part) co_return web::error_page(404, "This host does not have the log.", request);
  RowText row;
  row.number("begin", static_cast<double>(part->begin));
  row.number("end", static_cast<double>(part->begin) + static_cast<double>(part->text.size()));
  row.truth("going_on", is_in_progress).text("text", part->text);
  co_return json_page(std::make_shared<const std::string>(row.str() + "\n"));
}

}  // namespace nodepool::page

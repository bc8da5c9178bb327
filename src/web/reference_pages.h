#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "async/runtime.h"
#include "async/slots.h"
#include "async/thread_pool.h"
#include "model/records.h"
#include "report/table.h"
#include "web/message.h"

namespace nodepool::web {

// The pages of the Python Nodepool's web app, from the tables in memory: /node-list, /image-list,
// /dib-image-list, /image-status, /request-list, /label-list. Text pages are the tables of the
// commands; programs request JSON. Other paths are 404. Pages of all sites may read and embed the
// lists; make_private() changes that.
class ReferencePages {
 public:
  // The records outlive this.
  ReferencePages(const async::Runtime& runtime, model::Records& records);

  // Their paths.
  static std::set<std::string> paths();

  // Waits until the tables are complete, at most kRecordsTimeout, and for its turn: one page is
  // rendered at a time. Throws Cancelled.
  async::Task<Response> answer(Request request);

 private:
  using Keys = std::set<std::string, std::less<>>;
  using Body = std::shared_ptr<const std::string>;

  // A snapshot of a list, with its renderings. It is reused for a second.
  struct Listing {
    double produced = 0;  // seconds since the epoch
    // Null in a JSON list, which has one rendering only.
    std::shared_ptr<const report::Table> table = {};
    Keys columns = {};                 // of the table
    std::map<Keys, Body> bodies = {};  // by selected columns
  };
  struct Page {
    double produced = 0;
    Body body;
  };
  class Waiting;

  std::shared_ptr<Listing> find_listing(const std::string& path, bool is_json) const;
  std::optional<Page> find_page(const Request& request, bool is_json) const;
  async::Task<std::optional<Page>> page_of(const Request& request, bool is_json);
  Page node_page(const Request& request, const std::string& id, bool is_json) const;
  async::Task<Page> render(const Request& request, bool is_json);
  async::Task<report::Table> table_of(const std::string& path, bool is_json, double now) const;
  async::Task<report::Table> nodes(double now) const;
  async::Task<report::Table> requests() const;

  async::Runtime runtime_;
  model::Records& records_;
  async::Slots turn_{1};
  std::size_t waiting_ = 0;  // requests with selected columns
  std::map<std::pair<std::string, bool>, std::shared_ptr<Listing>> listings_;  // by path, is_json
  async::ThreadPool threads_{1, "pages"};
};

}  // namespace nodepool::web

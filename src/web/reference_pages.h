#pragma once

#include <map>
#include <memory>
#include <string>

#include "async/runtime.h"
#include "model/records.h"
#include "report/table.h"
#include "web/message.h"
#include "web/negotiation.h"

namespace nodepool::web {

// The pages of the Python Nodepool's web app, from the tables in memory: /node-list, /image-list,
// /dib-image-list, /image-status, /request-list, /label-list. Texts are the commands' tables;
// programs ask for JSON. What is not one of them is 404.
class ReferencePages {
 public:
  // Records must outlive this.
  ReferencePages(const async::Runtime& runtime, model::Records& records);

  // Waits for tables that are not complete. Throws Cancelled.
  async::Task<Response> answer(Request request);

 private:
  // A body, for as long as it is shown to others who ask for the same.
  struct Kept {
    double produced = 0;  // seconds since the epoch
    std::shared_ptr<const std::string> body;
  };

  // The listing at that path.
  report::Table listing(const Request& request, bool is_json, double now) const;
  Kept body_of(const Request& request, bool is_json);
  void forget_old(double now);

  async::Runtime runtime_;
  model::Records& records_;
  std::map<std::string, Kept> kept_;  // by path, parameters and form
};

}  // namespace nodepool::web

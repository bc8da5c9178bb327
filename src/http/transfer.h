#pragma once

#include <curl/curl.h>

#include <chrono>
#include <memory>
#include <string>

#include "async/parking.h"
#include "http/transfers.h"

namespace nodepool::http {

// For std::unique_ptr: to libcurl an easy and a multi handle are both void.
struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// One exchange while it is under way: in the frame of the task that waits for it.
class Transfer {
 public:
  // Throws HttpError(invalid).
  Transfer(const async::Executor& executor, const TransferOptions& options, Request request,
           std::chrono::milliseconds timeout);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* easy() const { return easy_.get(); }

  // The exchange has ended; wakes the task.
  void ended(CURLcode code);

  // Waits for ended().
  async::Task<> wait();

  // The answer. Throws HttpError.
  Response result();

 private:
  void set_up(std::chrono::milliseconds timeout);
  void add_headers();
  std::size_t take_header(std::string_view line);
  std::size_t take_body(std::string_view part);
  HttpError failure() const;

  const TransferOptions& options_;
  Request request_;
  Response response_;
  std::size_t header_bytes_ = 0;
  bool too_large_ = false;
  CURLcode code_ = CURLE_OK;
  std::string error_text_;
  std::unique_ptr<curl_slist, ListDeleter> header_list_;
  std::unique_ptr<CURL, EasyDeleter> easy_;
  async::ParkedTask task_;
};

}  // namespace nodepool::http

#pragma once

#include <curl/curl.h>

#include <chrono>
#include <memory>
#include <optional>
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

// One HTTP exchange in progress. It is in the frame of the task that waits for it.
class Transfer {
 public:
  // Throws HttpError(invalid).
  Transfer(const async::Executor& executor, const TransferOptions& options, Request request,
           std::chrono::milliseconds timeout);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* easy() const { return easy_.get(); }

  // Called at the end of the exchange. Wakes the task.
  void ended(CURLcode code);

  // Waits for ended() and meanwhile reads the parts of a streamed body. Throws the exceptions of
  // that.
  async::Task<> wait();

  // Returns the response. Throws HttpError.
  Response result();

 private:
  void set_up(std::chrono::milliseconds timeout);
  void set_timeout(std::chrono::milliseconds timeout);
  void set_connection();
  void set_pem();
  void set_body();
  void set_streamed_body();
  void add_headers();
  std::size_t give_body(char* out, std::size_t most);
  async::Task<> feed();
  std::size_t take_header(std::string_view line);
  std::size_t take_body(std::string_view part);
  HttpError failure() const;

  const TransferOptions& options_;
  async::Executor executor_;
  Request request_;
  Response response_;
  std::size_t header_bytes_ = 0;
  bool too_large_ = false;
  bool ended_ = false;
  long status_ = 0;            // 0 while unknown
  std::uint64_t body_at_ = 0;  // offset of body_part_
  std::string body_part_;      // the next part of the streamed body
  std::size_t part_given_ = 0;
  CURLcode code_ = CURLE_OK;
  std::string error_text_;
  std::unique_ptr<curl_slist, ListDeleter> header_list_;
  std::unique_ptr<CURL, EasyDeleter> easy_;
  std::optional<async::ParkedTask> task_;
};

}  // namespace nodepool::http

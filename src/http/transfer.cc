#include "http/transfer.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <tuple>

namespace nodepool::http {

namespace {

// Size of the parts of a streamed body.
constexpr std::size_t kPart = std::size_t{1} << 20;  // bytes

// After this time without an answer to data or to a probe, the server counts as gone.
constexpr long kLongestSilence = 20;  // seconds

// Bounds of libcurl for the time without progress of an upload.
constexpr std::int64_t kMinStall = 1;  // seconds
constexpr std::int64_t kMaxStall = 65535;

// Failures before any part of the request is sent, by libcurl-errors(3).
bool is_before_sending(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return true;
    default:
      return false;
  }
}

bool is_invalid(CURLcode code) {
  return code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// libcurl copies it.
curl_blob blob_of(const std::string& text) {
  return {.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_COPY};
}

// Empty if it cannot be read.
std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();  // an error ends it, without an exception
  return text.str();
}

// Called by libcurl for a new socket. Without it, the kernel sends data again for a quarter of an
// hour. Does nothing for a Unix socket.
int limit_silence(void* /*data*/, curl_socket_t socket, curlsocktype /*purpose*/) {
  const unsigned int limit = kLongestSilence * 1000;  // ms
  std::ignore = setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
  return CURL_SOCKOPT_OK;
}

template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code != CURLE_OK) {
    throw HttpError(HttpError::Kind::invalid,
                    fmt::format("libcurl rejects option {}: {}", static_cast<int>(option),
                                curl_easy_strerror(code)));
  }
}

// The options for verifying certificates: of servers, or of proxies with TLS.
struct TrustSettings {
  CURLoption ca_file;
  CURLoption ca_directory;
  CURLoption ca_pem;
  CURLoption verify_chain;
  CURLoption verify_name;
};
constexpr TrustSettings kOfServers = {CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_CAINFO_BLOB,
                                      CURLOPT_SSL_VERIFYPEER, CURLOPT_SSL_VERIFYHOST};
constexpr TrustSettings kOfProxies = {CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH,
                                      CURLOPT_PROXY_CAINFO_BLOB, CURLOPT_PROXY_SSL_VERIFYPEER,
                                      CURLOPT_PROXY_SSL_VERIFYHOST};

void set_trust(CURL* easy, const TransferOptions& options, const TrustSettings& settings) {
  const char* const none = nullptr;  // no other authorities
  if (!options.ca_file.empty()) {
    const char* const path = options.ca_file.c_str();
    std::error_code ignored;  // libcurl reports a missing file
    const bool is_directory = std::filesystem::is_directory(path, ignored);
    set(easy, settings.ca_file, is_directory ? none : path);
    set(easy, settings.ca_directory, is_directory ? path : none);
  }
  if (!options.ca_pem.empty()) {
    curl_blob blob = blob_of(options.ca_pem);
    set(easy, settings.ca_pem, &blob);
    set(easy, settings.ca_directory, none);
  }
  set(easy, settings.verify_chain, options.verify ? 1L : 0L);
  set(easy, settings.verify_name, options.verify ? 2L : 0L);
}

}  // namespace

Transfer::Transfer(const async::Executor& executor, const TransferOptions& options, Request request,
                   std::chrono::milliseconds timeout)
    : options_(options),
      executor_(executor),
      request_(std::move(request)),
      error_text_(CURL_ERROR_SIZE, '\0'),
      easy_(curl_easy_init()) {
  task_.emplace(executor_);
  if (!easy_) throw std::bad_alloc();
  set_up(timeout);
}

void Transfer::set_up(std::chrono::milliseconds timeout) {
  CURL* easy = easy_.get();
  set(easy, CURLOPT_PRIVATE, static_cast<void*>(this));
  set(easy, CURLOPT_ERRORBUFFER, error_text_.data());
  set(easy, CURLOPT_NOSIGNAL, 1L);
  // A thread looks up the host's name. Without this, a transfer that ends meanwhile, at its timeout
  // or by a cancellation, waits for that thread, and all other tasks with it.
  set(easy, CURLOPT_QUICK_EXIT, 1L);
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_URL, request_.url.c_str());
  set(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  if (request_.method == "HEAD") set(easy, CURLOPT_NOBODY, 1L);
  set_body();
  set_connection();
  add_headers();
  set(easy, CURLOPT_ACCEPT_ENCODING, "");  // all encodings of libcurl
  set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set_timeout(timeout);
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout.count()));
  if (!options_.unix_socket.empty()) {
    set(easy, CURLOPT_UNIX_SOCKET_PATH, options_.unix_socket.c_str());
  }
  if (!options_.proxy.empty()) set(easy, CURLOPT_PROXY, options_.proxy.c_str());
  if (options_.is_direct) set(easy, CURLOPT_NOPROXY, "*");
  set_trust(easy, options_, kOfServers);
  set_trust(easy, options_, kOfProxies);  // the same, as Python's urllib3 does
  // A changed file counts for the next connection.
  if (!options_.ca_file.empty()) set(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
  if (!options_.client_key.empty()) set(easy, CURLOPT_SSLKEY, options_.client_key.c_str());
  set_pem();
  const auto on_header = +[](char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<Transfer*>(self)->take_header({data, size * count});
  };
  const auto on_body = +[](char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<Transfer*>(self)->take_body({data, size * count});
  };
  set(easy, CURLOPT_HEADERFUNCTION, on_header);
  set(easy, CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(easy, CURLOPT_WRITEFUNCTION, on_body);
  set(easy, CURLOPT_WRITEDATA, static_cast<void*>(this));
}

void Transfer::set_timeout(std::chrono::milliseconds timeout) {
  if (!request_.streamed_body) {
    set(easy(), CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(1, timeout.count())));
    return;
  }
  const auto stall = std::chrono::ceil<std::chrono::seconds>(timeout).count();
  set(easy(), CURLOPT_LOW_SPEED_LIMIT, 1L);  // bytes a second
  set(easy(), CURLOPT_LOW_SPEED_TIME, static_cast<long>(std::clamp(stall, kMinStall, kMaxStall)));
}

// After a timeout, libcurl keeps a multiplexed connection. So the kernel has to end those whose
// server is gone.
void Transfer::set_connection() {
  // If a reused connection turns out to be closed, libcurl sends any request a second time.
  if (!is_repeatable(request_)) set(easy(), CURLOPT_FRESH_CONNECT, 1L);
  set(easy(), CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy(), CURLOPT_TCP_KEEPIDLE, kLongestSilence);
  set(easy(), CURLOPT_TCP_KEEPINTVL, kLongestSilence);
  if (request_.streamed_body) {
    // The limit includes a pause of a server that takes no more data for a while, so an upload has
    // a connection of its own, without the limit.
    set(easy(), CURLOPT_FRESH_CONNECT, 1L);
    set(easy(), CURLOPT_FORBID_REUSE, 1L);
  } else {
    set(easy(), CURLOPT_SOCKOPTFUNCTION, &limit_silence);
  }
}

// Sets certificate and key of the client as texts, also a certificate of a file: libcurl reuses
// connections with the same path, even if the file has been replaced. With HTTP/2, these may stay
// open for ever, because some request is always in progress.
void Transfer::set_pem() {
  const auto set_text = [this](CURLoption option, const std::string& text) {
    curl_blob blob = blob_of(text);
    if (!text.empty()) set(easy(), option, &blob);
  };
  const std::string& path = options_.client_cert;
  if (!path.empty()) set(easy(), CURLOPT_SSLCERT, path.c_str());
  const std::string& text = options_.client_cert_pem;
  set_text(CURLOPT_SSLCERT_BLOB, text.empty() && !path.empty() ? content_of(path) : text);
  set_text(CURLOPT_SSLKEY_BLOB, options_.client_key_pem);
}

void Transfer::set_body() {
  if (request_.streamed_body) {
    set_streamed_body();
  } else if (!request_.body.empty() || request_.method == "POST" || request_.method == "PUT") {
    set(easy(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(easy(), CURLOPT_POSTFIELDS, request_.body.data());
  }
}

void Transfer::set_streamed_body() {
  set(easy(), CURLOPT_UPLOAD, 1L);
  set(easy(), CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.streamed_body->size));
  const auto on_read = +[](char* out, std::size_t size, std::size_t count, void* self) {
    return static_cast<Transfer*>(self)->give_body(out, size * count);
  };
  const auto on_seek = +[](void* self, curl_off_t offset, int origin) -> int {
    auto* transfer = static_cast<Transfer*>(self);
    if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    transfer->body_at_ = static_cast<std::uint64_t>(offset);
    transfer->body_part_.clear();
    transfer->part_given_ = 0;
    return CURL_SEEKFUNC_OK;
  };
  set(easy(), CURLOPT_READFUNCTION, on_read);
  set(easy(), CURLOPT_READDATA, static_cast<void*>(this));
  set(easy(), CURLOPT_SEEKFUNCTION, on_seek);
  set(easy(), CURLOPT_SEEKDATA, static_cast<void*>(this));
}

// Called by libcurl. If no data are available, pauses the transfer until feed().
std::size_t Transfer::give_body(char* out, std::size_t most) {
  if (body_at_ + part_given_ == request_.streamed_body->size) return 0;
  const std::size_t count = std::min(most, body_part_.size() - part_given_);
  if (count == 0) {
    task_->wake();
    return CURL_READFUNC_PAUSE;
  }
  body_part_.copy(out, count, part_given_);
  part_given_ += count;
  return count;
}

async::Task<> Transfer::feed() {
  const std::shared_ptr<const StreamedBody> body = request_.streamed_body;
  const std::uint64_t offset = body_at_ + part_given_;
  std::string part = co_await body->read(offset, kPart);
  if (part.empty() || part.size() > kPart || part.size() > body->size - offset) {
    throw HttpError(HttpError::Kind::invalid, "the streamed body does not have the announced size");
  }
  body_at_ = offset;
  body_part_ = std::move(part);
  part_given_ = 0;
  if (!ended_) curl_easy_pause(easy(), CURLPAUSE_CONT);
}

void Transfer::add_headers() {
  const auto add = [this](const std::string& line) {
    curl_slist* longer = curl_slist_append(header_list_.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    std::ignore = header_list_.release();  // it is part of the longer one
    header_list_.reset(longer);
  };
  for (const auto& [name, value] : request_.headers) {
    if ((name + value).find_first_of("\r\n") != std::string::npos) {
      throw HttpError(HttpError::Kind::invalid,
                      fmt::format("the header {} of the request contains a line break", name));
    }
    add(value.empty() ? fmt::format("{};", name) : fmt::format("{}: {}", name, value));
  }
  add("Expect:");  // no round trip before the body
  set(easy_.get(), CURLOPT_HTTPHEADER, header_list_.get());
}

std::size_t Transfer::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > options_.largest_headers) {
    too_large_ = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {  // also after an interim response
    response_.headers.clear();
    return line.size();
  }
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    std::string name(trimmed(line.substr(0, colon)));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    response_.headers.emplace_back(std::move(name), trimmed(line.substr(colon + 1)));
  }
  return line.size();
}

std::size_t Transfer::take_body(std::string_view part) {
  if (request_.on_body) {
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status_);
    if (status_ >= 200 && status_ < 300) {
      request_.on_body(part);
      return part.size();
    }
  }
  if (response_.body.size() + part.size() > options_.largest_body) {
    too_large_ = true;
    return 0;
  }
  response_.body += part;
  return part.size();
}

void Transfer::ended(CURLcode code) {
  code_ = code;
  ended_ = true;
  task_->wake();
}

async::Task<> Transfer::wait() {
  while (true) {
    if (is_repeatable(request_)) {
      co_await task_->park();
    } else {
      co_await task_->park_through_cancellation();
    }
    if (ended_) co_return;
    task_.emplace(executor_);
    co_await feed();
  }
}

Response Transfer::result() {
  if (code_ != CURLE_OK) throw failure();
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status_);
  response_.status = static_cast<int>(status_);
  return std::move(response_);
}

HttpError Transfer::failure() const {
  using Kind = HttpError::Kind;
  if (too_large_) {
    return {Kind::too_large, fmt::format("response too large: more than {} bytes of data or "
                                         "{} of headers",
                                         options_.largest_body, options_.largest_headers)};
  }
  const std::string detail(error_text_.c_str());
  std::string text = detail.empty() ? curl_easy_strerror(code_) : detail;
  if (code_ == CURLE_COULDNT_CONNECT && !options_.unix_socket.empty()) {
    long reason = 0;  // libcurl's text names the host of the URL
    curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &reason);
    text = options_.unix_socket + ": " + std::generic_category().message(static_cast<int>(reason));
  }
  if (is_invalid(code_)) return {Kind::invalid, text};
  long sent = 0;  // bytes, headers included
  curl_easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &sent);
  const bool not_sent = is_before_sending(code_) || sent == 0;
  const bool is_untrusted =
      code_ == CURLE_PEER_FAILED_VERIFICATION || code_ == CURLE_SSL_CACERT_BADFILE;
  return {not_sent ? Kind::not_sent : Kind::unknown_outcome, text, is_untrusted};
}

}  // namespace nodepool::http

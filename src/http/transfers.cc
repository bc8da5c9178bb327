#include "http/transfers.h"

#include <map>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "async/live_tasks.h"
#include "http/transfer.h"

namespace nodepool::http {

namespace asio = boost::asio;

// Drives libcurl's multi interface by the event loop (libcurl-multi(3), "MULTI_SOCKET"): waits for
// libcurl's sockets and timer, and notifies it.
class Transfers::Multi : public std::enable_shared_from_this<Multi> {
 public:
  Multi(const async::Executor& executor, TransferOptions options)
      : options_(std::move(options)),
        executor_(executor),
        timer_(executor),
        multi_(curl_multi_init()) {
    if (!multi_) throw std::bad_alloc();
    const auto on_socket = +[](CURL*, curl_socket_t socket, int wanted, void* self, void*) {
      static_cast<Multi*>(self)->watch(socket, wanted);
      return 0;
    };
    const auto on_timer = +[](CURLM*, long milliseconds, void* self) {
      static_cast<Multi*>(self)->set_timer(milliseconds);
      return 0;
    };
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, options_.connections_per_host);
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  }

  const TransferOptions& options() const { return options_; }
  const async::Executor& executor() const { return executor_; }

  void add(Transfer& transfer) { curl_multi_add_handle(multi_.get(), transfer.easy()); }
  void remove(Transfer& transfer) { curl_multi_remove_handle(multi_.get(), transfer.easy()); }

 private:
  // A socket of libcurl, and the waits for it.
  struct Socket {
    Socket(const async::Executor& executor, int descriptor) : descriptor(executor, descriptor) {}
    ~Socket() { detach(); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    // libcurl closes its sockets itself, and may reuse the descriptor immediately.
    void detach() {
      if (descriptor.is_open()) descriptor.release();
    }

    asio::posix::stream_descriptor descriptor;
    int wanted = CURL_POLL_NONE;
    bool reading = false;
    bool writing = false;
  };

  void watch(curl_socket_t descriptor, int wanted) {
    if (wanted == CURL_POLL_REMOVE) {
      const auto known = sockets_.find(descriptor);
      if (known == sockets_.end()) return;
      known->second->detach();
      sockets_.erase(known);
      return;
    }
    auto& socket = sockets_[descriptor];
    if (!socket) socket = std::make_shared<Socket>(executor_, descriptor);
    socket->wanted = wanted;
    arm(descriptor, socket);
  }

  void arm(curl_socket_t descriptor, const std::shared_ptr<Socket>& socket) {
    if ((socket->wanted & CURL_POLL_IN) != 0 && !socket->reading) {
      wait(descriptor, socket, asio::posix::descriptor_base::wait_read, CURL_CSELECT_IN,
           &Socket::reading);
    }
    if ((socket->wanted & CURL_POLL_OUT) != 0 && !socket->writing) {
      wait(descriptor, socket, asio::posix::descriptor_base::wait_write, CURL_CSELECT_OUT,
           &Socket::writing);
    }
  }

  void wait(curl_socket_t descriptor, const std::shared_ptr<Socket>& socket,
            asio::posix::descriptor_base::wait_type what, int ready, bool Socket::* is_waiting) {
    (*socket).*is_waiting = true;
    socket->descriptor.async_wait(
        what, [self = weak_from_this(), descriptor, watched = std::weak_ptr(socket), ready,
               is_waiting](const boost::system::error_code& error) {
          const auto multi = self.lock();
          const auto socket = watched.lock();
          if (!multi || !socket || error == asio::error::operation_aborted) return;
          (*socket).*is_waiting = false;
          multi->act(descriptor, error ? CURL_CSELECT_ERR : ready);
          const auto known = multi->sockets_.find(descriptor);
          if (known != multi->sockets_.end() && known->second == socket) {
            multi->arm(descriptor, socket);
          }
        });
  }

  void set_timer(long milliseconds) {
    timer_.cancel();
    if (milliseconds < 0) return;
    timer_.expires_after(std::chrono::milliseconds(milliseconds));
    timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
      const auto multi = self.lock();
      if (multi && !error) multi->act(CURL_SOCKET_TIMEOUT, 0);
    });
  }

  void act(curl_socket_t descriptor, int ready) {
    int running = 0;
    curl_multi_socket_action(multi_.get(), descriptor, ready, &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      char* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      reinterpret_cast<Transfer*>(transfer)->ended(message->data.result);
    }
  }

  TransferOptions options_;
  async::Executor executor_;
  asio::steady_timer timer_;
  std::map<curl_socket_t, std::shared_ptr<Socket>> sockets_;
  struct MultiDeleter {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  std::unique_ptr<CURLM, MultiDeleter> multi_;  // destroyed first: it still calls watch()
};

Transfers::Transfers(const async::Executor& executor, TransferOptions options) {
  static const CURLcode kInitialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (kInitialised != CURLE_OK) throw std::runtime_error("initializing libcurl failed");
  multi_ = std::make_shared<Multi>(executor, std::move(options));
}

Transfers::~Transfers() = default;

async::Task<Response> Transfers::perform(Request request, std::chrono::milliseconds timeout) {
  const std::shared_ptr<Multi> multi = multi_;  // outlives this object in a cancelled task
  const std::string url = request.url.substr(0, request.url.find('?'));
  const async::WaitsFor waits(co_await asio::this_coro::executor, "http:", url);
  Transfer transfer(multi->executor(), multi->options(), std::move(request), timeout);
  multi->add(transfer);
  std::exception_ptr failure;
  try {
    co_await transfer.wait();
  } catch (...) {
    failure = std::current_exception();
  }
  multi->remove(transfer);
  if (failure) std::rethrow_exception(failure);
  co_return transfer.result();
}

}  // namespace nodepool::http

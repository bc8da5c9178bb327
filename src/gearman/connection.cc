#include "gearman/connection.h"

#include <fmt/format.h>
#include <libgearman-1.0/gearman.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace nodepool::gearman {

namespace {

using std::chrono::milliseconds;

// Timeout of connecting and of responses.
constexpr milliseconds kResponseTimeout = std::chrono::seconds(10);

// Maximum size of a payload, in bytes.
constexpr std::size_t kLongestPayload = std::size_t{4} << 10;

// Timeout of connecting to find the reason of a failure.
constexpr milliseconds kDiagnosisTimeout = std::chrono::seconds(1);

struct FreeWorker {
  void operator()(gearman_worker_st* worker) const { gearman_worker_free(worker); }
};
using Worker = std::unique_ptr<gearman_worker_st, FreeWorker>;

bool same(const std::optional<Job::Status>& left, const std::optional<Job::Status>& right) {
  return left && right && left->done == right->done && left->all == right->all;
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Connects to the address. Returns 0 or errno.
int connection_error(const addrinfo& address) {
  const int descriptor = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  int error = ::connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd writable{descriptor, POLLOUT, 0};
    socklen_t size = sizeof(error);
    const bool has_ended = ::poll(&writable, 1, static_cast<int>(kDiagnosisTimeout.count())) == 1;
    if (!has_ended) error = ETIMEDOUT;
    if (has_ended) ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  ::close(descriptor);
  return error;
}

// The reason why connecting fails, which libgearman does not report.
std::string connection_failure(const Server& server) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown =
      ::getaddrinfo(server.host.c_str(), std::to_string(server.port).c_str(), &hints, &found);
  if (unknown != 0) return ::gai_strerror(unknown);
  const Addresses addresses(found, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    error = connection_error(*address);
    if (error == 0) return "the server closes connections immediately";
  }
  return std::generic_category().message(error);
}

bool sent(gearman_return_t result) {
  return result == GEARMAN_SUCCESS;
}

// Sends the updates. Returns false if that fails.
bool send(gearman_job_st* job, const Job::Updates& updates) {
  for (const std::string& text : updates.data) {
    if (!sent(gearman_job_send_data(job, text.data(), text.size()))) return false;
  }
  for (const std::string& text : updates.warnings) {
    if (!sent(gearman_job_send_warning(job, text.data(), text.size()))) return false;
  }
  if (updates.status &&
      !sent(gearman_job_send_status(job, updates.status->done, updates.status->all))) {
    return false;
  }
  return true;
}

// Sends the reason as a warning, not as an exception: gearmand forwards exceptions only to clients
// that request them, and libgearman sends no WORK_FAIL after one, so other clients would not learn
// the end.
bool send(gearman_job_st* job, const Failed& failed) {
  const std::string_view reason = std::string_view(failed.reason).substr(0, kLongestAnswer);
  return (reason.empty() || sent(gearman_job_send_warning(job, reason.data(), reason.size()))) &&
         sent(gearman_job_send_fail(job));
}

bool send(gearman_job_st* job, const JobResult& result) {
  if (const auto* failed = std::get_if<Failed>(&result)) return send(job, *failed);
  const std::string& text = std::get<Complete>(result).result;
  if (text.size() > kLongestAnswer) {
    return send(job, Failed{fmt::format("result too long: {} bytes (at most {})", text.size(),
                                        kLongestAnswer)});
  }
  return sent(gearman_job_send_complete(job, text.data(), text.size()));
}

}  // namespace

struct Connection::Impl {
  enum class Wait { over, woken, timeout };

  void offer(const Functions& functions);
  bool is_connected();
  Wait wait_for_server(milliseconds timeout, const std::function<bool()>& over);
  void wait_for_updates(const std::function<bool()>& over);
  bool begin_wait(const std::function<bool()>& over);
  bool end_wait();
  gearman_return_t do_job(gearman_job_st* handle);
  void run_job(gearman_job_st* handle);
  void forward_updates(gearman_job_st* handle, Job& job);
  [[noreturn]] void lose(std::string_view what) const;

  Server server;
  milliseconds heartbeat;
  Callbacks callbacks;
  Worker worker{};
  Functions offered{};                  // as libgearman knows them
  bool was_ready = false;               // the server has responded
  std::optional<std::string> broken{};  // why the connection is unusable

  std::mutex mutex{};
  bool waiting = false;
  bool woken = false;  // there is a byte in libgearman's pipe
};

Connection::Connection(const Server& server, milliseconds heartbeat, Callbacks callbacks)
    : impl_(new Impl{.server = server, .heartbeat = heartbeat, .callbacks = std::move(callbacks)}) {
  impl_->worker.reset(gearman_worker_create(nullptr));
  gearman_worker_st* worker = impl_->worker.get();
  if (worker == nullptr) throw ConnectionLost("libgearman: no memory");
  gearman_worker_remove_servers(worker);  // those of the environment variable GEARMAN_SERVERS
  gearman_worker_add_options(worker, GEARMAN_WORKER_NON_BLOCKING);
  if (!sent(gearman_worker_add_server(worker, server.host.c_str(), server.port))) {
    impl_->lose("address");
  }
}

Connection::~Connection() = default;

void Connection::Impl::lose(std::string_view what) const {
  const char* detail = gearman_worker_error(worker.get());
  throw ConnectionLost(detail == nullptr ? std::string(what) : fmt::format("{}: {}", what, detail));
}

// Registers the changes with libgearman, which sends them before it requests the next job. A name
// must not be removed and added in one call: libgearman sends the newest change first.
void Connection::Impl::offer(const Functions& functions) {
  const auto call = [](gearman_job_st* job, void* context) {
    return static_cast<Impl*>(context)->do_job(job);
  };
  for (const std::string& name : offered) {
    if (!functions.contains(name)) gearman_worker_unregister(worker.get(), name.c_str());
  }
  for (const std::string& name : functions) {
    if (offered.contains(name)) continue;
    const gearman_return_t result = gearman_worker_define_function(
        worker.get(), name.data(), name.size(), gearman_function_create(call), 0, this);
    if (!sent(result)) lose("function " + name);
  }
  offered = functions;
}

bool Connection::serve(const Functions& functions) {
  using Wait = Impl::Wait;
  Impl& self = *impl_;
  self.offer(functions);
  while (true) {
    const gearman_return_t result = gearman_worker_work(self.worker.get());
    // Otherwise libgearman would reconnect by itself.
    if (self.broken) throw ConnectionLost(*self.broken);
    if (result == GEARMAN_SUCCESS) {  // a job was completed
      if (self.callbacks.interrupted()) return false;
      continue;
    }
    if (result == GEARMAN_IO_WAIT) {
      const Wait end = self.wait_for_server(kResponseTimeout, self.callbacks.stopping);
      if (end == Wait::over) return false;
      if (end == Wait::timeout) throw ConnectionLost("the server does not respond");
      continue;
    }
    if (result != GEARMAN_NO_JOBS) self.lose("no connection");
    // Also returned without a connection.
    if (!self.is_connected()) {
      throw ConnectionLost(self.was_ready ? "the server has closed the connection"
                                          : connection_failure(self.server));
    }
    self.was_ready = true;
    self.callbacks.ready();
    if (self.wait_for_server(self.heartbeat, self.callbacks.interrupted) == Wait::over) return true;
  }
}

bool Connection::Impl::is_connected() {
  gearman_worker_set_timeout(worker.get(), 0);
  return gearman_worker_wait(worker.get()) != GEARMAN_NO_ACTIVE_FDS;
}

// Returns when the server sends something, or after wake(); immediately if `over` returns true.
Connection::Impl::Wait Connection::Impl::wait_for_server(milliseconds timeout,
                                                         const std::function<bool()>& over) {
  if (!begin_wait(over)) return Wait::over;
  gearman_worker_set_timeout(worker.get(), static_cast<int>(timeout.count()));
  const gearman_return_t result = gearman_worker_wait(worker.get());
  if (end_wait()) return Wait::woken;
  if (result == GEARMAN_TIMEOUT) return Wait::timeout;
  if (result == GEARMAN_NO_ACTIVE_FDS) throw ConnectionLost("the server has closed the connection");
  if (!sent(result)) lose("no connection");
  return Wait::woken;
}

// Returns after wake() or a heartbeat; immediately if `over` returns true. Does not read from the
// connection: libgearman cannot during a job.
void Connection::Impl::wait_for_updates(const std::function<bool()>& over) {
  if (!begin_wait(over)) return;
  pollfd readable{gearman_worker_id(worker.get()).read_fd, POLLIN, 0};
  ::poll(&readable, 1, static_cast<int>(heartbeat.count()));
  end_wait();
}

bool Connection::Impl::begin_wait(const std::function<bool()>& over) {
  const std::lock_guard lock(mutex);
  waiting = !over();
  return waiting;
}

// Returns whether wake() was called.
bool Connection::Impl::end_wait() {
  const std::lock_guard lock(mutex);
  waiting = false;
  if (!std::exchange(woken, false)) return false;
  // libgearman reads the byte from its pipe and writes it back.
  const int pipe = gearman_worker_id(worker.get()).read_fd;
  pollfd readable{pipe, POLLIN, 0};
  char byte = 0;
  while (::poll(&readable, 1, 0) == 1 && ::read(pipe, &byte, 1) == 1) continue;
  return true;
}

// Called by libgearman for a job. Must not throw.
gearman_return_t Connection::Impl::do_job(gearman_job_st* handle) {
  // Responses are short, so blocking writes are sufficient.
  gearman_worker_remove_options(worker.get(), GEARMAN_WORKER_NON_BLOCKING);
  try {
    run_job(handle);
  } catch (const std::exception& error) {
    broken = error.what();
  }
  gearman_worker_add_options(worker.get(), GEARMAN_WORKER_NON_BLOCKING);
  // After an error libgearman closes the connection: the server assigns the job to another worker.
  return broken ? GEARMAN_ERROR : GEARMAN_SUCCESS;
}

void Connection::Impl::run_job(gearman_job_st* handle) {
  const std::size_t size = gearman_job_workload_size(handle);
  Job::Request request{.function = gearman_job_function_name(handle),
                       .unique = gearman_job_unique(handle),
                       .payload = {}};
  std::string refusal;
  std::shared_ptr<Job> job;
  if (size > kLongestPayload) {
    refusal = fmt::format("payload too long: {} bytes (at most {})", size, kLongestPayload);
  } else {
    if (size > 0) {
      request.payload.assign(static_cast<const char*>(gearman_job_workload(handle)), size);
    }
    job = callbacks.start(std::move(request));
    if (!job) refusal = "this function is no longer offered";
  }
  if (!job) {
    if (!send(handle, Failed{refusal})) lose("no connection");
    return;
  }
  try {
    forward_updates(handle, *job);
  } catch (...) {
    job->close();
    throw;
  }
  job->close();
}

void Connection::Impl::forward_updates(gearman_job_st* handle, Job& job) {
  using Clock = std::chrono::steady_clock;
  std::optional<Job::Status> last;
  Clock::time_point sent_at = Clock::now();
  while (true) {
    Job::Updates updates = job.take_updates();
    if (updates.given_back) throw ConnectionLost("a job was returned to the server");
    if (same(updates.status, last)) updates.status.reset();
    // A lost connection is only detected by sending.
    if (updates.empty() && Clock::now() - sent_at >= heartbeat) updates.status = last;
    if (!updates.empty()) sent_at = Clock::now();
    last = updates.status ? updates.status : last;
    gearman_worker_set_timeout(worker.get(), static_cast<int>(kResponseTimeout.count()));
    if (!send(handle, updates)) lose("no connection");
    if (updates.result) {
      if (!send(handle, *updates.result)) lose("no connection");
      return;
    }
    // In this order: a result that came before the stop is sent.
    if (callbacks.stopping() && !job.has_updates()) throw ConnectionLost("the worker was stopped");
    wait_for_updates([&] { return job.has_updates() || callbacks.stopping(); });
  }
}

void Connection::wake() {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->waiting || impl_->woken) return;
  impl_->woken = true;
  gearman_kill(gearman_worker_id(impl_->worker.get()), GEARMAN_INTERRUPT);
}

}  // namespace nodepool::gearman

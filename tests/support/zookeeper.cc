#include "tests/support/zookeeper.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/support/patience.h"

namespace nodepool::test_support {

namespace {

using std::chrono::milliseconds;

// Short, so that sessions end soon: servers count timeouts in ticks.
constexpr int kTickMilliseconds = 500;

constexpr char kJars[] = "/usr/share/java/";

void require_success(const std::vector<std::string>& command) {
  const Completed result = run(command);
  if (result.status == 0) return;
  throw std::runtime_error(command[0] + " " + command[1] + ": " + result.error);
}

// Whether all threads are stopped: after SIGSTOP a running thread still works for a moment.
bool is_stopped(pid_t process) {
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    std::ifstream file(thread.path() / "stat");  // unreadable if the thread has just ended
    std::string status;
    std::getline(file, status);
    const std::size_t name_end = status.rfind(')');  // the state follows: proc(5)
    if (name_end == std::string::npos || status.substr(name_end, 4) != ") T ") return false;
  }
  return true;
}

// The manifest of Debian's zookeeper.jar lacks some dependencies for TLS.
std::string class_path_of_debian() {
  const std::string main = std::string(kJars) + "zookeeper.jar";
  if (!std::filesystem::exists(main)) {
    throw std::runtime_error("ZooKeeper is missing: run tools/bootstrap --tests");
  }
  std::string path = main;
  for (const char* jar : {"netty-buffer", "netty-codec", "netty-common", "netty-handler",
                          "netty-resolver", "netty-transport", "netty-transport-native-epoll",
                          "netty-transport-native-unix-common", "slf4j-simple"}) {
    path.append(":").append(kJars).append(jar).append(".jar");
  }
  return path;
}

// The jars of a distribution of Apache ZooKeeper.
std::string class_path_of(const std::filesystem::path& distribution) {
  const std::filesystem::path jars = distribution / "lib";
  if (!std::filesystem::is_directory(jars)) {
    throw std::runtime_error("ZOOKEEPER_HOME has no ZooKeeper: there is no " + jars.string());
  }
  return jars / "*";  // java expands it
}

std::string class_path() {
  const char* distribution = std::getenv("ZOOKEEPER_HOME");
  return distribution ? class_path_of(distribution) : class_path_of_debian();
}

// A connected socket; nothing if the port refuses.
std::optional<Descriptor> connect(std::uint16_t port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, kLoopback, &address.sin_addr);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return {};
  }
  return socket;
}

// A server's response to a "four letter word"; empty if there is none.
std::string ask(std::uint16_t port, const std::string& word) {
  const std::optional<Descriptor> connection = connect(port);
  if (!connection || ::send(connection->get(), word.data(), word.size(), MSG_NOSIGNAL) < 0) {
    return {};
  }
  std::string answer;
  char buffer[4096];
  pollfd waiting{connection->get(), POLLIN, 0};
  while (::poll(&waiting, 1, 1000) > 0) {  // a paused server does not respond
    const ssize_t size = ::recv(connection->get(), buffer, sizeof buffer, 0);
    if (size <= 0) break;
    answer.append(buffer, static_cast<std::size_t>(size));
  }
  return answer;
}

}  // namespace

Certificates::Certificates(const TemporaryDirectory& directory)
    : ca(directory.path() / "ca.pem"),
      server(directory.path() / "server-store.pem"),
      client(directory.path() / "client.pem"),
      client_key(directory.path() / "client.key") {
  const std::filesystem::path ca_key = directory.path() / "ca.key";
  const std::vector<std::string> make{
      "openssl", "req",   "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-nodes",  "-days", "30"};
  std::vector<std::string> make_ca = make;
  make_ca.insert(make_ca.end(), {"-keyout", ca_key, "-out", ca, "-subj", "/CN=test CA"});
  require_success(make_ca);
  for (const std::string who : {"server", "client"}) {
    const std::filesystem::path file = directory.path() / who;
    std::vector<std::string> make_one = make;
    make_one.insert(make_one.end(), {"-keyout", file.string() + ".key", "-out",
                                     file.string() + ".pem", "-subj", "/CN=" + who, "-CA", ca,
                                     "-CAkey", ca_key, "-addext", "basicConstraints=CA:FALSE",
                                     "-addext", "subjectAltName=IP:" + std::string(kLoopback)});
    require_success(make_one);
  }
  // The format of a server's key store: the key, then its certificate.
  const std::filesystem::path file = directory.path() / "server";
  directory.write(server.filename(),
                  read_file(file.string() + ".key") + read_file(file.string() + ".pem"));
}

struct ZooKeeperEnsemble::Member {
  std::size_t number = 0;  // from 1
  std::filesystem::path directory;
  ReservedPort plain;
  ReservedPort tls;
  ReservedPort peers;     // for the leader's followers
  ReservedPort election;  // for all others
  std::optional<Child> process;
};

ZooKeeperEnsemble::ZooKeeperEnsemble(std::size_t members)
    : certificates_(std::make_unique<Certificates>(directory_)) {
  for (std::size_t i = 0; i < members; ++i) {
    members_.push_back(std::make_unique<Member>());
    members_.back()->number = i + 1;
    members_.back()->directory = directory_.path() / ("member" + std::to_string(i + 1));
  }
  for (std::size_t i = 0; i < members; ++i) {
    configure(*members_[i]);
    start(i);
  }
  for (std::size_t i = 0; i < members; ++i) wait_until_serving(i);
}

ZooKeeperEnsemble::~ZooKeeperEnsemble() = default;

std::uint16_t ZooKeeperEnsemble::plain_port(std::size_t member) const {
  return members_.at(member)->plain.number();
}

std::uint16_t ZooKeeperEnsemble::tls_port(std::size_t member) const {
  return members_.at(member)->tls.number();
}

void ZooKeeperEnsemble::configure(Member& member) const {
  const std::filesystem::path data = member.directory / "data";
  std::ostringstream text;
  text << "dataDir=" << data.string() << "\ntickTime=" << kTickMilliseconds
       << "\ninitLimit=20\nsyncLimit=6\nmaxSessionTimeout=60000\nmaxClientCnxns=0\n"
       << "admin.enableServer=false\n4lw.commands.whitelist=srvr\n"
       << "clientPortAddress=" << kLoopback << "\nclientPort=" << member.plain.number()
       << "\nsecureClientPortAddress=" << kLoopback << "\nsecureClientPort=" << member.tls.number()
       << "\nserverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"
       << "ssl.keyStore.type=PEM\nssl.keyStore.location=" << certificates_->server.string()
       << "\nssl.trustStore.type=PEM\nssl.trustStore.location=" << certificates_->ca.string()
       << "\nssl.clientAuth=need\nssl.hostnameVerification=false\n";
  if (members_.size() > 1) {
    for (const auto& other : members_) {
      text << "server." << other->number << "=" << kLoopback << ":" << other->peers.number() << ":"
           << other->election.number() << "\n";
    }
  }
  directory_.write(member.directory / "zoo.cfg", text.str());
  directory_.write(data / "myid", std::to_string(member.number));
}

void ZooKeeperEnsemble::start(std::size_t member) {
  Member& target = *members_.at(member);
  const std::vector<std::string> command{
      // For 100,000 records; only used memory is allocated.
      "java", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
      "-Djava.net.preferIPv4Stack=true", "-Dzookeeper.jmx.log4j.disable=true",
      // The data need not survive a power failure.
      "-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024", "-cp", class_path(),
      "org.apache.zookeeper.server.quorum.QuorumPeerMain", target.directory / "zoo.cfg"};
  target.process.emplace(command);
}

void ZooKeeperEnsemble::kill(std::size_t member) {
  members_.at(member)->process.reset();
}

void ZooKeeperEnsemble::erase_data(std::size_t member) {
  std::filesystem::remove_all(members_.at(member)->directory / "data" / "version-2");
}

void ZooKeeperEnsemble::pause(std::size_t member) {
  Child& process = *members_.at(member)->process;
  process.signal(SIGSTOP);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!is_stopped(process.pid())) {
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("ZooKeeper does not stop");
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void ZooKeeperEnsemble::resume(std::size_t member) {
  members_.at(member)->process->signal(SIGCONT);
}

void ZooKeeperEnsemble::wait_until_serving(std::size_t member) {
  Member& target = *members_.at(member);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  // A server that responds on its plain port opens the other one only afterwards.
  while (mode(target).empty() || !connect(target.tls.number())) {
    if (!target.process->running() || std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("ZooKeeper does not respond: " + target.process->standard_error());
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
}

std::size_t ZooKeeperEnsemble::leader() const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (mode(*members_[i]) == "leader") return i;
  }
  throw std::runtime_error("the ensemble has no leader");
}

std::int64_t ZooKeeperEnsemble::packets_received(std::size_t member) const {
  const std::string number = report(*members_.at(member), "Received: ");
  if (number.empty()) throw std::runtime_error("ZooKeeper does not respond");
  return std::stoll(number);
}

std::string ZooKeeperEnsemble::version(std::size_t member) const {
  const std::string build = report(*members_.at(member), "Zookeeper version: ");
  if (build.empty()) throw std::runtime_error("ZooKeeper does not respond");
  return build.substr(0, build.find('-'));
}

std::string ZooKeeperEnsemble::mode(const Member& member) {
  return report(member, "Mode: ");
}

std::string ZooKeeperEnsemble::report(const Member& member, std::string_view key) {
  const std::string answer = ask(member.plain.number(), "srvr");
  const auto at = answer.find(key);
  if (at == std::string::npos) return {};
  const auto begin = at + key.size();
  return answer.substr(begin, answer.find('\n', begin) - begin);
}

}  // namespace nodepool::test_support

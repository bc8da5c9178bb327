#include "config/load.h"

#include <gmock/gmock.h>

#include "config/outside_error.h"
#include "config/section.h"
#include "support.h"

namespace nodepool::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// For texts about other keys of ZooKeeper, which need servers.
const std::string kServers = "zookeeper-servers: [{host: a}]\n";

std::vector<std::string> warnings(std::string_view text) {
  std::vector<std::string> texts = lines(load_text(text).warnings);
  for (std::string& line : texts) line = line.substr(line.find("nodepool.yaml"));
  return texts;
}

TEST(Load, GivesDefaultsToAnEmptyMapping) {
  const Config config = load_text("{}").config;
  EXPECT_EQ(config.webapp, WebApp());
  EXPECT_EQ(config.build_log_retention, 7);
  EXPECT_EQ(config.zookeeper.timeout, 10.0);
  EXPECT_EQ(config.max_hold_age, std::nullopt);
  EXPECT_EQ(config.images_dir, std::nullopt);
  EXPECT_EQ(config.store, StoreChoice());
  EXPECT_TRUE(config.store.is_default);
}

// The structs repeat the defaults, for readers. Both must be the same.
TEST(Load, TakesTheDefaultsOfTheSchema) {
  const auto schema_of = [](std::string_view key) {
    const Type& type = nodepool_schema().find(key)->type;
    return type.section ? *type.section : *type.parts[0].section;
  };
  const auto value_of = [&](std::string_view section, std::string_view key) {
    return default_of(*schema_of(section).find(key)).value_or(Value());
  };
  EXPECT_EQ(value_of("webapp", "port"), Value::integer(WebApp().port));
  EXPECT_EQ(value_of("webapp", "listen_address"), Value::string(WebApp().listen_address));
  EXPECT_EQ(value_of("gearman-servers", "port"), Value::integer(GearmanServer().port));
  EXPECT_EQ(value_of("zookeeper-servers", "port"), Value::integer(ZooKeeperServer().port));
  EXPECT_EQ(default_of(*nodepool_schema().find("zookeeper-timeout")),
            Value::floating(Config().zookeeper.timeout));
  EXPECT_EQ(default_of(*nodepool_schema().find("build-log-limit")),
            Value::integer(Config().build_log_limit));
  EXPECT_EQ(default_of(*nodepool_schema().find("build-log-retention")),
            Value::integer(Config().build_log_retention));
  EXPECT_EQ(value_of("labels", "min-ready"), Value::integer(Label().min_ready));
  EXPECT_EQ(value_of("labels", "max-ready-age"), Value::integer(Label().max_ready_age));
  EXPECT_EQ(value_of("diskimages", "rebuild-age"), Value::integer(DiskImage().rebuild_age));
  EXPECT_EQ(value_of("diskimages", "build-timeout"), Value::integer(DiskImage().build_timeout));
  EXPECT_EQ(value_of("diskimages", "username"), Value::string(DiskImage().username));
  EXPECT_EQ(value_of("diskimages", "python-path"), Value::string(DiskImage().python_path));
  EXPECT_EQ(value_of("diskimages", "dib-cmd"), Value::string(DiskImage().dib_cmd));
  EXPECT_EQ(value_of("diskimages", "pause"), Value::boolean(DiskImage().pause));
}

TEST(Load, SubstitutesTheEnvironmentBeforeParsing) {
  const Config config = load_text("webapp:\n  port: %(NODEPOOL_PORT)\n  listen_address: '::'\n",
                                  std::nullopt, {{"NODEPOOL_PORT", "8123"}})
                            .config;
  EXPECT_EQ(config.webapp.port, 8123);
  EXPECT_EQ(config.webapp.listen_address, "::");
  EXPECT_EQ(config.webapp.dashboard_url, "");
  EXPECT_EQ(load_text("images-dir: '%(NODEPOOL_GONE)/x'").config.images_dir, "%(NODEPOOL_GONE)/x");
}

TEST(Load, SaysWhichVariablesAreNotSet) {
  EXPECT_THAT(
      warnings("images-dir: '/%(NODEPOOL_GONE)/x'\nelements-dir: '%(HOME)s'  # %(THIS)\n"),
      ElementsAre(
          "nodepool.yaml:1:15: the variable `NODEPOOL_GONE` is not set in the environment (the "
          "reference stays as it is)",
          "nodepool.yaml:2:16: the variable `HOME` is not substituted (only names that "
          "begin with `NODEPOOL_` are)"));
  EXPECT_THAT(warnings("images-dir: '/%(asctime)/%(/%()/%p'\n# %(NODEPOOL_GONE)\n"), IsEmpty());
  EXPECT_THAT(refusal("webapp:\n  port: %(NODEPOOL_GONE)\n"),
              HasSubstr("(the variable `NODEPOOL_GONE` is not set in the environment)"));
}

TEST(Load, ReadsDurations) {
  const Config config = load_text("max-lease: 2h\npool-timeout: 90s\n").config;
  EXPECT_EQ(config.max_lease, 7200);
  EXPECT_EQ(config.pool_timeout, 90);
  EXPECT_EQ(load_text("max-lease: 5400").config.max_lease, 5400);
  EXPECT_EQ(load_text("max-lease: 0").config.max_lease, std::nullopt);
  EXPECT_EQ(load_text("{}").config.pool_timeout, 120);
  EXPECT_THAT(refusal("max-lease: soon"), HasSubstr("max-lease: must be seconds, or a time like"));
}

TEST(Load, WarnsOfPoolsWithOneName) {
  EXPECT_THAT(warnings("providers:\n"
                       "  - name: rack\n"
                       "    driver: static\n"
                       "    pools: [{name: a, nodes: []}, {name: b, nodes: []},\n"
                       "            {name: a, nodes: []}, 5]\n"),
              testing::Contains(
                  "nodepool.yaml:5:20: providers[0] (rack).pools[2].name: the pool `a` is already "
                  "defined on line 4 (the last definition is used)"));
}

TEST(Load, ReadsGearmanServers) {
  const Config config = load_text("gearman-servers: [{host: '::1'}, {host: b, port: 4731}]").config;
  EXPECT_THAT(config.gearman_servers, ElementsAre(GearmanServer{.host = "::1", .port = 4730},
                                                  GearmanServer{.host = "b", .port = 4731}));
}

TEST(Load, ReadsZooKeeper) {
  const Config config = load_text(
                            "zookeeper-servers:\n"
                            "  - host: '2001:db8::5'\n"
                            "  - {host: zk2.example.net, port: '2181', chroot: /np}\n"
                            "zookeeper-tls: {cert: /c.pem, key: /k.pem, ca: /a.pem}\n"
                            "zookeeper-timeout: 30\n")
                            .config;
  EXPECT_THAT(config.zookeeper.servers,
              ElementsAre(ZooKeeperServer{.host = "2001:db8::5", .port = 2281},
                          ZooKeeperServer{.host = "zk2.example.net", .port = 2181}));
  EXPECT_EQ(config.zookeeper.chroot, "/np");
  EXPECT_EQ(config.zookeeper.tls,
            (ZooKeeperTls{.cert = "/c.pem", .key = "/k.pem", .ca = "/a.pem"}));
  EXPECT_EQ(config.zookeeper.timeout, 30.0);
  EXPECT_TRUE(load_text(kServers + "zookeeper-tls: {verify-hostname: true}")
                  .config.zookeeper.tls.verify_hostname);
  EXPECT_EQ(load_text(kServers + "zookeeper-timeout: '7.5'").config.zookeeper.timeout, 7.5);
  EXPECT_EQ(load_text(kServers + "zookeeper-tls: {cert: a}").config.zookeeper.tls.cert, "a");
}

TEST(Load, TakesOneChrootForAllServers) {
  const auto chroot = [](const std::string& one, const std::string& two) {
    return load_text("zookeeper-servers: [{host: a" + one + "}, {host: b" + two + "}]")
        .config.zookeeper.chroot;
  };
  EXPECT_EQ(chroot("", ""), "");
  EXPECT_EQ(chroot("", ", chroot: /np"), "/np");
  EXPECT_EQ(chroot(", chroot: /np", ", chroot: /np/"), "/np");
  EXPECT_EQ(chroot(", chroot: /a/b", ""), "/a/b");
  EXPECT_EQ(chroot(", chroot: /", ", chroot: ''"), "");
  EXPECT_THAT(
      refusal("zookeeper-servers: [{host: a, chroot: /x}, {host: b, chroot: /y}]"),
      HasSubstr("1:62: zookeeper-servers[1].chroot: differs from the chroot of another server: "
                "`/x`"));
  EXPECT_THAT(refusal("zookeeper-servers: [{host: a, chroot: np}]"), HasSubstr("absolute path"));
  EXPECT_THAT(refusal("zookeeper-servers: [{host: a, chroot: /a//b}]"), HasSubstr("absolute path"));
}

TEST(Load, ReadsCredentialsForZooKeeper) {
  EXPECT_EQ(load_text("{}").config.zookeeper.auth, std::nullopt);
  const std::string main = kServers + "zookeeper-auth: {user: a, password: b}";
  EXPECT_EQ(load_text(main).config.zookeeper.auth, (ZooKeeperAuth{.user = "a", .password = "b"}));
  EXPECT_EQ(load_text(main, "zookeeper-auth: {user: c, password: d}").config.zookeeper.auth,
            (ZooKeeperAuth{.user = "c", .password = "d"}));
  EXPECT_THAT(refusal("zookeeper-auth: {user: 'a:b', password: c}"),
              HasSubstr("zookeeper-auth.user: must be a name without a colon"));
  EXPECT_THAT(refusal("zookeeper-auth: {user: a}"), HasSubstr("zookeeper-auth"));
}

TEST(Load, KnowsWhichFilesTlsLacks) {
  const auto missing = [](const std::string& tls) {
    return load_text(kServers + "zookeeper-tls: " + tls).config.zookeeper.tls.missing();
  };
  EXPECT_EQ(missing("{ca: a}"), "missing `cert` and `key`: connections to ZooKeeper require TLS");
  EXPECT_EQ(missing("{ca: a, cert: b, key: c}"), "");
  EXPECT_EQ(missing("{insecure-plaintext: true}"), "");
  EXPECT_THAT(refusal("zookeeper-tls: {insecure-plaintext: true, ca: a}"),
              HasSubstr("insecure-plaintext: cannot be combined"));
  EXPECT_THAT(refusal("zookeeper-tls: {insecure-plaintext: true, verify-hostname: true}"),
              HasSubstr("insecure-plaintext: cannot be combined"));
}

TEST(Load, RefusesATimeoutThatNoSessionCanHave) {
  for (const char* bad : {"0", "-1", "1.0e+9", ".nan"}) {
    EXPECT_THAT(refusal(std::string("zookeeper-timeout: ") + bad), HasSubstr("more than 0")) << bad;
  }
}

TEST(Load, KeepsTheHistoryBesideTheStore) {
  EXPECT_EQ(load_text("labels: []").config.history, HistorySettings{});
  EXPECT_EQ(load_text("store: sqlite:///n.db").config.history.directory, "/");
  EXPECT_EQ(load_text("store: sqlite:///srv/np/n.db").config.history.directory, "/srv/np");
  EXPECT_EQ(load_text("zookeeper-servers: [{host: a}]").config.history.directory,
            "/var/lib/nodepool");
  const HistorySettings given =
      load_text("history: {directory: /var/log/np, max-size: 2}").config.history;
  EXPECT_EQ(given, (HistorySettings{.directory = "/var/log/np", .max_size = 2 << 20}));
  EXPECT_THAT(refusal("history: {max-size: 0}\n"), HasSubstr("history.max-size: must be"));
}

TEST(Load, ChoosesTheStore) {
  const StoreChoice zookeeper = load_text("zookeeper-servers: [{host: a}]").config.store;
  EXPECT_EQ(zookeeper.kind, StoreChoice::Kind::zookeeper);
  EXPECT_FALSE(zookeeper.is_default);

  const StoreChoice sqlite = load_text("store: sqlite:///srv/nodepool.db").config.store;
  EXPECT_EQ(sqlite, StoreChoice{.sqlite_path = "/srv/nodepool.db"});
  EXPECT_FALSE(sqlite.is_default);
  const StoreChoice usual = load_text("store: sqlite:///var/lib/nodepool/nodepool.db").config.store;
  EXPECT_FALSE(usual.is_default);
  EXPECT_EQ(usual, load_text("{}").config.store) << "another store";

  constexpr std::string_view kBoth = "store: sqlite:///n.db\nzookeeper-servers: [{host: a}]\n";
  EXPECT_EQ(load_text(kBoth).config.store.sqlite_path, "/n.db");
  EXPECT_THAT(warnings(kBoth), ElementsAre(HasSubstr("store: is used; `zookeeper-servers`")));

  const auto said = load_text("store: zookeeper\nzookeeper-servers: [{host: a}]\n").config.store;
  EXPECT_EQ(said, zookeeper);
  EXPECT_THAT(refusal("store: zookeeper\n"),
              HasSubstr("1:8: store: is `zookeeper`, but no servers"));

  EXPECT_THAT(refusal("store: redis://host\n"),
              HasSubstr("nodepool.yaml:1:8: store: must be `zookeeper`, or `sqlite://` and the"));
  EXPECT_THAT(refusal("store: sqlite://n.db\n"), HasSubstr("absolute path"));
}

TEST(Load, ReadsLabels) {
  const Config config = load_text(
                            "labels:\n"
                            "  - &one {name: a, min-ready: 1}\n"
                            "  - {<<: *one, name: b}\n"
                            "  - {name: idle, min-ready: -1}\n"
                            "  - {name: 5, min-ready: yes, max-ready-age: 1:30}\n"
                            "max-hold-age: 0\n"
                            "max-hold-age: 3600\n"
                            "build-log-retention: -1\n")
                            .config;
  EXPECT_EQ(config.labels.at("b").min_ready, 1);
  EXPECT_EQ(config.labels.at("idle").min_ready, -1);
  EXPECT_EQ(config.labels.at("5"), (Label{.name = "5", .min_ready = 1, .max_ready_age = 90}));
  EXPECT_EQ(config.max_hold_age, 3600);
  EXPECT_EQ(config.build_log_retention, -1);
  EXPECT_EQ(load_text("max-hold-age: -5").config.max_hold_age, std::nullopt);
  EXPECT_EQ(load_text("max-hold-age: 0600").config.max_hold_age, 384);
}

TEST(Load, TakesNullForAbsent) {
  const Config config = load_text(
                            "webapp:\ndiskimages:\nlabels:\nproviders:\n"
                            "tenant-resource-limits:\nbuild-log-retention:\nmax-hold-age:\n")
                            .config;
  EXPECT_EQ(config.build_log_retention, 7);
  EXPECT_TRUE(config.store.is_default);
}

TEST(Load, ReadsTenantLimits) {
  const auto tenants = load_text(
                           "tenant-resource-limits:\n"
                           "  - {tenant-name: t1, max-cores: 100, max-volumes: 5,\n"
                           "     max-volume-gb: 200, L-43DA4232: 448, max-ram: }\n"
                           "  - {tenant-name: t2, max-servers: 3}\n"
                           "  - {tenant-name: t2, max-servers: 4}\n")
                           .config.tenant_limits;
  EXPECT_THAT(tenants.at("t1").limits, ElementsAre(Pair("L-43DA4232", 448), Pair("cores", 100),
                                                   Pair("volume-gb", 200), Pair("volumes", 5)));
  EXPECT_THAT(tenants.at("t2").limits, ElementsAre(Pair("instances", 4)));
}

TEST(Load, ReadsProviders) {
  const LoadResult result = load_text(
      "providers:\n"
      "  - {name: rack, driver: static, max-concurrency: 1.0, priority: 5}\n"
      "  - {name: cloud}\n"
      "  - {name: fakefoo, driver: static}\n"
      "  - {name: rack, driver: static, pools: [{name: main, nodes: []}]}\n");
  const auto& providers = result.config.providers;
  ASSERT_EQ(providers.size(), 3U);
  EXPECT_EQ(providers[0].name, "rack");
  EXPECT_EQ(providers[0].path, "providers[3] (rack)");
  EXPECT_EQ(providers[0].max_concurrency, -1);
  EXPECT_EQ(providers[0].priority, std::nullopt);
  EXPECT_EQ(providers[1].driver, "openstack");
  EXPECT_EQ(providers[2].driver, "fake");

  const Section section(providers[0].value, rack_schema(), providers[0].file, providers[0].path);
  EXPECT_EQ(section.sections("pools")[0].path(), "providers[3] (rack).pools[0]");
}

TEST(Load, SeesWhetherAProviderChanged) {
  const auto provider = [](std::string_view text) {
    return load_text(text).config.providers.at(0);
  };
  const auto before = provider("providers: [{name: a, driver: static, pools: []}]");
  EXPECT_EQ(before,
            provider("labels: []\n\nproviders:\n  - pools: []\n    driver: static\n    name: a\n"));
  EXPECT_FALSE(before ==
               provider("providers: [{name: a, driver: static, priority: 1, pools: []}]"));
}

TEST(Load, WarnsOfWhatTheCheckerRefuses) {
  EXPECT_THAT(warnings("labels: []\nlables: []\n"),
              ElementsAre("nodepool.yaml:2:1: unknown key `lables` (did you mean `labels`?)"));
  EXPECT_THAT(warnings("labels: [{name: a}, {name: a}]\n"),
              ElementsAre("nodepool.yaml:1:28: labels[1].name: the label `a` is already defined on "
                          "line 1 (the last definition is used)"));
  EXPECT_THAT(warnings("providers:\n  - {name: rack, driver: static, pool: []}\n"),
              ElementsAre("nodepool.yaml:2:34: providers[0] (rack): unknown key `pool` (did you "
                          "mean `pools`?)"));
  EXPECT_THAT(
      warnings(kServers + "zookeeper-timeout: 30\ndiskimages: [{name: a, shell-type: cmd}]\n"),
      IsEmpty());
}

TEST(Load, WarnsOfAKeyThatReplacesAnEarlierOne) {
  EXPECT_THAT(warnings("labels: [{name: a}]\nproviders: []\nlabels: [{name: b}]\n"),
              ElementsAre("nodepool.yaml:3:1: the key `labels` is already set on line 1 (only the "
                          "last one is used)"));
  const std::string merged = "labels:\n  - &a {name: a, min-ready: 1}\n  - <<: *a\n    name: b\n";
  EXPECT_THAT(warnings(merged), IsEmpty());
  EXPECT_THAT(warnings(merged + "    name: c\n"),
              ElementsAre("nodepool.yaml:5:5: the key `name` is already set on line 4 (only the "
                          "last one is used)"));
}

TEST(Load, RefusesWhatCannotWork) {
  EXPECT_THAT(refusal(""), HasSubstr("nodepool.yaml: must be a mapping, not nothing"));
  EXPECT_THAT(refusal("- a\n"), HasSubstr("must be a mapping, not a list"));
  EXPECT_THAT(refusal("labels:\n  - name: a\n - name: b\n"), HasSubstr("nodepool.yaml:3:2: "));
  EXPECT_THAT(refusal("a: 1\n---\nb: 1\n"), HasSubstr("second document"));
  EXPECT_THAT(refusal("labels: [{min-ready: 1}]"),
              HasSubstr("nodepool.yaml:1:10: labels[0]: the key `name` is missing"));
  EXPECT_THAT(refusal("labels: [{name: l, min-ready: \"2\"}]"),
              HasSubstr("nodepool.yaml:1:31: labels[0].min-ready: must be an integer"));
  EXPECT_THAT(refusal("labels: {a: b}"), HasSubstr("labels: must be a list"));
  EXPECT_THAT(refusal("zookeeper-servers: [{port: 1}]"), HasSubstr("the key `host` is missing"));
  EXPECT_THAT(refusal("zookeeper-timeout:"), HasSubstr("zookeeper-timeout: has no value"));
  EXPECT_THAT(refusal("zookeeper-timeout: soon"), HasSubstr("must be a number"));
  EXPECT_THAT(refusal("webapp: {port: 7s}"), HasSubstr("webapp.port: must be a port"));
  EXPECT_THAT(refusal("webapp: {dashboard-url: 'javascript:alert(1)'}"),
              HasSubstr("webapp.dashboard-url: must begin with https:// or http://"));
  EXPECT_THAT(refusal("webapp: {port: 65536}"), HasSubstr("webapp.port: must be a port"));
  EXPECT_THAT(refusal("webapp: {dashboard-url: 'javascript:alert(1)'}"),
              HasSubstr("webapp.dashboard-url: must begin with https:// or http://"));
  EXPECT_THAT(refusal("webapp: {port: .nan}"), HasSubstr("webapp.port: must be an integer"));
  EXPECT_THAT(refusal("tenant-resource-limits: [{max-cores: 1}]"),
              HasSubstr("the key `tenant-name` is missing"));
  EXPECT_THAT(refusal("tenant-resource-limits: [{tenant-name: a, gpu: b}]"),
              HasSubstr("tenant-resource-limits[0].gpu: must be an integer"));
}

TEST(Load, RefusesProvidersItCannotRun) {
  EXPECT_THAT(refusal("providers: [{driver: static, pools: []}]"),
              HasSubstr("providers[0]: the key `name` is missing"));
  EXPECT_EQ(refusal("providers: [{name: p, driver: sttic, pools: []}]"),
            "nodepool.yaml:1:31: providers[0] (p).driver: unknown driver `sttic` (did you mean "
            "`static`?)");
  EXPECT_THAT(refusal("providers: [{name: p, driver: amazon}]"),
              HasSubstr("unknown driver `amazon` (must be `fake`, `openstack` or `static`)"));
  EXPECT_THAT(refusal("providers: [5]"), HasSubstr("providers[0]: must be a mapping"));
}

TEST(Load, PutsTheSecureFileOverTheMainFile) {
  constexpr std::string_view kMain =
      "zookeeper-servers: [{host: ignored.example.net}]\n"
      "zookeeper-tls: {cert: old, key: old, ca: old}\n"
      "diskimages:\n"
      "  - {name: jammy, env-vars: {A: '1', PW: none}}\n"
      "  - {name: child, parent: jammy}\n";
  const Config config = load_text(kMain,
                                  "zookeeper-servers: [{host: real.example.net}]\n"
                                  "zookeeper-tls: {cert: c, key: k}\n"
                                  "diskimages: [{name: jammy, env-vars: {PW: secret}}]\n")
                            .config;
  EXPECT_THAT(config.zookeeper.servers, ElementsAre(ZooKeeperServer{.host = "real.example.net"}));
  EXPECT_EQ(config.zookeeper.tls, (ZooKeeperTls{.cert = "c", .key = "k"}));
  EXPECT_THAT(config.diskimages.at("jammy").env_vars,
              ElementsAre(Pair("A", "1"), Pair("PW", "secret")));
  EXPECT_EQ(config.diskimages.at("child").env_vars.at("PW"), "none");

  for (const auto& [main, secure] :
       {std::pair("true", "{ca: a}"), std::pair("false", "{ca: a, verify-hostname: true}"),
        std::pair("true", "{ca: a, verify-hostname: false}")}) {
    EXPECT_TRUE(load_text(kServers + "zookeeper-tls: {ca: b, verify-hostname: " + main + "}\n",
                          std::string("zookeeper-tls: ") + secure)
                    .config.zookeeper.tls.verify_hostname)
        << main << " " << secure;
  }

  const Config unchanged = load_text(kMain, "zookeeper-servers: []\nzookeeper-tls: {}\n").config;
  EXPECT_EQ(unchanged.zookeeper.servers.at(0).host, "ignored.example.net");
  EXPECT_EQ(unchanged.zookeeper.tls.cert, "old");
}

TEST(Load, LetsTheSecureFileDecideForZooKeeper) {
  const Config config = load_text("{}", "zookeeper-servers: [{host: a}]").config;
  EXPECT_EQ(config.store.kind, StoreChoice::Kind::zookeeper);
}

TEST(Load, DoesNotJudgeServersThatTheSecureFileReplaces) {
  const Config config = load_text("zookeeper-servers: [{host: a, chroot: nowhere}]",
                                  "zookeeper-servers: [{host: b, chroot: /np}]")
                            .config;
  EXPECT_EQ(config.zookeeper.servers.at(0).host, "b");
  EXPECT_EQ(config.zookeeper.chroot, "/np");
}

TEST(Load, RefusesToKeepMoreNodesReadyThanAStoreCouldHold) {
  EXPECT_EQ(load_text("labels: [{name: a, min-ready: 10000}]").config.labels.at("a").min_ready,
            10000);
  EXPECT_THAT(refusal("labels: [{name: a, min-ready: 100000000}]"),
              HasSubstr("labels[0].min-ready: must be at most 10000"));
}

// Without quotes, 0660 is the number 432: as a mode, that is 0432.
TEST(Load, WantsTheModeOfTheSocketInQuotes) {
  EXPECT_EQ(load_text("labels: []").config.api.socket_mode, 0660U);
  EXPECT_EQ(load_text("api: {socket-mode: '0600'}").config.api.socket_mode, 0600U);
  EXPECT_EQ(load_text("api: {socket-mode: '660'}").config.api.socket_mode, 0660U);
  EXPECT_THAT(refusal("api: {socket-mode: 0660}"), HasSubstr("api.socket-mode: must be in quotes"));
  EXPECT_THAT(refusal("api: {socket-mode: '0680'}"), HasSubstr("must be an octal file mode"));
}

TEST(Load, RefusesABrokenSecureFile) {
  constexpr std::string_view kMain = "diskimages: [{name: a}, {name: base, abstract: true}]";
  EXPECT_EQ(refusal(kMain, "diskimages: [{name: b, env-vars: {X: y}}]"),
            "secure.conf:1:21: diskimages[0].name: unknown disk image `b`");
  EXPECT_THAT(refusal(kMain, "diskimages: [{name: base, env-vars: {X: y}}]"),
              HasSubstr("unknown disk image `base`"));
  EXPECT_THAT(refusal(kMain, "diskimages: [{name: a}]"), HasSubstr("`env-vars` is missing"));
  EXPECT_THAT(refusal(kMain, "diskimages:"), HasSubstr("diskimages: has no value"));
  EXPECT_THAT(refusal(kMain, "- a"), HasSubstr("must be a mapping"));
  EXPECT_EQ(refusal(kMain, ""), "");
  EXPECT_EQ(load_text(kMain, "password: x").warnings.size(), 1U);
}

TEST(Load, RefusesTheDefaultStoreInPlaceOfZooKeeper) {
  EXPECT_EQ(refusal("labels: []\nzookeeper-servers: []\n"),
            "nodepool.yaml:2:1: zookeeper-servers: no ZooKeeper servers are configured (list them "
            "under `zookeeper-servers`, or set `store: sqlite:///var/lib/nodepool/nodepool.db` to "
            "use the embedded store)");
  for (const std::string text :
       {"zookeeper-servers:", "zookeeper-tls: {ca: a, cert: b, key: c}", "zookeeper-timeout: 30",
        "zookeeper-auth: {user: a, password: b}", "zookeper-servers: [{host: a}]",
        "zookeeper_servers: [{host: a}]", "zookeeper: [{host: a}]"}) {
    const std::string key = text.substr(0, text.find(':'));
    EXPECT_THAT(refusal(text), HasSubstr("nodepool.yaml:1:1: " + key + ": no ZooKeeper servers"));
    EXPECT_EQ(refusal("store: sqlite:///n.db\n" + text), "") << "the store is chosen";
    EXPECT_EQ(refusal(kServers + (key == "zookeeper-servers" ? "" : text)), "");
  }
  EXPECT_THAT(refusal("zookeeper-servers: []", "zookeeper-servers: []"), HasSubstr("no ZooKeeper"));
  EXPECT_EQ(refusal("zookeeper-servers: []", kServers), "");
  EXPECT_THAT(refusal("labels: []", "zookeeper-auth: {user: a, password: b}"),
              HasSubstr("secure.conf:1:1: zookeeper-auth: no ZooKeeper servers"));
}

TEST(Load, RefusesTheDefaultStoreInPlaceOfAMisspelledOrEmptyOne) {
  for (const std::string key : {"stor", "Store", "stores"}) {
    EXPECT_EQ(refusal("labels: []\n" + key + ": sqlite:///srv/n.db\n"),
              "nodepool.yaml:2:1: " + key + ": no store is configured (did you mean `store`?)");
    EXPECT_EQ(refusal("store: sqlite:///n.db\n" + key + ": sqlite:///srv/n.db\n"), "");
    EXPECT_EQ(refusal(kServers + key + ": sqlite:///srv/n.db\n"), "");
  }
  EXPECT_EQ(refusal("store:\n"),
            "nodepool.yaml:1:1: store: no store is configured (set `store: "
            "sqlite:///var/lib/nodepool/nodepool.db` to use the embedded store)");
}

TEST(Load, RefusesTheDefaultStoreBesideASecureFileThatIsNotRead) {
  const Files files;
  const std::string secure = files.write("secure.conf", "diskimages: []");
  LoadOptions options{.path = files.write("nodepool.yaml", "labels: []"),
                      .drivers = test_drivers()};
  try {
    load(options);
    ADD_FAILURE() << "not refused";
  } catch (const OutsideError& error) {
    EXPECT_EQ(error.what(),
              options.path + ": has neither `store` nor `zookeeper-servers`, and " + secure +
                  " is not read (pass it with `-s` if it has the servers, or set `store: "
                  "sqlite:///var/lib/nodepool/nodepool.db` to use the embedded store)");
  }
  options.uses_store = false;
  EXPECT_TRUE(load(options).config.store.is_default);
  options.uses_store = true;
  options.secure_path = secure;
  EXPECT_TRUE(load(options).config.store.is_default);
  options.secure_path = std::nullopt;
  files.write("nodepool.yaml", "store: sqlite:///var/lib/nodepool/nodepool.db");
  EXPECT_THAT(load(options).warnings, IsEmpty()) << "the store is chosen";
}

TEST(Load, ReadsTheRestWithoutTheServersThatASecureFileCouldHave) {
  const Files files;
  for (const char* servers : {"zookeeper-servers: [{host: a, chroot: nowhere}]\n",
                              "zookeeper-servers: []\n", "store: zookeeper\n"}) {
    LoadOptions options{
        .path = files.write("nodepool.yaml", std::string(servers) + "labels: [{name: small}]"),
        .drivers = test_drivers()};
    EXPECT_THROW(load(options), OutsideError) << servers;
    options.uses_store = false;
    EXPECT_THAT(load(options).config.labels, SizeIs(1)) << servers;
  }
}

TEST(Load, DoesNotWaitForAMissingFile) {
  EXPECT_THROW(load({.path = "/nonexistent/nodepool.yaml"}), ConfigError);
  const Files files;
  EXPECT_THROW(
      load({.path = files.write("nodepool.yaml", "{}"), .secure_path = files.path("absent.conf")}),
      ConfigError);
}

}  // namespace
}  // namespace nodepool::config

#include "cli/access_files.h"

#include <gmock/gmock.h>

namespace nodepool::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

const AccessPaths kPaths{"/tmp/x/ssh_config", "/tmp/x/known_hosts", "/tmp/x/inventory.yaml"};

model::Node node(const std::string& id, const std::string& host) {
  model::Node node;
  node.id = id;
  node.interface_ip = host;
  node.username = "ada";
  node.connection_type = "ssh";
  node.python_path = "auto";
  node.host_keys = {"ssh-ed25519 AAAA", "ssh-rsa BBBB"};
  return node;
}

std::vector<NodeAccess> two_nodes() {
  model::Node second = node("0000000002", "2001:db8::1");
  second.connection_port.text = "2222";
  return access_to({node("0000000001", "192.0.2.1"), second}, {"small", "small"});
}

TEST(AccessFilesTest, ssh_finds_nodes_by_label_name_and_id) {
  EXPECT_EQ(ssh_config_text(two_nodes(), kPaths),
            "Host small small-1 0000000001\n"
            "    HostName 192.0.2.1\n"
            "    Port 22\n"
            "    User ada\n"
            "    StrictHostKeyChecking yes\n"
            "    UserKnownHostsFile \"/tmp/x/known_hosts\"\n"
            "\n"
            "Host small-2 0000000002\n"
            "    HostName 2001:db8::1\n"
            "    Port 2222\n"
            "    User ada\n"
            "    StrictHostKeyChecking yes\n"
            "    UserKnownHostsFile \"/tmp/x/known_hosts\"\n"
            "\n");
  EXPECT_EQ(known_hosts_text(two_nodes()),
            "192.0.2.1 ssh-ed25519 AAAA\n"
            "192.0.2.1 ssh-rsa BBBB\n"
            "[2001:db8::1]:2222 ssh-ed25519 AAAA\n"
            "[2001:db8::1]:2222 ssh-rsa BBBB\n");
}

TEST(AccessFilesTest, without_host_keys_nothing_is_checked) {
  model::Node unknown = node("0000000001", "192.0.2.1");
  unknown.host_keys.clear();
  const auto nodes = access_to({unknown}, {"small"});
  EXPECT_THAT(
      ssh_config_text(nodes, kPaths),
      HasSubstr("    # The node has no recorded host keys: its identity cannot be verified.\n"
                "    StrictHostKeyChecking no\n"
                "    UserKnownHostsFile /dev/null\n"));
  EXPECT_EQ(known_hosts_text(nodes), "");
  EXPECT_THAT(inventory_text(nodes, kPaths), HasSubstr("StrictHostKeyChecking=no"));
}

TEST(AccessFilesTest, ansible_finds_nodes_in_groups_by_label) {
  EXPECT_EQ(inventory_text(two_nodes(), kPaths),
            "all:\n"
            "  children:\n"
            "    \"small\":\n"
            "      hosts:\n"
            "        \"small-1\":\n"
            "          ansible_connection: !unsafe \"ssh\"\n"
            "          ansible_host: \"192.0.2.1\"\n"
            "          ansible_port: 22\n"
            "          ansible_python_interpreter: !unsafe \"auto\"\n"
            "          ansible_ssh_common_args: \"-o StrictHostKeyChecking=yes -o "
            "UserKnownHostsFile='/tmp/x/known_hosts'\"\n"
            "          ansible_user: \"ada\"\n"
            "          nodepool_node_id: \"0000000001\"\n"
            "        \"small-2\":\n"
            "          ansible_connection: !unsafe \"ssh\"\n"
            "          ansible_host: \"2001:db8::1\"\n"
            "          ansible_port: 2222\n"
            "          ansible_python_interpreter: !unsafe \"auto\"\n"
            "          ansible_ssh_common_args: \"-o StrictHostKeyChecking=yes -o "
            "UserKnownHostsFile='/tmp/x/known_hosts'\"\n"
            "          ansible_user: \"ada\"\n"
            "          nodepool_node_id: \"0000000002\"\n");
}

TEST(AccessFilesTest, a_record_cannot_smuggle_lines_into_a_file) {
  model::Node host = node("0000000001", "192.0.2.1\n    ProxyCommand touch /tmp/owned");
  model::Node user = node("0000000002", "192.0.2.2");
  user.username = "ada\nProxyCommand x";
  model::Node key = node("0000000003", "192.0.2.3");
  key.host_keys = {"ssh-rsa AAAA\n* ssh-rsa BBBB"};
  model::Node option = node("0000000004", "-oProxyCommand=x");
  const auto nodes = access_to({host, user, key, option}, {"a", "b", "c", "d"});
  const std::string config = ssh_config_text(nodes, kPaths);
  EXPECT_THAT(config, Not(HasSubstr("ProxyCommand")));
  EXPECT_THAT(config, Not(HasSubstr("Host ")));
  EXPECT_THAT(config, HasSubstr("# Node 0000000001 cannot be reached by SSH.\n"));
  EXPECT_EQ(known_hosts_text(nodes), "");
  EXPECT_THAT(inventory_text(nodes, kPaths), HasSubstr("# Node 0000000004 cannot be reached.\n"));
  EXPECT_THAT(inventory_text(nodes, kPaths), HasSubstr("all: {}\n"));
  for (const NodeAccess& access : nodes) {
    if (access.label != "c") EXPECT_EQ(ssh_command(access), "") << access.id;
  }
}

TEST(AccessFilesTest, a_record_cannot_have_ansible_run_anything_here) {
  const std::string pipe = "{{ lookup('pipe', 'touch /tmp/owned') }}";
  model::Node connection = node("0000000001", "192.0.2.1");
  connection.connection_type = pipe;
  model::Node local = node("0000000002", "192.0.2.2");
  local.connection_type = "local";
  model::Node shell = node("0000000003", "192.0.2.3");
  shell.shell_type = pipe;
  model::Node python = node("0000000004", "192.0.2.4");
  python.python_path = pipe;
  model::Node option = node("0000000005", "192.0.2.5");
  option.python_path = "-c";
  EXPECT_EQ(
      inventory_text(
          access_to({connection, local, shell, python, option}, {"a", "b", "c", "d", "e"}), kPaths),
      "# Node 0000000001 cannot be reached.\n"
      "# Node 0000000002 cannot be reached.\n"
      "# Node 0000000003 cannot be reached.\n"
      "# Node 0000000004 cannot be reached.\n"
      "# Node 0000000005 cannot be reached.\n"
      "all: {}\n");
}

TEST(AccessFilesTest, pythons_are_named_in_several_ways) {
  for (const char* path :
       {"auto", "auto_silent", "python3", "/opt/python-3.11/bin/python3", "C:/py.exe"}) {
    model::Node host = node("0000000001", "192.0.2.1");
    host.python_path = path;
    EXPECT_THAT(inventory_text(access_to({host}, {"a"}), kPaths), HasSubstr(path));
  }
}

TEST(AccessFilesTest, variables_for_command_lines_are_plain) {
  model::Node host = node("0000000001", "-oProxyCommand=touch${IFS}/tmp/owned");
  host.username = "ada; touch /tmp/owned";
  EXPECT_THAT(
      access_environment({}, access_to({host}, {"a"}), kPaths),
      IsSupersetOf({std::pair("NODEPOOL_NODE_1_HOST", ""), std::pair("NODEPOOL_NODE_1_USER", "")}));
}

TEST(AccessFilesTest, nodes_without_ssh_are_for_ansible_only) {
  model::Node windows = node("0000000001", "192.0.2.1");
  windows.connection_type = "winrm";
  windows.connection_port.text = "5986";
  windows.shell_type = "powershell";
  const auto nodes = access_to({windows}, {"win"});
  EXPECT_EQ(ssh_config_text(nodes, kPaths), "# Node 0000000001 cannot be reached by SSH.\n\n");
  EXPECT_EQ(inventory_text(nodes, kPaths),
            "all:\n"
            "  children:\n"
            "    \"win\":\n"
            "      hosts:\n"
            "        \"win-1\":\n"
            "          ansible_connection: !unsafe \"winrm\"\n"
            "          ansible_host: \"192.0.2.1\"\n"
            "          ansible_port: 5986\n"
            "          ansible_python_interpreter: !unsafe \"auto\"\n"
            "          ansible_shell_type: !unsafe \"powershell\"\n"
            "          ansible_user: \"ada\"\n"
            "          nodepool_node_id: \"0000000001\"\n");
}

TEST(AccessFilesTest, names_are_unique_though_labels_look_like_names) {
  const auto nodes =
      access_to({node("0000000001", "h1"), node("0000000002", "h2"), node("0000000003", "h3")},
                {"a", "a", "a-2"});
  EXPECT_EQ(nodes[0].name, "a-1");
  EXPECT_EQ(nodes[1].name, "0000000002");
  EXPECT_EQ(nodes[2].name, "a-2-1");
  EXPECT_THAT(ssh_config_text(nodes, kPaths), HasSubstr("Host a-2 a-2-1 0000000003\n"));
  EXPECT_THAT(ssh_config_text(nodes, kPaths), HasSubstr("Host 0000000002\n"));
}

TEST(AccessFilesTest, the_environment_leads_to_files_and_nodes) {
  EXPECT_THAT(
      access_environment({{"PATH", "/bin"}, {"NODEPOOL_NODES", "old"}}, two_nodes(), kPaths),
      ElementsAre(
          std::pair("PATH", "/bin"), std::pair("NODEPOOL_SSH_CONFIG", "/tmp/x/ssh_config"),
          std::pair("NODEPOOL_KNOWN_HOSTS", "/tmp/x/known_hosts"),
          std::pair("NODEPOOL_INVENTORY", "/tmp/x/inventory.yaml"),
          std::pair("NODEPOOL_NODE_1_ID", "0000000001"),
          std::pair("NODEPOOL_NODE_1_LABEL", "small"),
          std::pair("NODEPOOL_NODE_1_HOST", "192.0.2.1"), std::pair("NODEPOOL_NODE_1_PORT", "22"),
          std::pair("NODEPOOL_NODE_1_USER", "ada"), std::pair("NODEPOOL_NODE_2_ID", "0000000002"),
          std::pair("NODEPOOL_NODE_2_LABEL", "small"),
          std::pair("NODEPOOL_NODE_2_HOST", "2001:db8::1"),
          std::pair("NODEPOOL_NODE_2_PORT", "2222"), std::pair("NODEPOOL_NODE_2_USER", "ada"),
          std::pair("NODEPOOL_NODES", "0000000001 0000000002")));
}

}  // namespace
}  // namespace nodepool::cli

"""The demonstration of the README."""
import re
import subprocess

from launcher import BINARIES, PATIENCE

# The shell is the first process of its namespace, so a process that outlives the demonstration is listed and then ended.
SCRIPT = """
"$@" || exit
echo '-- processes'
ps -e -o stat=,comm=
"""


def test_quickstart_runs_a_command_on_a_machine_and_ends_all_processes():
    done = subprocess.run(
        ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', SCRIPT, '-',
         './quickstart', '--vm', '--programs', BINARIES],
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=3 * PATIENCE)
    assert done.returncode == 0, done.stdout
    shown, _, listed = done.stdout.partition('-- processes\n')
    assert re.search(r'^Hello from np\d{10}, kernel \d', shown, re.MULTILINE), shown
    processes = [line.split()[:2] for line in listed.splitlines()]
    assert sorted(name for state, name in processes if not state.startswith('Z')) == ['ps', 'sh'], listed

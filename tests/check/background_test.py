"""./check in the background of a script, which ignores SIGINT and SIGQUIT for it."""
import pathlib
import signal
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Prints the ignored signals of a child of ./check.
PROBE = '''
import contextlib, runpy, subprocess, sys
sys.argv[1:] = ['--help']
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(None):
    runpy.run_path('tools/check', run_name='__main__')
subprocess.run(['grep', 'SigIgn', '/proc/self/status'], check=True)
'''


class Background(unittest.TestCase):
    def test_the_programs_of_the_tests_can_be_interrupted(self):
        printed = subprocess.run(['sh', '-c', '"$@" & wait', 'sh', sys.executable, '-B', '-c', PROBE], cwd=ROOT,
                                 check=True, stdout=subprocess.PIPE, text=True).stdout
        ignored = int(printed.split()[1], 16)
        for number in (signal.SIGINT, signal.SIGQUIT):
            self.assertFalse(ignored & 1 << number - 1, number.name)


if __name__ == '__main__':
    unittest.main()

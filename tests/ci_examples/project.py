"""What a CI tests: a repository with a program `run-tests`."""
import os
import signal

from installation import is_alive, run
from launcher import wait_until


class Project:
    def __init__(self, directory):
        self.directory = directory
        self.pid_file = directory.parent / 'pid'
        directory.mkdir()
        run(['git', 'init', '-q', directory])
        (directory / 'README').write_text('A project.\n')
        self.commit()

    def commit(self):
        run(['git', '-C', self.directory, 'add', '--all'])
        run(['git', '-C', self.directory, '-c', 'user.name=ada', '-c', 'user.email=ada@example.org', 'commit', '-q', '-m', 'x'])

    def has_tests(self, script):
        file = self.directory / 'run-tests'
        file.write_text(f'#!/bin/bash\n{script}\n')
        file.chmod(0o755)
        self.commit()

    def has_no_tests(self):
        (self.directory / 'run-tests').unlink(missing_ok=True)

    @property
    def long_test(self):
        return f'echo $$ >{self.pid_file}.new; mv {self.pid_file}.new {self.pid_file}; exec sleep 1000'

    def wait_until_tested(self):
        """Of the tests, the process."""
        return int(wait_until('the tests run', lambda: self.pid_file.exists() and self.pid_file.read_text()))

    def end_tests(self):
        """Those of a job that has nobody any more to do that."""
        pid = int(self.pid_file.read_text())
        self.pid_file.unlink()
        if is_alive(pid):
            os.kill(pid, signal.SIGTERM)
        wait_until('the tests have ended', lambda: not is_alive(pid))

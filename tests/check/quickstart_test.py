"""quickstart --programs: uses what is installed."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class InstalledPrograms(unittest.TestCase):
    def test_it_installs_nothing_and_names_the_missing_program(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ('bash', 'dirname'):
                pathlib.Path(folder, name).symlink_to(shutil.which(name))
            done = subprocess.run([ROOT / 'quickstart', '--programs', folder], env={'PATH': folder}, text=True,
                                  capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, '== 1. What the demonstration needs\n')
        self.assertEqual(done.stderr, 'ssh is missing: run tools/bootstrap, or install it\n')


if __name__ == '__main__':
    unittest.main()

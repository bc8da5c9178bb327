"""The version that CMake determines: from an argument, a file, a git tag, or none of them."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = '''cmake_minimum_required(VERSION 3.25)
project(x VERSION 12.0.0 LANGUAGES NONE)
include(cmake/Version.cmake)
message(STATUS "version: ${NODEPOOL_VERSION}")
'''


class Version(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write_project()

    def write_project(self):
        (self.folder / 'cmake').mkdir(parents=True)
        shutil.copy(ROOT / 'cmake/Version.cmake', self.folder / 'cmake')
        (self.folder / 'CMakeLists.txt').write_text(PROJECT)

    def git(self, *arguments):
        return subprocess.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@example.org', *arguments], check=True,
                              cwd=self.folder, capture_output=True, text=True).stdout.strip()

    def commit(self):
        self.git('init', '--quiet')
        self.git('commit', '--quiet', '--allow-empty', '--message', 'x')
        return 'g' + self.git('rev-parse', '--short=8', 'HEAD')

    def version(self, *arguments, build_type='Release'):
        output = subprocess.run(['cmake', '-G', 'Ninja', '-S', self.folder, '-B', self.folder / 'build',
                                 f'-DCMAKE_BUILD_TYPE={build_type}', *arguments],
                                check=True, capture_output=True, text=True).stdout
        return re.search(r'version: (.*)', output)[1]

    def test_a_tag_is_the_version_of_its_commit(self):
        self.commit()
        self.git('tag', 'v12.1.0')
        self.assertEqual(self.version(), '12.1.0')

    def test_commits_after_a_tag_are_counted(self):
        self.commit()
        self.git('tag', 'v12.1.0')
        self.commit()
        self.git('tag', 'other')
        commit = self.commit()
        self.assertEqual(self.version(), f'12.1.0+2.{commit}')

    def test_a_candidate_is_before_its_release(self):
        self.commit()
        self.git('tag', 'v12.1.0-rc1')
        self.assertEqual(self.version(), '12.1.0~rc1')
        commit = self.commit()
        self.assertEqual(self.version(), f'12.1.0~rc1+1.{commit}')

    def test_without_a_tag_it_is_on_the_way_to_the_projects_version(self):
        for number in (1, 2):
            commit = self.commit()
            self.assertEqual(self.version(), f'12.0.0~{number}.{commit}')

    def test_a_file_of_a_source_archive_goes_before_git(self):
        self.commit()
        (self.folder / 'VERSION').write_text('12.3.4\n')
        self.assertEqual(self.version(), '12.3.4')

    def test_an_argument_goes_before_all(self):
        (self.folder / 'VERSION').write_text('12.3.4\n')
        self.assertEqual(self.version('-DNODEPOOL_VERSION=13.0.0'), '13.0.0')

    def test_sources_inside_another_repository_do_not_take_its_version(self):
        self.commit()
        self.git('tag', 'v1.0.0')
        self.folder = self.folder / 'inner'
        self.write_project()
        self.assertEqual(self.version(), '12.0.0~unknown')

    def test_debug_builds_do_not_depend_on_the_commit(self):
        self.commit()
        self.git('tag', 'v12.1.0')
        self.assertEqual(self.version(build_type='Debug'), '12.0.0~debug')

    def test_debian_sorts_versions_as_they_follow_each_other(self):
        versions = ['12.0.0~83.g0123abcd', '12.0.0~84.g00000000', '12.0.0~rc1', '12.0.0', '12.0.0+5.g0123abcd',
                    '12.0.1~rc1', '12.0.1']
        for first, second in zip(versions, versions[1:]):
            subprocess.run(['dpkg', '--compare-versions', first, 'lt', second], check=True)


if __name__ == '__main__':
    unittest.main()

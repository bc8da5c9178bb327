"""Releases: what a tag must have, the repository's suites, the bill of materials, the manual, and what differs."""
import contextlib
import importlib.util
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/releasing'))

import image  # noqa: E402
import manual  # noqa: E402
import repository  # noqa: E402
import sbom  # noqa: E402
import source  # noqa: E402
import system  # noqa: E402
import website  # noqa: E402

specification = importlib.util.spec_from_file_location('releasing', ROOT / 'tools/releasing/__main__.py')
releasing = importlib.util.module_from_spec(specification)
specification.loader.exec_module(releasing)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, path, content):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(content)


class Tags(unittest.TestCase):
    FILES = {'CMakeLists.txt': 'x\nproject(nodepool VERSION 12.1.0 LANGUAGES CXX\n',
             'CHANGELOG.md': '# C\n\n## 12.1.0 – 2027-01-31\n\n## 12.0.0\n'}

    def problems(self, version, names=('README.md',), is_candidate=False):
        return source.problems_of(version, is_candidate, self.FILES.__getitem__, list(names))

    def test_a_commit_that_says_the_same_is_released(self):
        self.assertEqual(self.problems('12.1.0'), [])

    def test_another_version_notes_without_a_date_and_changes_that_are_left_are_refused(self):
        self.assertRegex(self.problems('12.0.0')[0], 'CMakeLists.txt has VERSION 12.1.0')
        self.assertRegex(self.problems('12.0.0')[1], 'no notes of 12.0.0 with a date')
        self.assertRegex(self.problems('12.1.0', ['README.md', 'x.added.md'])[0], 'changes that are not in .*: x.added.md')

    def test_a_candidate_needs_no_notes(self):
        self.assertEqual(self.problems('12.1.0', ['README.md', 'x.added.md'], is_candidate=True), [])

    def test_other_tags_are_refused(self):
        for tag in ('12.1.0', 'v12.1', 'v12.1.0-5-gabc', 'nightly'):
            self.assertRaisesRegex(ValueError, 'not a tag of a release', source.of_tag, tag)

    def test_a_tag_that_is_not_there_is_refused_with_the_way_out(self):
        self.assertRaisesRegex(ValueError, 'no tag v0.0.1: .* --snapshot', source.of_tag, 'v0.0.1')


class Archive(Folder):
    def test_it_is_the_same_each_time_and_has_the_version(self):
        self.write('tree/README.md', 'x')
        for command in (['init', '--quiet'], ['add', '.'], ['-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit',
                                                            '--quiet', '--message', 'x']):
            subprocess.run(['git', '-C', self.folder / 'tree', *command], check=True)
        of = source.Source('HEAD', '12.3.4~5.gabc', 0)
        archives = []
        for name in 'ab':
            (self.folder / name).mkdir()
            archives.append(source.archive(of, self.folder / name, self.folder / 'tree'))
        self.assertEqual(archives[0].read_bytes(), archives[1].read_bytes())
        sources = source.unpack(archives[0], self.folder / 'sources')
        self.assertEqual(sources.name, 'nodepool-12.3.4~5.gabc')
        self.assertEqual((sources / 'VERSION').read_text(), '12.3.4~5.gabc\n')


class Repository(unittest.TestCase):
    def test_a_suite_is_the_system_of_its_packages(self):
        self.assertEqual(repository.suite_of('12.0.0-debian12'), 'debian12')
        self.assertEqual(repository.suite_of('12.0.0~83.g0123abcd-ubuntu26.04'), 'ubuntu26.04')

    def test_a_version_without_a_system_is_refused(self):
        for version in ('12.0.0', '12.0.0-1', '12.0.0~83.g0123abcd'):
            self.assertRaisesRegex(ValueError, version, repository.suite_of, version)


class Bill(unittest.TestCase):
    KNOWN = {name: (name, version, 'amd64')
             for name, version in {'libc6': '2.36-9+deb12u14', 'libstdc++6': '1:12.2', 'cmake': '3.25.1'}.items()}

    def document(self, content=b'x', **changed):
        arguments = {'runtime': ['libc6', 'libstdc++6'], 'build': ['cmake', 'libc6'], 'known': self.KNOWN,
                     'copyright_text': lambda name: f'the license of {name}', **changed}
        return sbom.document('nodepool_12.deb', '12', content, 0, distribution='debian', **arguments)

    def test_names_of_dependencies_are_read_without_versions_and_alternatives(self):
        self.assertEqual(sbom.dependencies('libc6 (>= 2.34), adduser, libcurl4 (>= 7) | libcurl4t64, libc6'),
                         ['adduser', 'libc6', 'libcurl4'])

    def test_only_installed_packages_are_known(self):
        self.assertEqual(sbom.installed('a\t1\tamd64\tinstalled\t\nb\t2\tall\tconfig-files\t\n'),
                         {'a': ('a', '1', 'amd64')})

    def test_a_package_is_known_by_what_it_provides(self):
        exim, mail = ('exim', '4', 'all'), ('mail', '1', 'amd64')
        known = sbom.installed('exim\t4\tall\tinstalled\tmta, mail (= 4)\nmail\t1\tamd64\tinstalled\t\n')
        self.assertEqual(known, {'exim': exim, 'mta': exim, 'mail': mail})
        document = self.document(runtime=['mta', 'exim'], build=[], known=known)
        self.assertEqual([entry['name'] for entry in document['packages']], ['nodepool', 'exim'])

    def test_each_package_is_listed_once_with_its_relationships(self):
        document = self.document()
        self.assertEqual([entry['name'] for entry in document['packages']], ['nodepool', 'cmake', 'libc6', 'libstdc++6'])
        found = {(r['spdxElementId'], r['relationshipType'], r['relatedSpdxElement']) for r in document['relationships']}
        self.assertIn((sbom.PACKAGE, 'DEPENDS_ON', 'SPDXRef-Package-libstdc-plus--plus-6'), found)
        self.assertIn(('SPDXRef-Package-cmake', 'BUILD_DEPENDENCY_OF', sbom.PACKAGE), found)
        self.assertEqual(len(found), 5)
        self.assertEqual(document['creationInfo']['created'], '1970-01-01T00:00:00Z')

    def test_each_package_has_the_licenses_that_its_copyright_file_names(self):
        text = ('Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nLicense: Expat\n\n'
                'Files: debian/*\nLicense: GPL-3+ \n\nLicense: Expat\n Permission is …\nLicense:\n of no name\n')
        document = self.document(copyright_text={'cmake': '', 'libc6': 'License: Expat\n', 'libstdc++6': text}.get)
        self.assertEqual([entry['licenseComments'] for entry in document['packages'][1:]],
                         ['See /usr/share/doc/cmake/copyright.', 'See /usr/share/doc/libc6/copyright.',
                          'Named in /usr/share/doc/libstdc++6/copyright: Expat; GPL-3+.'])

    def test_the_document_depends_only_on_the_package(self):
        self.assertEqual(self.document(), self.document())
        self.assertNotEqual(self.document()['documentNamespace'], self.document(b'y')['documentNamespace'])

    def test_a_dependency_that_is_not_installed_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'not installed .*: libfmt9'):
            self.document(runtime=['libfmt9'])


class Built(Folder):
    def test_a_package_of_another_version_is_refused(self):
        self.write('root/DEBIAN/control', 'Package: nodepool\nVersion: 12.0.0~83.g0123abcd-debian12\nArchitecture: all\n'
                   'Maintainer: x\nDescription: x\n')
        built = self.folder / 'nodepool.deb'
        subprocess.run(['dpkg-deb', '--build', self.folder / 'root', built], check=True, capture_output=True)
        self.assertEqual(repository.upstream_version(built), '12.0.0~83.g0123abcd')
        with unittest.mock.patch.object(source, 'unpack'), self.assertRaisesRegex(ValueError, 'is not of version 12.1.0'):
            releasing.make_package(source.Source('HEAD', '12.1.0', 0), None, None, built, self.folder, ['sbom'],
                                   self.folder, {})

    def test_it_replaces_no_package_of_a_release(self):
        for options in ([], ['--only', 'package'], ['--only', 'sbom', '--debian', 'trixie']):
            with unittest.mock.patch.object(sys, 'argv', ['release', '--snapshot', '--built', 'x.deb', *options]), \
                    contextlib.redirect_stderr(io.StringIO()) as error:
                self.assertRaises(SystemExit, releasing.parse)
            self.assertIn('--built goes with', error.getvalue())


class Manual(Folder):
    def test_pages_are_in_the_order_of_the_root_page(self):
        pages = ['README.md', 'docs/a.md', 'docs/b.md', 'docs/ci/README.md', 'docs/ci/x/README.md', 'docs/z.md']
        root = '[z](docs/z.md)\n\n## Manual\n\n[b](docs/b.md#x) [ci](docs/ci/README.md) [b](docs/b.md) [a](docs/a.md) [gone](gone.md)'
        self.assertEqual(manual.in_order(root, pages),
                         ['docs/b.md', 'docs/ci/README.md', 'docs/ci/x/README.md', 'docs/a.md', 'docs/z.md'])

    def test_links_to_pages_and_anchors_that_exist_are_accepted(self):
        self.write('a.html', '<a href="b/c.html#here">x</a> <a href="https://example.org/x">x</a> <img src="i.png"> <p id="p">'
                   '<a href="#p">x</a>')
        self.write('b/c.html', '<h1 id="here">x</h1><a href="../a.html">x</a>')
        self.write('i.png', '')
        self.assertEqual(manual.broken_links(self.folder), [])

    def test_links_to_what_is_not_there_are_found(self):
        self.write('a.html', '<a href="b.html">x</a> <a href="#no">x</a> <a href="c.html#no">x</a> <img src="no.png">')
        self.write('c.html', '<p>x</p>')
        self.assertEqual(manual.broken_links(self.folder),
                         ['a.html: b.html', 'a.html: #no', 'a.html: c.html#no', 'a.html: no.png'])

    def test_packages_of_the_generator_are_pinned(self):
        lines = [line for line in manual.REQUIREMENTS.read_text().splitlines() if not line.startswith('#')]
        self.assertGreater(len(lines), 5)
        self.assertEqual([line for line in lines if '==' not in line], [])


class Website(Folder):
    def add(self, *versions, page='x'):
        for version in versions:
            self.write(f'{version}/index.html', page)
            image.pack(self.folder / version, self.folder / f'nodepool-{version}-manual.tar.xz', 0, '--xz')
        return website.add(self.folder / 'site', [self.folder / f'nodepool-{version}-manual.tar.xz' for version in versions])

    def test_it_has_each_version_and_an_index_with_the_newest_first(self):
        self.assertEqual(self.add('12.9.0', '12.10.0~rc1'), ['12.10.0~rc1', '12.9.0'])
        newest_first = ['12.10.0+5.g0123abcd', '12.10.0', '12.10.0~rc1', '12.9.0']
        self.assertEqual(self.add('12.10.0+5.g0123abcd', '12.10.0'), newest_first)
        page = manual.Page()
        page.feed((self.folder / 'site/index.html').read_text())
        self.assertEqual([urllib.parse.unquote(link) for link in page.links], [f'{version}/index.html' for version in newest_first])
        self.assertEqual(manual.broken_links(self.folder / 'site'), [])

    def test_a_manual_is_replaced(self):
        self.add('12.9.0', page='old')
        self.add('12.9.0', page='new')
        self.assertEqual((self.folder / 'site/12.9.0/index.html').read_text(), 'new')

    def test_other_files_are_refused(self):
        self.assertRaisesRegex(ValueError, 'nodepool-12.9.0.tar.xz', website.add, self.folder,
                               [self.folder / 'nodepool-12.9.0.tar.xz'])


class Reproducible(Folder):
    def test_a_packed_folder_depends_on_names_and_contents_only(self):
        for name, order in (('a', 'xy'), ('b', 'yx')):
            for file in order:
                self.write(f'{name}/{file}', file)
            (self.folder / name / 'x').chmod(0o600 if name == 'a' else 0o644)
            image.pack(self.folder / name, self.folder / f'{name}.tar', 86400)
        self.assertEqual((self.folder / 'a.tar').read_bytes(), (self.folder / 'b.tar').read_bytes())

    def test_files_that_differ_or_are_missing_are_named(self):
        for path, content in {'a/same': 'x', 'b/same': 'x', 'a/other': 'x', 'b/other': 'y', 'a/gone': 'x', 'b/new': 'x',
                              f'a/{releasing.SUMS}': 'x', f'b/{releasing.SUMS}': 'y'}.items():
            self.write(path, content)
        self.assertEqual(releasing.differences(self.folder / 'a', self.folder / 'b'), ['gone', 'new', 'other'])

    def test_the_time_of_the_commit_reaches_all_programs(self):
        environment = system.environment(7, {'TZ': 'Pacific/Kiritimati'})
        self.assertEqual((environment['SOURCE_DATE_EPOCH'], environment['TZ']), ('7', 'Pacific/Kiritimati'))

    def test_tags_of_images_have_no_other_characters(self):
        self.assertEqual(image.tag_of('12.0.0~83.g0123abcd'), '12.0.0-83.g0123abcd')
        self.assertEqual(image.tag_of('12.1.0+5.g0123abcd'), '12.1.0-5.g0123abcd')


class Programs(unittest.TestCase):
    def test_a_failed_command_is_raised(self):
        self.assertEqual(system.System().run('echo', 'x'), 'x\n')
        self.assertRaises(subprocess.CalledProcessError, system.System().run, 'false')


if __name__ == '__main__':
    unittest.main()

"""The tables of tested versions name what the suites install."""
import pathlib
import re
import sys
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/check'))

from suites import BY_NAME  # noqa: E402

MAVEN = '{http://maven.apache.org/POM/4.0.0}'


def rows():
    """The cells of the table: store, Zuul, Python Nodepool, suites."""
    page = (ROOT / 'docs/compatibility.md').read_text()
    table = page.partition('## Tested versions\n')[2].partition('\n## ')[0]
    lines = [line for line in table.splitlines() if line.startswith('| ')]
    return [[cell.strip() for cell in line.strip('|').split(' | ')] for line in lines[1:]]


def required(package):
    """Its version in the requirements of the suite `interop`."""
    text = (ROOT / 'tests/interop/requirements.txt').read_text()
    return re.search(rf'^{package}==(\S+)$', text, re.MULTILINE)[1]


def zookeeper():
    """The version of Apache ZooKeeper that tests fetch."""
    tree = xml.etree.ElementTree.parse(ROOT / 'tests/support/apache_zookeeper/pom.xml')
    return next(found.findtext(f'{MAVEN}version') for found in tree.iter(f'{MAVEN}dependency')
                if found.findtext(f'{MAVEN}artifactId') == 'zookeeper')


class TestedVersions(unittest.TestCase):
    def test_zuul_and_the_python_nodepool_are_those_of_interop(self):
        others = [row for row in rows() if 'interop' in row[3]]
        self.assertGreaterEqual(len(others), 2)
        for _, zuul, nodepool, _ in others:
            self.assertEqual((zuul, nodepool), (required('zuul'), required('nodepool')))

    def test_apache_zookeeper_is_the_one_that_is_fetched(self):
        suites = [row for row in rows() if f'ZooKeeper {zookeeper()}' in row[0]]
        self.assertEqual(len(suites), 2)
        for row in suites:
            self.assertIn(f'-{zookeeper().rpartition(".")[0]}`', row[3])

    def test_the_suites_are_those_of_check(self):
        for row in rows():
            for suite in re.findall(r'`([^`]+)`', row[3]):
                self.assertIn(suite, BY_NAME)

    def test_the_ansible_role_names_the_debian_on_which_it_is_tested(self):
        role = (ROOT / 'packaging/ansible/nodepool/meta/main.yml').read_text()
        check = (ROOT / 'packaging/check').read_text()
        self.assertEqual(re.search(r'versions: \[(.*)\]', role)[1].split(', '),
                         re.findall(r'^debootstrap --variant=minbase (\w+) ', check, re.MULTILINE))


if __name__ == '__main__':
    unittest.main()

"""What the manual says of the tests."""
import pathlib
import re
import unittest

NAMED = re.compile(r'`([A-Z]\w+)\.(\w+)`')
TEST = re.compile(r'^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)', re.MULTILINE)


class SecurityTest(unittest.TestCase):
    def test_each_test_that_the_page_names_exists(self):
        root = pathlib.Path(__file__).parents[2]
        named = set(NAMED.findall((root / 'docs/security.md').read_text()))
        known = {found for path in (root / 'tests').rglob('*.cc') for found in TEST.findall(path.read_text())}
        self.assertGreater(len(named), 30)
        self.assertEqual(set(), named - known)


if __name__ == '__main__':
    unittest.main()

"""The manual as static HTML: the pages of a source archive, as the package installs them, by Sphinx."""
import hashlib
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / 'words'))
import links  # noqa: E402

ROOT_PAGE = 'README.md'
LIST = '## Manual'  # heading of the root page
REQUIREMENTS = FOLDER / 'requirements.txt'
PAGE_LINK = re.compile(r'\]\(([^)#\s]+\.md)(?:#[^)]*)?\)')


def python_environment():
    """The folder of an environment with REQUIREMENTS, outside of the tree. Creates it if necessary."""
    key = hashlib.sha256(sys.version.encode() + REQUIREMENTS.read_bytes()).hexdigest()[:12]
    cache = pathlib.Path(os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache')
    folder = cache / 'nodepool-release' / key
    if not (folder / 'complete').exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, '-m', 'venv', folder], check=True)
        subprocess.run([folder / 'bin/pip', 'install', '--quiet', '--disable-pip-version-check', '-r', REQUIREMENTS],
                       check=True)
        (folder / 'complete').touch()
    return folder


def build(sources, work, version, environment):
    """Writes the manual to a folder in `work`, and returns it. Raises ValueError for broken links."""
    stage, output = work / 'pages', work / 'html'
    copy_pages(sources, stage)
    pages = sorted(str(page.relative_to(stage)) for page in stage.rglob('*.md'))
    root = stage / ROOT_PAGE
    root.write_text(root.read_text() + contents(in_order(root.read_text(), pages)))
    shutil.copy(FOLDER / 'conf.py', stage)
    command = [python_environment() / 'bin/sphinx-build', '--quiet', '--fail-on-warning', '--keep-going', '-b', 'html',
               '-d', work / 'doctrees', '-D', f'release={version}', '-D', f'html_title=Nodepool {version}', stage, output]
    subprocess.run(command, check=True, env=environment | {'PYTHONHASHSEED': '0'})
    # Builders of other machines differ in it, and readers do not need it.
    (output / '.buildinfo').unlink()
    shutil.copyfile(output / 'README.html', output / 'index.html')
    if broken := broken_links(output):
        raise ValueError('the manual has broken links:\n' + '\n'.join(broken))
    return output


def copy_pages(sources, stage):
    """Copies what the package installs below its folder of documentation."""
    names = [str(path.relative_to(sources)) for path in sources.rglob('*')
             if path.is_file() and path.relative_to(sources).parts[0] != 'build']
    for name, place in links.installed((sources / links.PACKAGING).read_text(), names).items():
        (stage / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(sources / name, stage / place)


def in_order(root_page, pages):
    """All pages but the root, in the order of its list of the manual; others follow the page of their folder."""
    listed = root_page.partition(f'\n{LIST}\n')[2]
    linked = [found for found in dict.fromkeys(PAGE_LINK.findall(listed)) if found in pages]
    rest = [page for page in pages if page not in linked and page != ROOT_PAGE]
    order = []
    for page in linked:
        order.append(page)
        folder = str(pathlib.PurePosixPath(page).parent) + '/'
        if page.endswith('/' + ROOT_PAGE):
            order += [other for other in rest if other.startswith(folder)]
    return order + [page for page in rest if page not in order]


def contents(pages):
    """The table of contents, which the theme shows beside each page."""
    return '\n```{toctree}\n:hidden:\n:titlesonly:\n\n' + '\n'.join(page.removesuffix('.md') for page in pages) + '\n```\n'


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.anchors = [], set()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == 'id' or name == 'name' and tag == 'a':
                self.anchors.add(value)
            elif name in ('href', 'src') and value:
                self.links.append(value)


def broken_links(folder):
    """Links of a web site to pages, files and anchors that it does not have."""
    pages = {}
    for path in sorted(folder.rglob('*.html')):
        pages[path] = Page()
        pages[path].feed(path.read_text())
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target = urllib.parse.urlsplit(link)
            if target.scheme or target.netloc:
                continue
            other = (path.parent / urllib.parse.unquote(target.path)).resolve() if target.path else path
            anchor = urllib.parse.unquote(target.fragment)
            if not other.exists() or anchor and other in pages and anchor not in pages[other].anchors:
                broken.append(f'{path.relative_to(folder)}: {link}')
    return broken

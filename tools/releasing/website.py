"""Manuals of several versions as a web site: a directory, also behind a web server, with an index of the versions."""
import html
import re
import shutil
import subprocess
import urllib.parse

ARCHIVE = re.compile(r'nodepool-(.+)-manual\.tar\.xz')
INDEX = 'index.html'


def add(root, archives):
    """Unpacks manuals into a site, which is created if necessary, and writes the index. Another manual of the same
    version is replaced. Returns the versions of the site, the newest first. Raises ValueError."""
    for archive in archives:
        if not (found := ARCHIVE.fullmatch(archive.name)):
            raise ValueError(f'{archive} is not named nodepool-VERSION-manual.tar.xz')
        folder = root / found[1]
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        subprocess.run(['tar', '--extract', '--file', archive, '--directory', folder, '--no-same-owner'], check=True)
    versions = newest_first(folder.name for folder in root.iterdir() if (folder / INDEX).exists())
    (root / INDEX).write_text(index(versions))
    return versions


def newest_first(versions):
    return subprocess.run(['sort', '--version-sort', '--reverse'], input='\n'.join(versions), check=True, text=True,
                          stdout=subprocess.PIPE).stdout.split()


def index(versions):
    items = ''.join(f'<li><a href="{urllib.parse.quote(version)}/{INDEX}">{html.escape(version)}</a></li>\n'
                    for version in versions)
    return ('<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
            f'<title>Nodepool: manuals</title>\n<h1>Nodepool: manuals</h1>\n<ul>\n{items}</ul>\n</html>\n')

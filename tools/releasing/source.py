"""The source of a release: a commit, its version, and the source archive, which is the same on each machine."""
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/changes'))
import fragments  # noqa: E402

TAG = re.compile(r'v(\d+\.\d+\.\d+)(-rc\d+)?')
PROJECT = re.compile(r'^project\(nodepool VERSION (\S+)', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Source:
    commit: str
    version: str
    epoch: int  # time of the commit, in seconds; of all files of a release

    @property
    def name(self):
        return f'nodepool-{self.version}'


def git(*arguments, **options):
    return subprocess.run(['git', '-C', ROOT, *arguments], check=True, capture_output=True, text=True,
                          **options).stdout.strip()


def of_tag(tag):
    """The source of a release. Raises ValueError if its files do not say the same as the tag."""
    if not (found := TAG.fullmatch(tag)):
        raise ValueError(f'{tag} is not a tag of a release: v12.1.0, v12.1.0-rc1')
    if not git('tag', '--list', tag):
        raise ValueError(f'there is no tag {tag}: `git tag` lists them; --snapshot makes the same files of HEAD')
    commit = git('rev-parse', '--verify', f'refs/tags/{tag}^{{commit}}')
    if problems := problems_of(found[1], is_candidate=bool(found[2]), read=lambda path: git('show', f'{commit}:{path}'),
                               names=git('ls-tree', '--name-only', f'{commit}:{fragments.FOLDER}').splitlines()):
        raise ValueError('\n'.join(f'{tag}: {problem}' for problem in problems))
    return source(commit, tag.removeprefix('v').replace('-rc', '~rc'))


def problems_of(version, is_candidate, read, names):
    """What a commit lacks for the release of this version. `names`: files in changes/."""
    problems = []
    project = PROJECT.search(read('CMakeLists.txt'))
    if not project or project[1] != version:
        problems.append(f'CMakeLists.txt has VERSION {project[1] if project else "nowhere"}')
    if is_candidate:
        return problems
    if not fragments.is_released(read(fragments.PAGE), version):
        problems.append(f'{fragments.PAGE} has no notes of {version} with a date: run tools/changelog {version}')
    if left := [name for name in names if name != fragments.GUIDE]:
        problems.append(f'{fragments.FOLDER}/ has changes that are not in {fragments.PAGE}: {", ".join(left)}')
    return problems


def snapshot():
    """The source of HEAD, with the version that CMake determines."""
    with tempfile.TemporaryDirectory() as folder:
        project = PROJECT.search(git('show', 'HEAD:CMakeLists.txt'))[1]
        (pathlib.Path(folder) / 'CMakeLists.txt').write_text(
            f'cmake_minimum_required(VERSION 3.25)\nproject(x VERSION {project} LANGUAGES NONE)\n'
            f'include("{ROOT}/cmake/Version.cmake")\nmessage(STATUS "version: ${{NODEPOOL_VERSION}}")\n')
        output = subprocess.run(['cmake', '-G', 'Ninja', '-S', folder, '-B', f'{folder}/build', '-DCMAKE_BUILD_TYPE=Release'],
                                check=True, capture_output=True, text=True).stdout
    return source(git('rev-parse', 'HEAD'), re.search(r'version: (.*)', output)[1])


def source(commit, version):
    return Source(commit, version, int(git('show', '--no-patch', '--format=%ct', commit)))


def archive(of, folder, repository=ROOT):
    """Writes the source archive, with the file VERSION, into a folder."""
    path = folder / f'{of.name}.tar.xz'
    tar = ['git', '-C', repository, '-c', 'tar.umask=0022', 'archive', '--format=tar', f'--prefix={of.name}/',
           f'--add-virtual-file={of.name}/VERSION:{of.version}\n', of.commit]
    with open(path, 'wb') as file, subprocess.Popen(tar, stdout=subprocess.PIPE) as archiver:
        subprocess.run(['xz', '--threads=1', '-6', '--stdout'], stdin=archiver.stdout, stdout=file, check=True)
    if archiver.returncode != 0:
        raise subprocess.CalledProcessError(archiver.returncode, tar)
    return path


def unpack(path, folder):
    """Unpacks a source archive. Returns the folder of the sources."""
    folder.mkdir(parents=True)
    subprocess.run(['tar', '--extract', '--file', path, '--directory', folder, '--no-same-owner'], check=True)
    [sources] = folder.iterdir()
    return sources

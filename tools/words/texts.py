"""What people read in the tree: prose of Markdown pages, comments and string literals of sources, with line numbers."""
import bisect
import dataclasses
import functools
import pathlib
import re
import subprocess

PAGES = ('docs/', 'changes/', 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md')
SOURCES = ('src/',)
GLOSSARY = 'Glossary'
NAME = '§'  # stands for a code span: a name, not a word

C_TOKEN = re.compile(r'''(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"'''
                     r'''|"(?P<string>(?:\\.|[^"\\\n])*)"|(?<![0-9a-fA-F])'(?P<char>(?:\\.|[^'\\\n])*)\'''', re.DOTALL)
JS_TOKEN = re.compile(r'''(?P<comment>(?<!:)//[^\n]*|/\*.*?\*/)|`(?P<raw>[^`]*)`|"(?P<string>(?:\\.|[^"\\\n])*)"'''
                      r'''|'(?P<char>(?:\\.|[^'\\\n])*)\'''', re.DOTALL)
CODE_SPAN = re.compile(r'(`+)(.+?)\1', re.DOTALL)
LINK = re.compile(r'!?\[((?:[^][]|\[[^][]*\])*)\]\(([^()\s]*(?:\([^()]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)')
ITEM = re.compile(r'(\s*)((?:[-*+]|\d+[.)])\s+)')


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    """Something that breaks a rule."""
    path: str
    line: int
    rule: str
    text: str


@dataclasses.dataclass
class Text:
    """A paragraph, a cell of a table, a comment or a string. `pieces`: (line, text), in their order."""
    kind: str            # prose, comments, strings
    pieces: list
    form: str = ''       # of prose: heading, cell, text
    section: str = ''    # of prose: the title of the section of second level that it stands in
    column: int = 0      # of a cell
    is_generated: bool = False

    @functools.cached_property
    def raw(self):
        """As it stands in the file; the pieces are joined by line breaks, or, those of strings, by nothing."""
        return ('' if self.kind == 'strings' else '\n').join(text for _, text in self.pieces)

    @functools.cached_property
    def plain(self):
        """As it is read, with as many characters: without code, targets of links and emphasis."""
        return self.raw if self.kind == 'strings' else plain(self.raw)

    @functools.cached_property
    def begins(self):
        joint = 0 if self.kind == 'strings' else 1
        begins = [0]
        for _, text in self.pieces[:-1]:
            begins.append(begins[-1] + len(text) + joint)
        return begins

    def line_at(self, offset):
        """The line of the file that a place in `raw` or `plain` stands in."""
        index = bisect.bisect_right(self.begins, offset) - 1
        line, text = self.pieces[index]
        return line + text.count('\n', 0, offset - self.begins[index])

    @property
    def line(self):
        return self.pieces[0][0]


@dataclasses.dataclass
class File:
    path: str
    texts: list
    content: str = ''


def blank(found, keep=''):
    """As many characters, with the line breaks in their places."""
    text = ''.join('\n' if c == '\n' else '\v' for c in found[0])
    return keep + text[len(keep):]


def plain(text):
    """Without what is no word, and with as many characters: what is left out becomes \\v."""
    text = CODE_SPAN.sub(lambda found: blank(found, NAME), text)
    text = re.sub(r'<[^<>]*>', blank, text)

    def linked(found):
        begin = found.start(1) - found.start()
        rest = re.sub(r'[^\n]', '\v', found[0])
        return rest[:begin] + found[1] + rest[begin + len(found[1]):]

    text = LINK.sub(linked, text)
    return re.sub(r'\*+|(?<!\w)_+|_+(?!\w)', blank, text)


def read_page(content):
    """The texts of a Markdown page."""
    found = []
    current, fence, section, generated, indents = None, None, '', False, []
    is_after_blank, is_code, is_comment = True, False, False

    def add(form, line, text, column=0):
        found.append(Text('prose', [(line, text)], form, section, column, generated))
        return found[-1]

    for number, line in enumerate(content.split('\n'), 1):
        bare = line.strip()
        indent = len(line) - len(line.lstrip(' '))
        if fence:
            fence = None if bare.startswith(fence) else fence
            continue
        if is_comment or bare.startswith('<!--'):
            is_comment = '-->' not in bare
            generated = bare.startswith('<!-- generated') or generated and not bare.startswith('<!-- end')
            current, is_after_blank = None, True
            continue
        if not bare:
            current, is_after_blank = None, True
            continue
        if bare.startswith(('```', '~~~')):
            fence, current = bare[:3], None
            continue
        if is_after_blank:
            while indents and indent < indents[-1]:
                indents.pop()
            is_code = indent >= (indents[-1] if indents else 0) + 4
        is_after_blank = False
        if is_code:
            is_after_blank = True  # code goes on until a line that is indented less
            continue
        if title := re.match(r'(#+)\s+(.*)', bare):
            section = title[2] if len(title[1]) == 2 else section if len(title[1]) > 2 else ''
            indents = []
            add('heading', number, title[2])
            current = None
        elif bare.startswith('|'):
            current = None
            if not re.fullmatch(r'[|\s:-]+', bare):
                for column, cell in enumerate(cells(bare)):
                    add('cell', number, cell, column)
        elif item := ITEM.match(line):
            while indents and len(item[1]) < indents[-1]:
                indents.pop()
            indents.append(item.end())
            current = add('text', number, line[item.end():])
        elif current:
            current.pieces.append((number, bare))
        else:
            current = add('text', number, bare.lstrip('> '))
    return found


def cells(row):
    """The cells of a table's row."""
    hidden = re.sub(r'\\\|', '\0\0', row.strip())
    hidden = CODE_SPAN.sub(lambda found: found[0].replace('|', '\0'), hidden).strip('|')
    result, begin = [], row.index('|') + 1
    for cell in hidden.split('|'):
        result.append(row.strip()[begin:begin + len(cell)].strip())
        begin += len(cell) + 1
    return result


def read_source(content, token=C_TOKEN):
    """The comments and string literals of a source. Comments of several lines are one text, as are adjacent strings."""
    found, end, line, at = [], 0, 1, 0
    content = re.sub(r'^[ \t]*#[ \t]*include\b[^\n]*', blank, content, flags=re.MULTILINE)
    for match in token.finditer(content):
        line += content.count('\n', at, match.start())
        at = match.start()
        between = content[end:match.start()]
        end = match.end()
        if (comment := match['comment']) is not None:
            text = re.sub(r'^(//+|/\*+| *\*)[/!]? ?|\s*\*/$', '', comment, flags=re.MULTILINE)
            is_next = found and found[-1].kind == 'comments' and between.count('\n') <= 1
            kind = 'comments'
        else:
            text = next(group for group in (match['raw'], match['string'], match['char']) if group is not None)
            if match['raw'] is None:
                text = re.sub(r'\\[nrt]', ' ', text).replace('\\"', '"')
            is_next = found and found[-1].kind == 'strings'
            kind = 'strings'
        if is_next and not between.strip():
            found[-1].pieces.append((line, text))
        else:
            found.append(Text(kind, [(line, text)]))
    return found


def read_html(content):
    """What a page of HTML shows and reads aloud."""
    found = []
    for number, line in enumerate(content.split('\n'), 1):
        shown = re.findall(r'\b(?:title|aria-label|placeholder)="([^"]*)"', line)
        shown.append(re.sub(r'<[^>]*>?', ' ', line))
        found += [Text('strings', [(number, text)]) for text in shown if text.strip()]
    return found


READERS = {'.md': read_page, '.cc': read_source, '.h': read_source, '.html': read_html,
           '.js': lambda content: read_source(content, JS_TOKEN), '.css': read_source}


def read_tree(root):
    """The files of the tree that the rules are for."""
    names = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], cwd=root, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    files = []
    for name in names:
        suffix = pathlib.PurePath(name).suffix
        is_page = suffix == '.md' and name.startswith(PAGES)
        if (is_page or suffix in READERS and name.startswith(SOURCES)) and (root / name).exists():
            content = (root / name).read_text()
            files.append(File(name, READERS[suffix](content), content))
    return files

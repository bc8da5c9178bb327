"""The length of sentences in the manual."""
import re

from texts import Finding

LONGEST = 40  # words
END = re.compile(r'(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?][\v"\')\]]*[\s\v]+(?=[\v"\'(\[]*[A-Z0-9§])')
WORD = re.compile(r'[^\W_]+(?:[\'’./:_-][^\W_]+)*|§')


def split(text):
    """The sentences of a text, each with where it begins."""
    begin = 0
    for end in END.finditer(text):
        yield begin, text[begin:end.end()]
        begin = end.end()
    yield begin, text[begin:]


def count(sentence):
    """Its words. A code span is one."""
    return len(WORD.findall(sentence))


def check(files):
    findings = []
    for file in files:
        for text in file.texts:
            if text.kind != 'prose':
                continue
            for begin, sentence in split(text.plain):
                if (words := count(sentence)) > LONGEST:
                    start = ' '.join(re.sub(r'\v', '', sentence).split()[:6])
                    findings.append(Finding(file.path, text.line_at(begin), 'sentence',
                                            f'{words} words, {LONGEST} at most: "{start} …"'))
    return findings

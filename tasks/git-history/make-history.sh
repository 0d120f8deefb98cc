#!/usr/bin/env bash
# Builds fixtures/history.git: the bare repository that the suite checks a commit out of. Names, dates and
# contents are fixed, so that the commit ids are the same wherever this runs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TEMPLATE_DIR=
export GIT_AUTHOR_NAME="Tally Maintainers" GIT_AUTHOR_EMAIL=tally@example.org
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"

repository="$work/tally"
git init -q --object-format=sha1 --initial-branch=main "$repository"
cd "$repository"

# commit DAY MESSAGE: everything in the folder, at noon of that day.
commit() {
  export GIT_AUTHOR_DATE="2025-03-$1T12:00:00+00:00" GIT_COMMITTER_DATE="2025-03-$1T12:00:00+00:00"
  git add --all
  git -c core.autocrlf=false -c commit.gpgSign=false commit -q -m "$2"
}

mkdir tests
touch tests/__init__.py
cat > README.md <<'END'
# tally

Counts the words of a text: `python3 -m tally FILE`.
END
printf '__pycache__/\n' > .gitignore
cat > tally.py <<'END'
"""Counts the words of a text."""

import re
import sys
from collections import Counter


def words(text):
    """The words of a text, in lower case."""
    return re.findall(r"\w+", text.lower())


def count(text):
    """How often each word occurs."""
    return Counter(words(text))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        for word, times in count(file.read()).most_common():
            print(times, word)
END
cat > tests/test_tally.py <<'END'
import unittest

import tally


class Words(unittest.TestCase):
    def test_lower_case(self):
        self.assertEqual(tally.words("One, two; ONE."), ["one", "two", "one"])

    def test_count(self):
        self.assertEqual(tally.count("a b a")["a"], 2)


if __name__ == "__main__":
    unittest.main()
END
commit 03 "tally: count the words of a text"

python3 - <<'END'
from pathlib import Path

path = Path("tally.py")
text = path.read_text()
text = text.replace(
    'from collections import Counter\n',
    'from collections import Counter\n\nSTOP_WORDS = frozenset("a an and in is it of or the to".split())\n',
)
text = text.replace(
    'def count(text):\n    """How often each word occurs."""\n    return Counter(words(text))\n',
    'def count(text, stop_words=STOP_WORDS):\n'
    '    """How often each word occurs; stop words are left out."""\n'
    '    return Counter(word for word in words(text) if word not in stop_words)\n',
)
path.write_text(text, newline="\n")
path = Path("tests/test_tally.py")
text = path.read_text()
text = text.replace(
    '    def test_count(self):\n        self.assertEqual(tally.count("a b a")["a"], 2)\n',
    '    def test_count(self):\n        self.assertEqual(tally.count("x b x")["x"], 2)\n\n'
    '    def test_stop_words_are_left_out(self):\n'
    '        self.assertEqual(dict(tally.count("the cat and the hat")), {"cat": 1, "hat": 1})\n',
)
path.write_text(text, newline="\n")
END
commit 05 "tally: leave out stop words"

python3 - <<'END'
from pathlib import Path

path = Path("tally.py")
text = path.read_text()
text = text.replace(
    '\n\nif __name__',
    '\n\ndef top(text, limit=10):\n'
    '    """The most frequent words with their counts; equally frequent ones in the order of the alphabet."""\n'
    '    return sorted(count(text).items(), key=lambda item: (-item[1], item[0]))[:limit]\n'
    '\n\nif __name__',
)
text = text.replace(
    '        for word, times in count(file.read()).most_common():',
    '        for word, times in top(file.read()):',
)
path.write_text(text, newline="\n")
path = Path("tests/test_tally.py")
text = path.read_text()
text = text.replace(
    '\n\nif __name__',
    '\n    def test_top(self):\n'
    '        self.assertEqual(tally.top("b a1 b c", limit=2), [("b", 2), ("a1", 1)])\n'
    '\n\nif __name__',
)
path.write_text(text, newline="\n")
END
commit 10 "tally: print the most frequent words first"

python3 - <<'END'
from pathlib import Path

path = Path("tally.py")
text = path.read_text()
text = text.replace(
    '    """The words of a text, in lower case."""\n    return re.findall(r"\\w+", text.lower())',
    '    """The words of a text, in lower case; an apostrophe within a word belongs to it."""\n'
    '    return re.findall(r"\\w+(?:[\'’]\\w+)*", text.lower())',
)
path.write_text(text, newline="\n")
path = Path("tests/test_tally.py")
text = path.read_text()
text = text.replace(
    '\n    def test_count(self)',
    '\n    def test_apostrophes(self):\n'
    '        self.assertEqual(tally.words("Don\'t \'quote\' it"), ["don\'t", "quote", "it"])\n'
    '\n    def test_count(self)',
)
path.write_text(text, newline="\n")
END
commit 12 "tally: keep words with an apostrophe whole"

bare="$work/history.git"
git -c init.defaultBranch=main clone -q --bare --no-hardlinks "$repository" "$bare"
cd "$bare"
git remote remove origin
git -c pack.writeReverseIndex=false -c pack.threads=1 -c repack.writeBitmaps=false repack -q -a -d -f
git pack-refs --all
rm -rf hooks info logs description branches refs objects/info FETCH_HEAD
# Version control keeps no empty folder, and a repository without refs/ is none.
mkdir refs
touch refs/.gitkeep
printf '[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = true\n' > config

rm -rf "$here/fixtures/history.git"
mkdir -p "$here/fixtures"
cp -R "$bare" "$here/fixtures/history.git"
chmod -R u+w "$here/fixtures/history.git"
git -C "$here/fixtures/history.git" log --format='%H %s' main

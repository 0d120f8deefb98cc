import unittest

import tally


class Apostrophes(unittest.TestCase):
    def test_within_a_word(self):
        self.assertEqual(tally.words("Don't, o'clock"), ["don't", "o'clock"])
        self.assertEqual(tally.words("it\u2019s rock'n'roll"), ["it\u2019s", "rock'n'roll"])

    def test_around_a_word(self):
        self.assertEqual(tally.words("'quoted' dogs' 'tis"), ["quoted", "dogs", "tis"])

    def test_counted(self):
        self.assertEqual(tally.top("can't can't won't"), [("can't", 2), ("won't", 1)])

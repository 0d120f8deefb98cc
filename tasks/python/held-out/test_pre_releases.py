import unittest
from itertools import pairwise

from versions import Version, newest


class PreReleases(unittest.TestCase):
    def test_the_order_of_the_specification(self):
        ordered = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
        ]
        for lower, higher in pairwise(ordered):
            with self.subTest(f"{lower} < {higher}"):
                self.assertLess(Version.parse(lower), Version.parse(higher))
                self.assertGreater(Version.parse(higher), Version.parse(lower))

    def test_the_text_stays_as_it_was(self):
        self.assertEqual(str(Version.parse("1.0.0-rc.10")), "1.0.0-rc.10")

    def test_the_newest_candidate(self):
        self.assertEqual(str(newest(["1.0.0-rc.9", "1.0.0-rc.10"], pre_releases=True)), "1.0.0-rc.10")

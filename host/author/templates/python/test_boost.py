import unittest

import assay
import model


class Model(unittest.TestCase):
    def test_the_golden_cases_keep_their_scores(self):
        boosted = [model.boost(700, assay.OffChain(usd)) for usd in (0.0, 25_000.0, 50_000.0, 1e9)]
        self.assertEqual(boosted, [700, 715, 730, 730])

    def test_a_score_never_falls_and_stays_below_1000(self):
        for score in range(300, 1001):
            self.assertTrue(score <= model.boost(score, assay.OffChain(40_000.0)) <= 1000)

    def test_it_says_what_it_is(self):
        self.assertEqual(model.describe().kind, assay.Kind.BOOST)


if __name__ == "__main__":
    unittest.main()

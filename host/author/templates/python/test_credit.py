import unittest
from pathlib import Path

import assay
import model

# The golden wallets: a features file.
WALLETS = assay.wallets(Path(__file__).with_name("wallets.jsonl").read_text())


class Model(unittest.TestCase):
    def test_the_golden_wallets_keep_their_scores(self):
        self.assertEqual([model.score(wallet).score for wallet in WALLETS], [700, 500])

    def test_points_explain_a_score_and_the_decile_is_that_of_the_score(self):
        for answer in map(model.score, WALLETS):
            self.assertEqual(300 + sum(answer.points), answer.score)
            self.assertEqual(answer.decile, model.decile(answer.score))

    def test_the_words_have_the_points_of_the_answer(self):
        for wallet in WALLETS:
            self.assertEqual([factor.points for factor in model.explain(wallet)], model.score(wallet).points)

    def test_a_decile_never_falls_as_the_score_rises(self):
        deciles = [model.decile(score) for score in range(300, 1001)]
        self.assertEqual((deciles, deciles[0], deciles[-1]), (sorted(deciles), 1, 10))

    def test_it_says_what_it_is(self):
        self.assertEqual(model.describe().kind, assay.Kind.CREDIT)


if __name__ == "__main__":
    unittest.main()

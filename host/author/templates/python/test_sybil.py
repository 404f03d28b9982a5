import unittest
from dataclasses import replace
from pathlib import Path

import assay
import model

# The golden wallets: a features file.
WALLETS = assay.wallets(Path(__file__).with_name("wallets.jsonl").read_text())


class Model(unittest.TestCase):
    def test_the_golden_wallets_keep_their_risks(self):
        self.assertEqual([model.risk(wallet).risk for wallet in WALLETS], [80, 40])

    def test_the_words_have_the_points_of_the_answer(self):
        for wallet in WALLETS:
            self.assertEqual([factor.points for factor in model.explain(wallet)], model.risk(wallet).points)

    def test_a_wallet_of_which_nothing_could_be_read_is_neither(self):
        chains = [replace(chain, coverage=assay.Coverage.FAILED) for chain in WALLETS[0].chains]
        self.assertEqual(model.risk(replace(WALLETS[0], chains=chains)).risk, 50)

    def test_it_says_what_it_is(self):
        self.assertEqual(model.describe().kind, assay.Kind.SYBIL)


if __name__ == "__main__":
    unittest.main()

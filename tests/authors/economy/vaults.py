"""Judges credit 1.3 on MakerDAO ETH-B vaults, and compares both pages with the data.

usage: vaults.py ASSAY DATA FOLDER

ASSAY is the program, DATA has the public sets that models/credit-1.3/fit/sets.py reads, and FOLDER gets the pages:
vaults-90.html on the vault-days of the fit within 90 days, and vaults-30.html on the later ones within 30. Run it in
the root of the repository, with the packages of models/credit-1.3/fit/requirements.txt.
"""

import json
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "models/credit-1.3/fit")
CARD = "models/credit-1.3/scorecard.toml"

import page
import sets


def main(assay, data, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for days, load in ((90, sets.maker_eth_b), (30, sets.maker_eth_b_later)):
        features, shown, scores = (str(folder / f"vaults-{days}.{end}") for end in ("jsonl", "html", "csv"))
        with open(features, "w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(record) + "\n" for record in load(data))
        judge = [assay, "backtest", "--models", "1.3", "--features", features, "--label", "liquidated", "--horizon",
                 str(days), "--fitted-through", "2021-07-02", "--html", shown, "--scores", scores]
        # A claim that fails is a result, and exits with 1.
        done = subprocess.run(judge, stdout=subprocess.DEVNULL)
        assert done.returncode in (0, 1), done
        print(f"{shown}: ", end="")
        page.main(features, scores, shown, CARD)


main(*sys.argv[1:])

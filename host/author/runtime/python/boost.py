"""The exports of a boost model in Python, around the functions of model.py."""

import confined
import model
import wit_world
from assay_answers import checked, complete, described, kept
from wit_world import exports

complete(model, "boost", "describe", "boost")


class Boost(exports.Boost):
    def describe(self):
        return kept(lambda: described(model.describe()))

    def boost(self, score, off_chain):
        return kept(lambda: checked("the answer of boost", model.boost(score, off_chain), int))


class WitWorld(wit_world.WitWorld):
    def printed(self):
        return confined.printed()

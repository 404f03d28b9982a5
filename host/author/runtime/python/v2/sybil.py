"""The exports of a sybil model of wit/v2 in Python, around the functions of model.py."""

import confined
import assay
import model
import wit_world
from assay_answers import checked, complete, described, earned, explained, kept
from wit_world import exports

complete(model, "sybil", "describe", "risk", "explain")


def _judged(features):
    answer = checked("the answer of risk", model.risk(features), assay.RiskVerdict)
    checked("risk", answer.risk, int)
    earned(answer.points)
    return answer


class Sybil(exports.Sybil):
    def describe(self):
        return kept(lambda: described(model.describe()))

    def risk(self, features):
        return kept(_judged, features)

    def explain(self, features):
        return kept(lambda: explained(model.explain(features)))


class WitWorld(wit_world.WitWorld):
    def printed(self):
        return confined.printed()

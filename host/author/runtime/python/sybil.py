"""The exports of a sybil model of wit/v1 in Python, around the functions of model.py."""

import confined
import assay
import model
import wit_world
from assay_answers import checked, complete, described, explained, kept
from wit_world import exports

complete(model, "sybil", "describe", "risk")


def _judged(features):
    answer = checked("the answer of risk", model.risk(features), assay.RiskAssessment)
    checked("risk", answer.risk, int)
    explained(answer.factors)
    return answer


class Sybil(exports.Sybil):
    def describe(self):
        return kept(lambda: described(model.describe()))

    def risk(self, features):
        return kept(_judged, features)


class WitWorld(wit_world.WitWorld):
    def printed(self):
        return confined.printed()

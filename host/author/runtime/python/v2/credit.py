"""The exports of a credit model of wit/v2 in Python, around the functions of model.py."""

import confined
import assay
import model
import wit_world
from assay_answers import checked, complete, described, earned, explained, kept, refusing
from wit_world import exports

complete(model, "credit", "describe", "score", "explain", "decile")


def _scored(features):
    answer = checked("the answer of score", model.score(features), assay.Verdict)
    checked("score", answer.score, int)
    checked("decile", answer.decile, int)
    earned(answer.points)
    return answer


class Credit(exports.Credit):
    def describe(self):
        return kept(lambda: described(model.describe()))

    def score(self, features):
        return refusing(_scored, features)

    def explain(self, features):
        return refusing(lambda features: explained(model.explain(features)), features)

    def decile(self, score):
        return kept(lambda: checked("the answer of decile", model.decile(score), int))


class WitWorld(wit_world.WitWorld):
    def printed(self):
        return confined.printed()

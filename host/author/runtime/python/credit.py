"""The exports of a credit model of wit/v1 in Python, around the functions of model.py."""

import confined
import assay
import model
import wit_world
from assay_answers import checked, complete, described, explained, kept, refusing
from wit_world import exports

complete(model, "credit", "describe", "score", "decile")


def _scored(features):
    answer = checked("the answer of score", model.score(features), assay.Assessment)
    checked("score", answer.score, int)
    checked("decile", answer.decile, int)
    explained(answer.factors)
    return answer


class Credit(exports.Credit):
    def describe(self):
        return kept(lambda: described(model.describe()))

    def score(self, features):
        return refusing(_scored, features)

    def decile(self, score):
        return kept(lambda: checked("the answer of decile", model.decile(score), int))


class WitWorld(wit_world.WitWorld):
    def printed(self):
        return confined.printed()

"""The exports of a credit model in Python, around the functions of model.py."""

import confined
import assay
import model
import wit_world
from assay_answers import checked, complete, described, explained, kept
from componentize_py_types import Err
from wit_world import exports
from wit_world.imports.types import Refusal_Missing, Refusal_NoActivity

complete(model, "credit", "describe", "score", "decile")


def _scored(features):
    try:
        answer = model.score(features)
    except assay.NoActivity:
        return Refusal_NoActivity()
    except assay.Missing as missing:
        return Refusal_Missing(str(missing))
    checked("the answer of score", answer, assay.Assessment)
    checked("score", answer.score, int)
    checked("decile", answer.decile, int)
    explained(answer.factors)
    return answer


class Credit(exports.Credit):
    def describe(self):
        return kept(lambda: described(model.describe()))

    def score(self, features):
        answer = kept(_scored, features)
        if isinstance(answer, (Refusal_NoActivity, Refusal_Missing)):
            raise Err(answer)
        return answer

    def decile(self, score):
        return kept(lambda: checked("the answer of decile", model.decile(score), int))


class WitWorld(wit_world.WitWorld):
    def printed(self):
        return confined.printed()

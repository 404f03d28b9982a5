"""The exports of a credit model in Python, around the functions of model.py."""

import confined
import assay
import model
import wit_world
from componentize_py_types import Err
from wit_world import exports
from wit_world.imports.types import Refusal_Missing, Refusal_NoActivity

for _name in ("describe", "score", "decile"):
    if not callable(getattr(model, _name, None)):
        raise AttributeError(f"model.py has no function {_name}")
confined.serve()


def _kept(work, *given):
    try:
        return work(*given)
    except (assay.NoActivity, assay.Missing):
        raise
    except Exception as error:
        confined.stopped(error)
        raise


def _is(what, value, kind):
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{what} is {value!r}: it must be {kind.__name__}")
    return value


def _described():
    info = _is("the answer of describe", model.describe(), assay.ModelInfo)
    _is("kind", info.kind, assay.Kind)
    for what in ("version", "title"):
        _is(what, getattr(info, what), str)
    for what in ("authors", "reads"):
        for text in _is(what, getattr(info, what), list):
            _is(f"an entry of {what}", text, str)
    return info


def _scored(features):
    answer = _is("the answer of score", model.score(features), assay.Assessment)
    _is("score", answer.score, int)
    _is("decile", answer.decile, int)
    for factor in _is("factors", answer.factors, list):
        label = _is("the label of a factor", _is("a factor", factor, assay.Factor).label, str)
        _is(f"the rating of the factor {label}", factor.rating, assay.Rating)
        _is(f"the description of the factor {label}", factor.description, str)
        _is(f"the points of the factor {label}", factor.points, int)
        _is(f"the possible points of the factor {label}", factor.possible, int)
    return answer


class Credit(exports.Credit):
    def describe(self):
        return _kept(_described)

    def score(self, features):
        try:
            return _kept(_scored, features)
        except assay.NoActivity:
            refusal = Refusal_NoActivity()
        except assay.Missing as missing:
            refusal = Refusal_Missing(str(missing))
        raise Err(refusal)

    def decile(self, score):
        return _kept(lambda: _is("the answer of decile", model.decile(score), int))


class WitWorld(wit_world.WitWorld):
    def printed(self):
        return confined.printed()

"""The answers of a model, checked: an error names the field."""

import assay
import confined
from componentize_py_types import Err
from wit_world.imports.types import Refusal_Missing, Refusal_NoActivity


def complete(model, kind, *names):
    """Fails where the model lacks a function of its kind. From here on calls are confined."""
    for name in names:
        if not callable(getattr(model, name, None)):
            rest = f"A {kind} model has {', '.join(names)}; another kind says so in model.py, as Kind.SYBIL"
            raise AttributeError(f"model.py has no function {name}. {rest}")
    confined.serve()


def kept(work, *given):
    try:
        return work(*given)
    except SystemExit as error:
        confined.stopped(error)
        # It would tear the interpreter down, and with it what the host looks for.
        raise RuntimeError("the model ended itself") from None
    except BaseException as error:
        confined.stopped(error)
        raise


def refusing(work, features):
    """What `work` answers. A refusal of the wallet is an error of the component's interface."""

    def answered():
        try:
            return work(features)
        except assay.NoActivity:
            return Refusal_NoActivity()
        except assay.Missing as missing:
            return Refusal_Missing(str(missing))

    answer = kept(answered)
    if isinstance(answer, (Refusal_NoActivity, Refusal_Missing)):
        raise Err(answer)
    return answer


def checked(what, value, kind):
    if not isinstance(value, kind) or isinstance(value, bool):
        name = getattr(kind, "__name__", "a number")
        raise TypeError(f"{what} is {value!r}: it must be {name}")
    return value


def described(info):
    checked("the answer of describe", info, assay.ModelInfo)
    checked("kind", info.kind, assay.Kind)
    for what in ("version", "title"):
        checked(what, getattr(info, what), str)
    for what in ("authors", "reads"):
        for text in checked(what, getattr(info, what), list):
            checked(f"an entry of {what}", text, str)
    if getattr(info, "claims", None) is not None:
        _claimed(checked("claims", info.claims, assay.Claims))
    return info


def _claimed(claims):
    for what in ("outcome", "population"):
        checked(f"the {what} of claims", getattr(claims, what), str)
    checked("the horizon_days of claims", claims.horizon_days, int)
    for rate in checked("the rates of claims", claims.rates, list):
        checked("the range of a rate", checked("a rate", rate, assay.Rate).range, assay.Rating)
        for what in ("low", "estimate", "high"):
            checked(f"the {what} of the rate {rate.range.name}", getattr(rate, what), (float, int))


def earned(points):
    for one in checked("points", points, list):
        checked("the points of a factor", one, int)


def explained(factors):
    for factor in checked("factors", factors, list):
        label = checked("the label of a factor", checked("a factor", factor, assay.Factor).label, str)
        checked(f"the rating of the factor {label}", factor.rating, assay.Rating)
        checked(f"the description of the factor {label}", factor.description, str)
        checked(f"the points of the factor {label}", factor.points, int)
        checked(f"the possible points of the factor {label}", factor.possible, int)
    return factors

"""The answers of a model, checked: an error names the field."""

import assay
import confined


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
    except Exception as error:
        confined.stopped(error)
        raise


def checked(what, value, kind):
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{what} is {value!r}: it must be {kind.__name__}")
    return value


def described(info):
    checked("the answer of describe", info, assay.ModelInfo)
    checked("kind", info.kind, assay.Kind)
    for what in ("version", "title"):
        checked(what, getattr(info, what), str)
    for what in ("authors", "reads"):
        for text in checked(what, getattr(info, what), list):
            checked(f"an entry of {what}", text, str)
    return info


def explained(factors):
    for factor in checked("factors", factors, list):
        label = checked("the label of a factor", checked("a factor", factor, assay.Factor).label, str)
        checked(f"the rating of the factor {label}", factor.rating, assay.Rating)
        checked(f"the description of the factor {label}", factor.description, str)
        checked(f"the points of the factor {label}", factor.points, int)
        checked(f"the possible points of the factor {label}", factor.possible, int)

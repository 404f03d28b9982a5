"""Generates a client from the server's own document by openapi-python-client, without any patch, and calls every
operation with it, once with a key and once with a wrong one. Prints one line of JSON: how often which operation was
called, with what status, and the answers that the client could not decode.

python generated.py URL KEY ADDRESS COMPONENT
"""

import importlib
import inspect
import io
import json
import pathlib
import pkgutil
import subprocess
import sys
import tempfile

# What is sent: bodies by the name of their type, parameters by their own.
CALLED = json.loads(pathlib.Path(__file__).with_name("called.json").read_text())


def generate(url, folder):
    config = folder / "config.yml"
    config.write_text("post_hooks: []\ncontent_type_overrides: { application/wasm: application/octet-stream }\n")
    program = "from openapi_python_client.cli import app; app()"
    options = ["--url", f"{url}/openapi.json", "--output-path", folder / "client", "--config", config]
    subprocess.run(
        [sys.executable, "-c", program, "generate", "--meta", "none", "--fail-on-warning", *options],
        check=True, cwd=folder, stdout=sys.stderr,
    )
    (folder / "client").rename(folder / "assay_client")
    sys.path.insert(0, str(folder))


def operations():
    api = importlib.import_module("assay_client.api")
    for tag in pkgutil.iter_modules(api.__path__):
        package = importlib.import_module(f"assay_client.api.{tag.name}")
        for operation in pkgutil.iter_modules(package.__path__):
            yield operation.name, importlib.import_module(f"assay_client.api.{tag.name}.{operation.name}")


def body(annotation, address, component):
    from assay_client import models, types

    names = {part for part in str(annotation).replace("|", " ").replace(".", " ").replace("'", " ").split()}
    if "File" in names:
        return types.File(payload=io.BytesIO(component))
    name, kind = next((name, kind) for name, kind in inspect.getmembers(models, inspect.isclass) if name in names)
    return kind.from_dict(CALLED["bodies"].get(name, {"address": address, "name": "bank"}))


def call(module, client, known):
    given = {}
    for parameter in inspect.signature(module.sync_detailed).parameters.values():
        if parameter.name == "body":
            given["body"] = body(parameter.annotation, known["address"], known["component"])
        elif parameter.name != "client" and parameter.default is inspect.Parameter.empty:
            given[parameter.name] = known[parameter.name]
    return module.sync_detailed(client=client, **given)


def main(url, key, address, component):
    from assay_client import AuthenticatedClient

    known = {**CALLED["parameters"], "address": address, "component": component}
    calls, undecoded = {}, []
    for token in (key, "a-wrong-key"):
        client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True, timeout=60)
        # Those that make what others ask for come first.
        for name, module in sorted(operations(), key=lambda one: (not one[0].startswith("submit"), one[0] != "get_score")):
            try:
                answer = call(module, client, known)
            except Exception as error:
                undecoded.append([name, repr(error)])
                continue
            status = int(answer.status_code)
            calls.setdefault(name, []).append(status)
            if answer.parsed is None and status not in (204, 304):
                undecoded.append([name, status, answer.content.decode()])
            known["submission_id"] = str(getattr(answer.parsed, "submission_id", known["submission_id"]))
            known["id"] = answer.headers.get("assay-score-id", known["id"])
    print(json.dumps({"calls": calls, "undecoded": undecoded}))


if __name__ == "__main__":
    url, key, address, file = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        generate(url, pathlib.Path(folder))
        main(url, key, address, pathlib.Path(file).read_bytes())

"""The calls that every client in Python makes. A program prints a line for each of its calls."""

import json
import os

ADDRESS = os.environ["PLANTSTORE_URL"]
TOKEN = os.environ["PLANTSTORE_TOKEN"]
IDS = [-(2**63), 9007199254740993, 2**63 - 1]
FILE = '{"id":9223372036854775807,"name":"Ginkgo","tag":"tree"}\n{"id":9007199254740995,"name":"Acer"}\n'
CSV = "id,name,tag\n9223372036854775807,Ginkgo,tree\n9007199254740995,Acer,\n"


def check(name, found_of, wanted):
    try:
        found = found_of()
        print(f"{name}: ok" if found == wanted else f"{name}: {found} in place of {wanted}")
    except Exception as error:
        print(f"{name}: {type(error).__name__} {str(error).splitlines()[0] if str(error) else ''}")


def call(create, read, list_ids, replace, export, load):
    """Takes the operations of a client: `create` and `load` return numbers, the others ids, names and tags."""
    check("create", lambda: [create(each, "Ginkgo", "tree", False) for each in IDS], [(200, 0)] * 3)
    check("read", lambda: [read(each) for each in IDS], [(each, "Ginkgo", "tree") for each in IDS])
    check("list", list_ids, IDS)
    check("replace", lambda: replace(IDS[1], "Ginkgo biloba"), (IDS[1], "Ginkgo biloba"))
    check("export", lambda: [json.loads(line)["id"] for line in export().splitlines()], IDS)
    check("import", lambda: load(FILE), (1, 1, 0))
    check("409", lambda: create(IDS[1], "Quercus", "tree", False), (409, 40901))
    check("412", lambda: create(IDS[2], "Ginkgo", "tree", True), (412, 41201))

"""What the extension's package must have besides the extension. Usage: package.py FILE.vsix"""
import json, pathlib, sys, zipfile

ROOT = pathlib.Path(__file__).parents[3]
with zipfile.ZipFile(sys.argv[1]) as package:
    text = lambda name: package.read(f"extension/dist/{name}").decode()
    schema = json.loads(text("proofline.schema.json"))
    bill = json.loads(text("sbom.cdx.json"))
    licences = text("THIRD-PARTY-LICENSES")
assert schema == json.loads((ROOT / "docs/proofline.schema.json").read_text()), "the schema of proofline.toml is not the manual's"
names = [f"{one['name']} {one['version']}" for one in bill["components"]]
assert any(name.startswith("vscode-languageclient ") for name in names), names
missing = [name for name in names if f"{name}: " not in licences]
assert not missing, f"no licence of {missing}"
print(f"ok      the package has the schema of proofline.toml, and a bill of its {len(names)} materials")

// Prints a bill of materials of the server, CycloneDX 1.6, from the locked dependencies: the crates that are linked,
// without those of tests and builds.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const run = (program, ...given) => execFileSync(program, given, { encoding: "utf8", maxBuffer: 1 << 28 });
const machine = /^host: (.+)$/m.exec(run("rustc", "-vV"))[1];
const asked = ["metadata", "--locked", "--format-version", "1", "--filter-platform", machine];
const metadata = JSON.parse(run("cargo", ...asked));
const packages = new Map(metadata.packages.map((one) => [one.id, one]));
const nodes = new Map(metadata.resolve.nodes.map((one) => [one.id, one]));
const locked = /name = "(.+)"\nversion = "(.+)"\nsource = .+\nchecksum = "(.+)"/g;
const checksums = new Map(
  [...readFileSync("Cargo.lock", "utf8").matchAll(locked)].map(([, name, version, sum]) => [`${name} ${version}`, sum]),
);

const root = metadata.packages.find((one) => one.name === "assay-cli").id;
const isLinked = (to) => to.dep_kinds.some((how) => how.kind === null);
const linked = (id) => nodes.get(id).deps.filter(isLinked).map((to) => to.pkg);
const seen = new Set([root]);
for (const id of seen) linked(id).forEach((next) => seen.add(next));

const purl = ({ name, version }) => `pkg:cargo/${name}@${version}`;
const component = (id) => {
  const { name, version, license, description } = packages.get(id);
  const sum = checksums.get(`${name} ${version}`);
  return {
    type: id === root ? "application" : "library",
    "bom-ref": purl({ name, version }),
    name,
    version,
    ...(description && { description: description.trim() }),
    ...(license && { licenses: [{ expression: license.replaceAll("/", " OR ") }] }),
    ...(sum && { hashes: [{ alg: "SHA-256", content: sum }] }),
    purl: purl({ name, version }),
  };
};
const ordered = [...seen].sort((a, b) => purl(packages.get(a)).localeCompare(purl(packages.get(b))));
const bill = {
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  version: 1,
  metadata: { component: component(root) },
  components: ordered.filter((id) => id !== root).map(component),
  dependencies: ordered.map((id) => ({
    ref: purl(packages.get(id)),
    dependsOn: linked(id).map((to) => purl(packages.get(to))),
  })),
};
console.log(JSON.stringify(bill, null, 2));

// Generates a TypeScript client from the server's own document with openapi-typescript and openapi-fetch, without any
// patch: the strict compiler checks a call of every operation, each is called with a key and with a wrong one, and each
// answer is held against the schema that the document declares for its status. Prints one line of JSON: the statuses of
// each operation, and the answers that the document does not declare.
//
// node generated.mjs URL KEY ADDRESS COMPONENT
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import addFormats from "ajv-formats";
import Ajv from "ajv/dist/2020.js";
import openapiTS, { astToString } from "openapi-typescript";

// What is sent: bodies by the name of their type, parameters by their own.
const CALLED = JSON.parse(readFileSync(new URL("called.json", import.meta.url)));

const operationsOf = (document) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation, name: operation.operationId })));

/** The line of TypeScript that calls an operation; `known` holds its parameters by their names. */
const line = ({ path, method, operation, name }) => {
  const required = (operation.parameters ?? []).filter((parameter) => parameter.required);
  const given = (where) => required.filter((parameter) => parameter.in === where)
    .map((parameter) => `${parameter.name}: known.${parameter.name}`);
  const params = ["path", "query"].filter((where) => given(where).length)
    .map((where) => `${where}: { ${given(where).join(", ")} }`);
  const options = params.length ? [`params: { ${params.join(", ")} }`] : [];
  const [[type, body] = []] = Object.entries(operation.requestBody?.content ?? {});
  if (type === "application/octet-stream") {
    // The generator's type of a binary body is a string, as its documentation says; a serializer sends the bytes.
    options.push(`body: "", bodySerializer: () => known.component, headers: { "content-type": "${type}" }`);
  } else if (type) {
    const json = CALLED.bodies[body.schema.$ref?.split("/").at(-1)];
    options.push(`body: ${json ? JSON.stringify(json) : "{ address: known.address }"}`);
  }
  const answer = operation.responses["200"]?.content;
  if (answer && !answer["application/json"]) options.push(`parseAs: "text"`);
  return `  ${name}: () => api.${method.toUpperCase()}("${path}", { ${options.join(", ")} }),`;
};

const program = (operations) => `import createClient from "openapi-fetch";
import type { paths } from "./assay.d.ts";
export interface Known {
  address: string; chain_id: 1; agent_id: number; submission_id: string; watch_id: string;
  batch_id: string; group_id: string; id: string; kind: string;
  name: string; version: string; q: string; component: Blob;
}
export const client = (baseUrl: string, key: string, known: Known) => {
  const api = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${key}\` } });
  return {
${operations.map(line).join("\n")}
  };
};
export const score = async (baseUrl: string, key: string, known: Known): Promise<number | string> => {
  const { data, error } = await client(baseUrl, key, known).get_score();
  if (data) return data.score;
  return typeof error.detail === "string" ? error.detail : error.detail.map((field) => field.msg).join();
};
`;

async function generate(document, folder) {
  writeFileSync(join(folder, "assay.d.ts"), astToString(await openapiTS(document)));
  writeFileSync(join(folder, "client.ts"), program(operationsOf(document)));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const modules = new URL("node_modules", import.meta.url).pathname;
  symlinkSync(modules, join(folder, "node_modules"));
  const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--allowImportingTsExtensions",
    "--rewriteRelativeImportExtensions"];
  try {
    execFileSync(process.execPath, [join(modules, "typescript/bin/tsc"), ...options, "client.ts"], { cwd: folder });
  } catch (error) {
    throw new Error(`tsc: ${error.stdout}`);
  }
  return import(pathToFileURL(join(folder, "client.js")));
}

/** Says why `answer` is not what the document declares for its status, or nothing. */
function undeclared(checker, { path, method, operation }, status, type, answer) {
  const declared = operation.responses[status];
  if (!declared) return `status ${status} is not declared`;
  if (!declared.content) return answer ? "a body is not declared" : undefined;
  const media = type.split(";")[0];
  if (!declared.content[media]) return `${media} is not declared`;
  if (media !== "application/json") return typeof answer === "string" ? undefined : "no text";
  const escaped = path.replaceAll("~", "~0").replaceAll("/", "~1");
  const answered = `responses/${status}/content/application~1json/schema`;
  const check = checker.getSchema(`assay#/paths/${encodeURIComponent(escaped)}/${method}/${answered}`);
  return check(answer) ? undefined : checker.errorsText(check.errors);
}

const [url, key, address, file] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "assay-client-"));
try {
  const document = await (await fetch(`${url}/openapi.json`)).json();
  const { client, score } = await generate(document, folder);
  const checker = addFormats(new Ajv({ strict: false, validateSchema: false })).addSchema(document, "assay");
  const known = { ...CALLED.parameters, address, component: new Blob([readFileSync(file)]) };
  // Those that make what others ask for come first.
  const rank = ({ name }) => (name.startsWith("submit") ? 0 : name === "get_score" ? 1 : 2);
  const operations = operationsOf(document).sort((one, other) => rank(one) - rank(other));
  const [calls, undecoded] = [{}, []];
  for (const token of [key, "a-wrong-key"]) {
    for (const operation of operations) {
      const { data, error, response } = await client(url, token, known)[operation.name]();
      const answer = data ?? error;
      (calls[operation.name] ??= []).push(response.status);
      const type = response.headers.get("content-type") ?? "";
      const why = undeclared(checker, operation, response.status, type, answer);
      if (why) undecoded.push([operation.name, response.status, why, answer]);
      known.submission_id = answer?.submission_id ?? known.submission_id;
      known.id = response.headers.get("assay-score-id") ?? known.id;
    }
  }
  const read = [await score(url, key, known), await score(url, "a-wrong-key", known)];
  console.log(JSON.stringify({ calls, undecoded, read }));
} finally {
  rmSync(folder, { recursive: true });
}

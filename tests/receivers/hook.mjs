// Runs the TypeScript receiver of the manual, which is the only argument.

import { readFileSync, unlinkSync, writeFileSync } from "node:fs";
import process from "node:process";
import ts from "typescript";

const code = /```ts\n([\s\S]*?)```/.exec(readFileSync(process.argv[2], "utf8"))[1];
const compiled = ts.transpileModule(code, { compilerOptions: { module: "ESNext", target: "ES2022" } });
// Next to the packages that it imports.
const file = new URL(`./node_modules/.hook-${process.pid}.mjs`, import.meta.url);
writeFileSync(file, compiled.outputText);
try {
  await import(file);
} finally {
  unlinkSync(file);
}

// Drives a browser through the console: reads a line of JSON for each tour, and prints one when the tour ends, with what
// each view says and what is wrong with it, or with the error. The tours share the browser, each in contexts of its own.
// Ends when its input does.
// TOUR: { id, base, key, modes: ["light", "dark", "narrow"], views: [{ name, hash, wait, steps }] }. In place of `hash`,
// `page` is a page besides the console. A mode is also one of the SIZES below. A step is { click: selector },
// { fill: [selector, text] }, { press: key }, { upload: [selector, file] } or { wait: selector }. These add to what the
// views say: { text: [name, selector] }, { count: [name, selector] }, { save: [name, selector], which is clicked and
// offers a file }, { print: name }. { keep: [name, selector] } keeps the text of the first element that appears from now
// on, however short it is there; { kept: name } waits for it and adds it. { type: text } types key after key;
// { title: name } keeps the title; { tab: [name, hash, wait] } keeps the text of another tab of the session;
// { stored: name } what stays in the browser.
// node console.mjs BROWSER
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SIZES = {
  least: { width: 320, height: 640 }, narrow: { width: 360, height: 740 }, tablet: { width: 768, height: 1024 },
  desk: { width: 1440, height: 900 }, wide: { width: 1920, height: 1080 },
};
const SERIOUS = ["serious", "critical"];
/** Milliseconds; a view that never comes is an error, not a measurement. */
const PATIENCE = 600_000;

/** Records requests to other servers, errors of scripts, and refusals of the content policy. */
function watch(page, mode, { base, findings }) {
  page.on("request", (request) => request.url().startsWith(`${base}/`) || findings.push(`${mode}: asks ${request.url()}`));
  page.on("pageerror", (error) => findings.push(`${mode}: ${error.message}`));
  page.on("console", (message) => {
    const expected = message.text().startsWith("Failed to load resource: the server responded");
    if (message.type() === "error" && !expected) findings.push(`${mode}: ${message.text()}`);
  });
}

async function inspect(page, mode, name, { findings, texts, heights }) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  for (const { id, impact, nodes } of violations.filter(({ impact }) => SERIOUS.includes(impact))) {
    findings.push(`${mode} ${name}: ${impact} ${id} at ${nodes[0].target}`);
  }
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (excess > 0) findings.push(`${mode} ${name}: wider than the screen by ${excess} pixels`);
  if (!(await page.evaluate(() => document.querySelectorAll("h1").length === 1))) findings.push(`${mode} ${name}: not one h1`);
  texts[name] = await page.innerText("body");
  heights[name] = await page.evaluate(() => document.documentElement.scrollHeight);
}

const STEPS = {
  click: (page, selector) => page.click(selector),
  fill: (page, [selector, text]) => page.fill(selector, text),
  press: (page, name) => page.keyboard.press(name),
  upload: (page, [selector, file]) => page.setInputFiles(selector, file),
  wait: (page, selector) => page.waitForSelector(selector),
  keep: (page, how) =>
    page.evaluate(([name, selector]) => {
      const look = () => {
        const found = document.querySelector(selector);
        if (!found) return;
        watch.disconnect();
        (window.kept ??= {})[name] = found.innerText;
      };
      const watch = new MutationObserver(look);
      watch.observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true });
    }, how),
  kept: async (page, name, { texts }) => {
    const kept = await page.waitForFunction((name) => window.kept?.[name], name);
    texts[name] = await kept.jsonValue();
  },
  text: async (page, [name, selector], { texts }) => { texts[name] = await page.innerText(selector); },
  save: async (page, [name, selector], { texts }) => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
    texts[name] = readFileSync(await file.path(), "utf8");
  },
  print: async (page, name, { texts }) => {
    await page.emulateMedia({ media: "print" });
    texts[name] = await page.innerText("body");
    await page.emulateMedia({ media: null });
  },
  type: (page, text) => page.keyboard.type(text),
  title: async (page, name, { texts }) => { texts[name] = await page.title(); },
  tab: async (page, [name, hash, selector], tour) => {
    const tab = await page.context().newPage();
    watch(tab, name, tour);
    await tab.goto(`${tour.base}/console/${hash}`);
    await tab.waitForSelector(selector);
    tour.texts[name] = await tab.innerText("body");
    await tab.close();
  },
  stored: async (page, name, { texts }) => {
    const cookies = await page.context().cookies();
    texts[name] = JSON.stringify(await page.evaluate(() => ({ ...localStorage }))) + JSON.stringify(cookies);
  },
  count: async (page, [name, selector], { texts }) => { texts[name] = String(await page.locator(selector).count()); },
};

async function inMode(browser, mode, tour) {
  const context = await browser.newContext({
    viewport: SIZES[mode] ?? { width: 1200, height: 900 }, colorScheme: mode === "dark" ? "dark" : "light",
  });
  context.setDefaultTimeout(PATIENCE);
  try {
    await walk(await context.newPage(), mode, tour);
  } finally {
    await context.close();
  }
}

async function walk(page, mode, tour) {
  const { base, key, views } = tour;
  watch(page, mode, tour);
  await page.goto(`${base}/console`);
  await page.fill("#key", key);
  await page.keyboard.press("Enter");
  await page.waitForSelector("header.top");
  for (const { name, hash, page: other, wait, steps = [] } of views) {
    if (other) await page.goto(`${base}/${other}`);
    else await page.evaluate((hash) => { location.hash = hash; }, hash);
    await page.waitForSelector(wait);
    for (const step of steps) {
      const [[what, how]] = Object.entries(step);
      await STEPS[what](page, how, tour);
    }
    await page.waitForFunction(() => !document.querySelector(".waiting"));
    await inspect(page, mode, name, tour);
  }
}

/** What one tour finds. */
async function seen(browser, { id, modes, ...asked }) {
  const tour = { ...asked, findings: [], texts: {}, heights: {} };
  try {
    for (const mode of modes) await inMode(browser, mode, tour);
  } catch (error) {
    return { id, error: error.stack };
  }
  const { findings, texts, heights } = tour;
  return { id, seen: { findings, texts, heights } };
}

const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox"] });
for await (const line of createInterface({ input: process.stdin })) {
  seen(browser, JSON.parse(line)).then((found) => console.log(JSON.stringify(found)));
}
await browser.close();

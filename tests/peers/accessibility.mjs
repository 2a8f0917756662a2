// pa11y (axe and HTML CodeSniffer) over many pages in one browser: starting one for each page costs more than
// looking at it.  Then axe's rules of WCAG 2.2, which pa11y does not ask for.
//
//     node accessibility.mjs MODULES CHROMIUM ADDRESS...
//
// Prints one line of JSON for each page: {"address", "issues": [text...]}.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, executablePath, ...addresses] = process.argv.slice(2);
const load = async (path) => (await import(pathToFileURL(`${modules}/${path}`))).default;
const pa11y = await load("pa11y/lib/pa11y.js");
const puppeteer = await load("puppeteer/lib/puppeteer/puppeteer.js");
const axe = readFileSync(`${modules}/axe-core/axe.min.js`, "utf8");

async function newerRules(browser, address) {
  const page = await browser.newPage();
  try {
    await page.setViewport({ width: 320, height: 800 });
    await page.goto(address);
    await page.evaluate(axe);
    const found = await page.evaluate(() =>
      axe.run({ runOnly: ["wcag22aa"], rules: { "target-size": { enabled: true } } }),
    );
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    const issues = found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html}`));
    return wide > 0 ? [...issues, `at 320 px the page is ${wide} px too wide`] : issues;
  } finally {
    await page.close();
  }
}

// The page for printing is the whole book: half a minute on an idle machine, and minutes on a busy one.
const patience = 800_000;
const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"], protocolTimeout: patience });
const waiting = [...addresses];
async function work() {
  for (let address = waiting.shift(); address; address = waiting.shift()) {
    const options = { browser, standard: "WCAG2AA", runners: ["axe", "htmlcs"], timeout: patience };
    const { issues } = await pa11y(address, options);
    const said = issues.map((issue) => `${issue.code} at ${issue.selector}: ${issue.message}`);
    console.log(JSON.stringify({ address, issues: [...said, ...(await newerRules(browser, address))] }));
  }
}
await Promise.all([work(), work()]);
await browser.close();

"use strict";
// Everything here is an addition: without scripts each page is complete, and each trace is a table.
(() => {
  const root = document.body.dataset.root;
  const html = document.documentElement;
  const store = {
    get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
    set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* private mode */ } },
  };

  // Theme: the system's, until somebody chooses.
  const button = document.getElementById("theme");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const asked = new URLSearchParams(location.search).get("theme");
  if (asked || store.get("theme")) html.dataset.theme = asked || store.get("theme");
  const dark = () => (html.dataset.theme ? html.dataset.theme === "dark" : systemDark.matches);
  const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    html.dataset.theme = dark() ? "light" : "dark";
    store.set("theme", html.dataset.theme);
    label();
  });
  label();

  if (innerWidth < 864) document.querySelector("nav.pages details").open = false;

  // Search: every word must begin a word of the section.
  const input = document.getElementById("search");
  const list = document.getElementById("results");
  const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
  let prepared = null;
  const prepare = () => prepared ??= (window.searchEntries || []).map((entry) => ({
    entry, title: words(entry.title), body: words(entry.text),
  }));
  const find = (query) => {
    const wanted = words(query);
    if (!wanted.length) return [];
    return prepare().map(({ entry, title, body }) => {
      let score = 0;
      for (const word of wanted) {
        const inTitle = title.some((one) => one.startsWith(word));
        const inBody = body.filter((one) => one.startsWith(word)).length;
        if (!inTitle && !inBody) return null;
        score += (inTitle ? 20 : 0) + Math.min(inBody, 10);
      }
      return { entry, score };
    }).filter(Boolean).sort((a, b) => b.score - a.score).slice(0, 12);
  };
  const show = () => {
    const found = find(input.value);
    list.replaceChildren(...found.map(({ entry }) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `${root}/${entry.url}`;
      link.textContent = entry.title;
      const small = document.createElement("small");
      small.textContent = entry.page;
      link.append(small);
      item.append(link);
      return item;
    }));
    if (!found.length && input.value.trim()) {
      const item = document.createElement("li");
      item.textContent = "Nothing found.";
      list.append(item);
    }
    list.hidden = !input.value.trim();
  };
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { input.value = ""; show(); input.blur(); }
    if (event.key === "ArrowDown") { list.querySelector("a")?.focus(); event.preventDefault(); }
  });
  list.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)].focus();
    else if (event.key === "ArrowUp") (at > 0 ? links[at - 1] : input).focus();
    else if (event.key === "Escape") { input.focus(); } else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, [data-trace]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { input.focus(); event.preventDefault(); }
    if (event.key === "ArrowLeft") document.querySelector("a[rel=prev]")?.click();
    if (event.key === "ArrowRight") document.querySelector("a[rel=next]")?.click();
  });

  // Copy buttons.
  for (const figure of document.querySelectorAll("figure.code")) {
    const copy = document.createElement("button");
    copy.type = "button";
    copy.className = "copy";
    copy.textContent = "Copy";
    copy.addEventListener("click", async () => {
      const text = figure.querySelector("code").textContent;
      // Of a transcript one wants the command, without the prompt and what it printed.
      await navigator.clipboard.writeText(text.startsWith("$ ") ? text.slice(2).split("\n")[0] : text);
      copy.textContent = "Copied";
    });
    figure.querySelector("pre").before(copy);
  }

  // Traces: one step at a time, with the history growing.
  for (const trace of document.querySelectorAll("[data-trace]")) {
    const rows = [...trace.querySelectorAll("tbody tr")];
    let at = rows.length - 1;
    const bar = document.createElement("div");
    bar.className = "bar";
    const status = document.createElement("span");
    status.setAttribute("role", "status");
    const go = (to) => {
      at = Math.max(0, Math.min(rows.length - 1, to));
      rows.forEach((row, number) => {
        row.classList.toggle("later", number > at);
        row.classList.toggle("now", number === at);
      });
      status.textContent = `Step ${at + 1} of ${rows.length}`;
    };
    const steps = [["First", () => 0], ["Back", () => at - 1], ["Forward", () => at + 1], ["All", () => rows.length - 1]];
    for (const [name, to] of steps) {
      const press = document.createElement("button");
      press.type = "button";
      press.textContent = name;
      press.addEventListener("click", () => go(to()));
      bar.append(press);
    }
    bar.append(status);
    trace.prepend(bar);
    trace.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: rows.length - 1 }[event.key];
      if (to === undefined) return;
      go(to);
      event.preventDefault();
    });
    go(rows.length - 1);
  }
})();

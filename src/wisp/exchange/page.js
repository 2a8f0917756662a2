const words = document.getElementById("words"), found = document.getElementById("found");
const all = [...document.querySelectorAll("article")], texts = all.map(a => a.textContent.toLowerCase());
document.querySelector(".tools").hidden = false;
words.addEventListener("input", () => {
  const want = words.value.toLowerCase(); let n = 0;
  all.forEach((a, i) => { const hit = texts[i].includes(want); a.hidden = !hit; n += hit; });
  found.textContent = want ? n + " of " + all.length + " messages" : "";
});
for (const [id, open] of [["open", true], ["close", false]])
  document.getElementById(id).addEventListener("click", () =>
    document.querySelectorAll("details").forEach(d => { d.open = open; }));

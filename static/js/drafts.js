// Drafts: what is typed and not sent, for replies and notes apart. The server keeps them; until it has them, this tab does.
(() => {
  "use strict";
  const PAUSE = 800, PATIENCE = 20_000; // A line that swallows everything must not hold all later texts up.
  const form = document.getElementById("composer");
  const { text } = form.elements;
  const other = form.querySelector("[data-other]");
  const key = `median-draft-${document.body.dataset.as}-${form.dataset.thread}`;
  const drafts = { reply: { text: "", kept: "", version: 0 }, note: { text: "", kept: "", version: 0 } };
  let timer = 0, saving = null, sending = false, composing = false, replaced = "";

  const mode = () => form.dataset.mode;
  const dirty = () => Object.entries(drafts).filter(([, draft]) => draft.text !== draft.kept);

  // In this tab, through reloads and a sign-in in between. Nothing left is noted too: a page that was made while the last
  // of it was on its way knows less than the server.
  function remember() {
    const left = dirty().map(([name, { text, version }]) => [name, { text, version }]);
    sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(left)));
  }

  function show(name) {
    if (name === mode()) text.value = drafts[name].text;
  }

  function take(rows) {
    for (const name of Object.keys(drafts)) {
      const draft = drafts[name], row = rows.find((each) => each.mode === name) ?? { text: "", version: 0 };
      if (draft.text !== draft.kept || draft.version === row.version) continue; // What is typed here comes first.
      Object.assign(draft, { text: row.text, kept: row.text, version: row.version });
      show(name);
    }
  }

  async function refresh() {
    const answer = await fetch(form.dataset.draft, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (answer?.ok && !composing) take((await answer.json()).drafts); // An input method would lose what it is at.
  }

  async function post(name, keepalive) {
    const draft = drafts[name], typed = draft.text;
    const body = new URLSearchParams({ mode: name, text: typed, base: draft.version });
    const headers = { ...pressHeaders(), "HX-Request": "true" };
    const answer = await fetch(form.dataset.draft, { method: "POST", body, headers, keepalive, signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) return; // Signed out, or nothing to write to: it stays in this tab.
    const saved = await answer.json();
    Object.assign(draft, { kept: typed, version: saved.version });
    if (saved.replaced) offer(saved.replaced);
  }

  // One at a time, so that an older text never comes after a newer one.
  function save({ keepalive = false } = {}) {
    clearTimeout(timer);
    if (sending || saving || !dirty().length) return saving;
    saving = Promise.all(dirty().map(([name]) => post(name, keepalive))).catch(() => {}).finally(() => {
      saving = null;
      remember();
    });
    return saving;
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(async () => { await saving; save(); }, PAUSE);
  }

  function offer(theirs) {
    replaced = theirs;
    other.hidden = false;
  }

  other.querySelector("button").addEventListener("click", () => {
    text.value = [text.value, replaced].filter(Boolean).join("\n\n");
    other.hidden = true;
    text.dispatchEvent(new Event("input", { bubbles: true }));
    text.focus();
  });

  text.addEventListener("input", () => { drafts[mode()].text = text.value; remember(); later(); });
  text.addEventListener("blur", () => save());
  text.addEventListener("compositionstart", () => { composing = true; });
  text.addEventListener("compositionend", () => { composing = false; });
  form.addEventListener("median:mode", ({ detail: { from, to } }) => { drafts[from].text = text.value; text.value = drafts[to].text; });

  form.addEventListener("htmx:beforeRequest", ({ target }) => { if (target === form) { sending = true; clearTimeout(timer); } });
  form.addEventListener("htmx:afterRequest", async ({ target, detail }) => {
    if (target !== form) return;
    sending = false;
    if (!detail.successful) return later();
    const draft = drafts[mode()];
    await saving; // It may have come after the sending, and is then undone.
    Object.assign(draft, { text: text.value, kept: draft.version ? null : "" });
    remember();
    save();
  });

  window.addEventListener("online", later);
  window.addEventListener("pagehide", () => save({ keepalive: true }));
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") save({ keepalive: true }); else refresh();
  });

  // What the page came with, and what this tab could not hand over before.
  const rows = JSON.parse(form.dataset.drafts), noted = sessionStorage.getItem(key), unsaved = JSON.parse(noted ?? "{}");
  take(rows);
  for (const [name, draft] of Object.entries(unsaved)) Object.assign(drafts[name], draft);
  show(mode());
  const newest = Object.keys(unsaved).at(-1) ?? rows[0]?.mode ?? "reply";
  form.dispatchEvent(new CustomEvent("median:set-mode", { detail: newest }));
  if (dirty().length) later();
  else if (noted) refresh().then(() => sessionStorage.removeItem(key));
})();

// The composer: reply or note, drafts kept for each thread until they are sent, Ctrl+Enter sends.
(() => {
  "use strict";
  const form = document.getElementById("composer");
  const text = form.elements.text;
  const fault = form.querySelector("[data-fault]");
  const label = form.querySelector(`label[for="${text.id}"]`);
  const key = `median-draft-${form.dataset.thread}`;

  function setMode(mode) {
    form.dataset.mode = mode;
    form.elements.mode.value = mode;
    text.placeholder = label.textContent = text.dataset[mode];
  }

  function keep() {
    if (text.value) sessionStorage.setItem(key, JSON.stringify({ text: text.value, mode: form.dataset.mode }));
    else sessionStorage.removeItem(key);
  }

  const draft = JSON.parse(sessionStorage.getItem(key) ?? "null");
  setMode(draft?.mode ?? "reply");
  if (draft) text.value = draft.text;

  form.addEventListener("change", (event) => {
    if (event.target.name !== "mode") return;
    setMode(event.target.value);
    keep();
  });
  text.addEventListener("input", () => { fault.hidden = true; keep(); });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  // A plain post (no htmx) leaves the page: the text is on its way, so its draft is not offered again.
  form.addEventListener("submit", () => { if (!window.htmx) sessionStorage.removeItem(key); });

  let sent = "";
  form.addEventListener("htmx:beforeRequest", () => { sent = text.value; });
  form.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (!detail.successful) {
      fault.hidden = false;
      fault.querySelector("span").textContent = "Not sent. Your text is kept here.";
      return;
    }
    fault.hidden = true;
    // What was typed while it was on its way stays.
    text.value = text.value.startsWith(sent) ? text.value.slice(sent.length).trimStart() : text.value;
    keep();
  });
})();

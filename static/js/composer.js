// The composer: reply or note, each with its own text; Ctrl+Enter sends. drafts.js keeps what is typed.
(() => {
  "use strict";
  const form = document.getElementById("composer");
  const text = form.elements.text;
  const fault = form.querySelector("[data-fault]");
  const label = form.querySelector(`label[for="${text.id}"]`);

  function setMode(mode) {
    const from = form.dataset.mode;
    form.dataset.mode = mode;
    form.elements.mode.value = mode;
    text.placeholder = label.textContent = text.dataset[mode];
    form.dispatchEvent(new CustomEvent("median:mode", { detail: { from, to: mode } }));
  }

  form.addEventListener("median:set-mode", ({ detail }) => setMode(detail));
  form.addEventListener("change", ({ target }) => { if (target.name === "mode") setMode(target.value); });
  text.addEventListener("input", () => { fault.hidden = true; });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    form.requestSubmit();
  });

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
  });
})();

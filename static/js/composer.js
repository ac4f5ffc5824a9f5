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

  function say(message) {
    fault.hidden = false;
    fault.querySelector("span").textContent = message;
  }

  // Sent again unchanged it keeps its id, so that it stands in the thread once although an answer was lost.
  let unanswered = null;
  form.addEventListener("htmx:configRequest", ({ target, detail: { parameters } }) => {
    if (target !== form) return;
    const what = JSON.stringify([parameters.mode, parameters.text, parameters.file]);
    if (unanswered?.what !== what) unanswered = { what, id: crypto.getRandomValues(new Uint32Array(4)).join("-") };
    parameters.client_id = unanswered.id;
  });

  let sent = "", composing = false;
  text.addEventListener("compositionstart", () => { composing = true; });
  text.addEventListener("compositionend", () => { composing = false; });
  form.addEventListener("htmx:beforeRequest", () => { sent = text.value; });
  form.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (!detail.successful) return say("Not sent. Your text is kept here.");
    fault.hidden = true;
    unanswered = null;
    if (!composing) return clear();
    text.addEventListener("compositionend", () => { clear(); text.dispatchEvent(new Event("input", { bubbles: true })); }, { once: true });
  });

  // What was typed while it was on its way stays as it is, with its caret.
  function clear() {
    if (text.value.startsWith(sent)) text.setRangeText("", 0, sent.length, "preserve");
  }

  document.addEventListener("median:fault", (event) => {
    if (event.detail.path !== form.getAttribute("action")) return;
    event.preventDefault();
    say(`Not sent. ${event.detail.message}`);
  });
  form.addEventListener("htmx:timeout", (event) => {
    event.stopPropagation(); // The page would say it once more.
    say("No answer. Your text is kept here, and sending it again as it is cannot send it twice.");
  });
})();

// Who else is in this thread: says every few seconds that this page is looked at or typed in, and shows the others.
(() => {
  "use strict";
  const BEAT = 10_000, AGAIN = 3_000, PAUSED = 5_000; // Typing is said at most every 3 s, and over after 5 quiet ones.
  const section = document.querySelector("[data-watch-thread]");
  const form = document.getElementById("composer");
  if (!section || !form) return;
  const { text } = form.elements;
  const shown = () => document.getElementById("thread-presence");
  let said = 0, pause = 0;

  function say(typing) {
    const here = document.visibilityState === "visible" ? section.dataset.watchThread : "";
    said = typing ? Date.now() : 0;
    document.dispatchEvent(new CustomEvent("median:send", { detail: here ? { here, typing } : { here } }));
  }

  function stop() {
    clearTimeout(pause);
    if (said) say("");
  }

  text.addEventListener("input", () => {
    clearTimeout(pause);
    if (!text.value.trim()) return stop();
    pause = setTimeout(stop, PAUSED);
    if (Date.now() - said >= AGAIN) say(form.dataset.mode);
  });
  form.addEventListener("change", stop); // from a reply to a note, or back
  form.addEventListener("htmx:afterRequest", stop);
  document.addEventListener("visibilitychange", () => say(""));
  setInterval(() => { if (!said && document.visibilityState === "visible") say(""); }, BEAT);

  // A connection that has just begun hears of everybody anew.
  const nobody = () => shown()?.replaceChildren();
  document.addEventListener("median:offline", nobody);
  document.addEventListener("median:watching", () => { nobody(); say(""); });
  document.addEventListener("median:frame", ({ detail: frame }) => {
    if (frame.kind === "presence" && frame.id === section.dataset.watchThread) Idiomorph.morph(shown(), frame.html, { morphStyle: "outerHTML" });
  });
})();

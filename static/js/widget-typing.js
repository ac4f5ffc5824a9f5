// Typing, both ways: the team sees that the customer types, and the customer that somebody of the team does.
(() => {
  "use strict";
  const AGAIN = 3_000, PAUSED = 5_000;
  const text = document.getElementById("w-text");
  let said = 0, pause = 0;

  function say(typing) {
    said = typing ? Date.now() : 0;
    document.dispatchEvent(new CustomEvent("median:send", { detail: { typing } }));
  }

  function stop() {
    clearTimeout(pause);
    if (said) say(false);
  }

  text.addEventListener("input", () => {
    clearTimeout(pause);
    if (!text.value.trim()) return stop();
    pause = setTimeout(stop, PAUSED);
    if (Date.now() - said >= AGAIN) say(true);
  });
  document.getElementById("w-form").addEventListener("submit", stop);
  text.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey) stop(); });

  const show = (html) => Idiomorph.morph(document.getElementById("w-writing"), html, { morphStyle: "outerHTML" });
  document.addEventListener("median:frame", ({ detail: frame }) => { if (frame.kind === "typing") show(frame.html); });
  document.addEventListener("median:offline", () => document.getElementById("w-writing").replaceChildren());
})();

// A button copies the text that it carries, or that stands before it, and says so.
(() => {
  "use strict";
  const say = (detail) => document.dispatchEvent(new CustomEvent("median:told", { detail }));
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-copies]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copies || button.previousElementSibling.textContent);
      say("Copied.");
    } catch {
      say("The browser does not let this page copy. Select the text instead.");
    }
  });
})();

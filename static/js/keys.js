// Single keys, off while typing and in dialogs, and as a whole by the box in their list (WCAG 2.1.4).
(() => {
  "use strict";
  const OFF = "median-single-keys-off";
  const find = (selector) => document.querySelector(selector);
  const box = find("[data-single-keys]");

  box.checked = localStorage.getItem(OFF) === null;
  box.addEventListener("change", () => (box.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1")));

  function step(by) {
    const rows = [...document.querySelectorAll(".qrow, .queue-older, .notice-link, .request [tabindex='-1']")];
    const focused = rows.findIndex((row) => (row.closest(".request") ?? row).contains(document.activeElement));
    const here = focused >= 0 ? focused : rows.findIndex((row) => row.hasAttribute("aria-current"));
    rows[Math.min(Math.max(here + by, 0), rows.length - 1)]?.focus();
  }

  // Of the request that has the focus, else of the first that waits.
  function answer(part) {
    const waiting = `.approval-card:is([data-state="pending"], [data-state="reviewing"]) ${part}`;
    return document.activeElement.closest(".request, .approval-card")?.querySelector(waiting) ?? find(waiting);
  }

  const keys = {
    j: () => step(1),
    k: () => step(-1),
    r: () => find("#reply")?.focus(),
    "/": () => document.dispatchEvent(new Event("median:slash")),
    // Only moves the focus: one stray key must not run anything.
    a: () => answer("[data-approve]")?.focus(),
    d: () => answer("[data-deny]")?.click(),
    n: () => find(".rail-bell a").click(),
    q: () => find(".rail-item[href='/assistant/']").click(),
    e: () => find("[data-resolve]")?.focus(),
    Escape: () => (find(".qrow[aria-current]") ?? find(".qrow"))?.focus(),
    "?": () => find("#keys").showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    // What was closed may still have the focus; what is open has its own Escape.
    const typing = event.target.checkVisibility() && event.target.closest("input, textarea, select, [contenteditable]");
    const isLeaving = event.key === "Escape" && typing?.id === "reply"; // what was typed stays
    if (typing && !isLeaving || document.querySelector("dialog[open], :popover-open")) return;
    if (!box.checked && event.key !== "Escape") return;
    // Where the keyboard has other letters, a key counts by its place.
    const act = keys[event.key > "\x7f" ? event.code.slice(3).toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
})();

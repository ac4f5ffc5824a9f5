// Decisions: the question before a denial, the true state of a card after a refusal, and where the focus goes.
(() => {
  "use strict";
  const dialog = document.getElementById("deny");
  const form = dialog.querySelector("form");
  let asked = null; // The button that opened the question.

  document.addEventListener("click", (event) => {
    const deny = event.target.closest("[data-deny]");
    if (deny) {
      event.preventDefault();
      if (asked?.dataset.card !== deny.dataset.card) form.reset(); // A reason stays until its denial got through.
      asked = deny;
      document.getElementById("deny-title").textContent = `Deny ${deny.dataset.tool}?`;
      document.getElementById("deny-who").textContent = deny.dataset.customer;
      dialog.showModal();
    }
    const show = event.target.closest("[data-shows]");
    const card = show && document.getElementById(show.dataset.shows);
    if (card) {
      event.preventDefault();
      card.scrollIntoView({ block: "center" });
      card.querySelector("[tabindex='-1']").focus({ preventScroll: true });
    }
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { deny: path, card } = asked.dataset;
    const values = { reason: form.elements.reason.value };
    dialog.close();
    await htmx.ajax("POST", path, swap(card, { values, source: dialog })).catch(() => {}); // The page has said why.
    focusOn(card);
  });

  // Somebody was first, or it is over: the card says so, and shows what became of it.
  document.addEventListener("median:fault", async ({ detail: { path: pressed, code, message } }) => {
    const [path, approval] = /^\/approvals\/([^/]+)\//.exec(pressed) ?? [];
    const id = document.querySelector(`[data-approval="${approval}"]`)?.id;
    if (!id) return;
    await htmx.ajax("GET", path, swap(id));
    const card = document.getElementById(id);
    sayOn(card, code === "already_reviewed" && card ? `${message} ${card.dataset.decided}` : message);
    focusOn(id);
  });

  function swap(id, more = {}) {
    const target = document.getElementById(id);
    return target ? { target, swap: "outerHTML", ...more } : { target: document.body, swap: "none", ...more };
  }

  function sayOn(card, message) {
    const error = document.createElement("p");
    error.className = "error";
    error.textContent = message;
    card?.querySelector(".card-foot")?.append(error);
  }

  // The pressed button is gone: the focus stays on its card.
  function focusOn(id) {
    const lost = !document.activeElement || document.activeElement === document.body;
    if (lost) document.getElementById(id)?.querySelector("[tabindex='-1']")?.focus({ preventScroll: true });
  }
  document.body.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (detail.target?.matches?.(".approval-card")) focusOn(detail.target.id);
  });
})();

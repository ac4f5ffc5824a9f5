// What every page of the dashboard needs: the CSRF header, versions that never go back, toasts, dialogs, theme, sign-out.
// What a press says of itself: Django's token, which another tab's sign-in renews, and whom the page was made for.
const pressHeaders = () => ({
  "X-CSRFToken": document.cookie.split("; ").find((pair) => pair.startsWith("median_csrf="))?.split("=")[1] ?? "",
  "X-Median-As": document.body.dataset.as,
});

(() => {
  "use strict";
  const body = document.body;

  // htmx

  body.addEventListener("htmx:configRequest", ({ detail }) => Object.assign(detail.headers, pressHeaders()));
  // An answer that was overtaken by a push does not paint over it.
  body.addEventListener("htmx:beforeSwap", (event) => {
    const { target, serverResponse, xhr } = event.detail;
    const incoming = Number(/data-version="(\d+)"/.exec(serverResponse.slice(0, 400))?.[1]);
    if (xhr.status === 200 && target.dataset.version && incoming < Number(target.dataset.version)) event.detail.shouldSwap = false;
  });
  body.addEventListener("htmx:sendError", () => toast("No connection. Nothing was done; try again."));
  body.addEventListener("htmx:timeout", () => toast("No answer. Check whether it went through before you press again."));
  // Refusals are read off the answer itself: a push may have taken the pressed button away, and htmx's events with it.
  body.addEventListener("htmx:beforeRequest", ({ detail: { elt, xhr, requestConfig } }) => {
    xhr.addEventListener("loadend", () => {
      const said = JSON.parse(xhr.getResponseHeader("HX-Trigger") ?? "{}").toast;
      if (said) {
        const fault = new CustomEvent("median:fault", { cancelable: true, detail: { ...said, path: requestConfig.path } });
        if (document.dispatchEvent(fault)) toast(said.message); // else it stands beside the field that it is about
      } else if (xhr.status >= 500) toast("Something broke on our side. Nothing of yours was lost.");
      else if (xhr.status && xhr.status < 300 && requestConfig.verb !== "get" && elt.matches("form, button")) {
        toasts.replaceChildren(); // what an earlier press was told is over
        if (elt.dataset.told) tell(elt.dataset.told);
      }
    });
  });

  // Toasts: what answers a press and has no place of its own

  const toasts = document.getElementById("toasts");

  // Beside a modal dialog nobody could press or hear it.
  function toast(message) {
    ([...document.querySelectorAll("dialog:modal")].at(-1) ?? body).append(toasts);
    const made = document.getElementById("toast").content.cloneNode(true).firstElementChild;
    made.querySelector("span").textContent = message;
    made.querySelector("button").addEventListener("click", () => made.remove());
    toasts.replaceChildren(made);
    return made;
  }
  document.addEventListener("close", ({ target }) => { if (target.contains(toasts) || !toasts.isConnected) body.append(toasts); }, { capture: true });

  // What only says that something worked goes by itself.
  function tell(message) {
    const said = toast(message);
    setTimeout(() => said.remove(), 4000);
  }
  document.addEventListener("median:told", ({ detail }) => tell(detail));

  // Dialogs, panels, theme

  // A menu closes once something in it was chosen.
  document.addEventListener("click", ({ target }) => target.closest(".menu a, .menu button")?.closest(".menu").hidePopover());
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.opens) document.getElementById(button.dataset.opens).showModal();
    if ("closes" in button.dataset) button.closest("dialog").close();
    if (button.dataset.toggles) {
      const open = document.getElementById(button.dataset.toggles).toggleAttribute("data-open");
      for (const each of document.querySelectorAll(`[data-toggles="${button.dataset.toggles}"]`)) each.setAttribute("aria-expanded", open);
    }
  });

  // A field that finds in a list what is in it already.
  document.addEventListener("input", ({ target }) => {
    if (!target.dataset.finds) return;
    const wanted = target.value.trim().toLowerCase();
    for (const row of document.getElementById(target.dataset.finds).children) row.hidden = !row.dataset.find.includes(wanted);
  });

  // On a phone a row of tabs is wider than the screen.
  const showTab = () => document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  document.addEventListener("htmx:afterSettle", showTab);
  showTab();

  // Signing out leaves nothing behind on a shared computer, nor what the page still noted while it was on its way.
  document.addEventListener("submit", (event) => {
    if (event.target.matches("[data-sign-out]")) window.addEventListener("pagehide", () => sessionStorage.clear());
  });

  // The rail counts on from what the page was made with.

  function counter(name) {
    const count = document.querySelector(`[data-counts="${name}"]`);
    const ids = new Set(count?.dataset.counted.split(" ").filter(Boolean));
    const isBounded = ids.size > 99; // There may be more, which the page does not know.
    return (id, counts) => {
      if (!count) return;
      if (counts) ids.add(id); else ids.delete(id);
      count.hidden = ids.size === 0;
      count.firstElementChild.textContent = isBounded || ids.size > 99 ? "99+" : ids.size;
      return count.hidden ? "" : `(${count.firstElementChild.textContent}) `;
    };
  }
  const unread = counter("unread"), open = counter("open"), pending = counter("pending"), approval = counter("approval"), mine = counter("mine");
  document.addEventListener("median:row", ({ detail: { id, facets } }) => {
    const isOpen = facets.status === "open";
    unread(id, isOpen && facets.unread);
    open(id, isOpen);
    approval(id, isOpen && facets.waiting);
    mine(id, isOpen && facets.assignee === body.dataset.as);
  });
  document.addEventListener("median:frame", ({ detail: frame }) => {
    if (frame.kind !== "request") return;
    // The tab counts what waits, as the page's own title does.
    const waits = pending(frame.id, frame.pending) ?? "";
    document.title = waits + document.title.replace(/^\(\d+\+?\) /, "");
  });

  // The connection

  document.addEventListener("median:offline", () => {
    const since = document.querySelector("#offline [data-since]");
    const now = new Date();
    if (since && !since.textContent) since.textContent = ` at ${String(now.getHours()).padStart(2, "0")}:${String(now.getMinutes()).padStart(2, "0")}`;
  });
  document.addEventListener("median:online", () => {
    const since = document.querySelector("#offline [data-since]");
    if (since) since.textContent = "";
  });
})();

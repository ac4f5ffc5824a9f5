// Questions about a thread as a whole (assign, snooze): each is a page, which opens in a dialog here.
(() => {
  "use strict";
  const dialog = document.getElementById("asks");

  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a[data-asks]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    dialog.replaceChildren();
    await htmx.ajax("GET", link.getAttribute("href"), { target: dialog, swap: "innerHTML" });
    if (dialog.firstElementChild) dialog.showModal();
  });
  dialog.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (detail.successful && detail.requestConfig.verb === "post") dialog.close();
  });
})();

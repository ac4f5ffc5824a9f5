// Agent > Tools: the drawer.
(() => {
  "use strict";
  const body = document.body;
  let touched = false;

  // The drawer opens once it has something to show. What was done in it shows on the page when it closes.
  body.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target.id === "drawer" && detail.target.matches("dialog:not([open])")) detail.target.showModal();
  });
  body.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (detail.successful && detail.requestConfig.verb === "post" && detail.elt.closest("#drawer")) touched = true;
  });
  document.getElementById("drawer")?.addEventListener("close", ({ target }) => {
    target.replaceChildren();
    const page = document.getElementById("agent-tools");
    if (touched && page) htmx.ajax("GET", page.dataset.url, { target: page, select: "#agent-tools", swap: "outerHTML" });
    touched = false;
  });

  document.addEventListener("submit", (event) => {
    if (event.target.matches(".search")) event.preventDefault();
  });
})();

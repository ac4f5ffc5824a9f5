// A row, and whatever else leads to a thread or back, leads to a page with the same queue: rows are everybody's and cannot
// say which.
(() => {
  "use strict";
  function carry({ target }) {
    const asked = document.getElementById("queue")?.dataset.query;
    const link = asked && target.closest?.(".qrow, [data-to-queue]");
    const at = link && new URLSearchParams(link.search).get("at");
    if (link) link.search = at ? `${asked}&at=${at}` : asked;
  }
  for (const name of ["pointerdown", "click"]) document.addEventListener(name, carry);
})();

// A row, and the way back on a phone, lead to a page with the same queue: rows are everybody's and cannot say which.
(() => {
  "use strict";
  function carry({ target }) {
    const asked = document.getElementById("queue")?.dataset.query;
    const link = asked && target.closest?.(".qrow, [data-to-queue]");
    if (link) link.search = asked;
  }
  for (const name of ["pointerdown", "click"]) document.addEventListener(name, carry);
})();

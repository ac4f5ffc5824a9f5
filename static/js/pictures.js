// A press on a picture shows it large, in the page's one dialog; without a script the link opens it.
(() => {
  "use strict";
  const dialog = document.getElementById("picture");
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-picture]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const name = link.querySelector("img").alt;
    dialog.querySelector("h2").textContent = name;
    Object.assign(dialog.querySelector("img"), { src: link.href, alt: name });
    Object.assign(dialog.querySelector("a"), { href: link.href, download: name });
    dialog.showModal();
  });
  dialog.addEventListener("close", () => dialog.querySelector("img").removeAttribute("src"));
})();

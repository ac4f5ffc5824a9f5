// A press on a picture shows it large, in the page's one dialog; without a script the link opens it.
(() => {
  "use strict";
  const AROUND = { width: 32, height: 96 }; // Pixels that the dialog itself and its margin take.
  const dialog = document.getElementById("picture");
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-picture]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const name = link.querySelector("img").alt, [width, height] = link.dataset.picture.split(" ").map(Number);
    const scale = Math.min(1, (innerWidth - AROUND.width) / width, (innerHeight - AROUND.height) / height);
    dialog.querySelector("h2").textContent = name;
    Object.assign(dialog.querySelector("img"), { src: link.href, alt: name, width: width * scale, height: height * scale });
    Object.assign(dialog.querySelector("a"), { href: link.href, download: name });
    dialog.showModal();
  });
  dialog.addEventListener("close", () => dialog.querySelector("img").removeAttribute("src"));
})();

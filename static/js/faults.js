// A refusal stands beside the field that it is about.
(() => {
  "use strict";
  document.addEventListener("median:fault", (event) => {
    const { detail } = event;
    for (const form of document.querySelectorAll(`form[action="${detail.path}"]`)) {
      const place = form.querySelector(`[data-fault="${CSS.escape(detail.field ?? "")}"]`);
      if (!place) continue;
      place.querySelector("span").textContent = detail.message;
      place.hidden = false;
      event.preventDefault();
      place.closest(".field").querySelector(".input")?.setAttribute("aria-invalid", "true");
    }
  });
  document.addEventListener("input", ({ target }) => {
    target.removeAttribute("aria-invalid");
    for (const place of target.closest(".field")?.querySelectorAll("[data-fault]") ?? []) place.hidden = true;
  });
})();

// A filter form answers as soon as something is chosen; typed text waits for Enter or the button.
(() => {
  "use strict";
  document.addEventListener("change", ({ target }) => {
    const form = target.closest("form[data-filters]");
    if (form && target.matches("select, [type=radio], [type=date]")) form.requestSubmit();
  });
  // Only what is asked for stands in the address.
  document.addEventListener("formdata", ({ target, formData }) => {
    if (!target.matches("form[data-filters]")) return;
    for (const [name, value] of [...formData]) if (!value) formData.delete(name);
  });
})();

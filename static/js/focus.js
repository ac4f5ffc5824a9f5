// What is pressed loses the focus while it is disabled, and gets it back. Where the answer took it away, the focus goes to
// its like in the new page, else to what opened the dialog or menu that it stood in, else to the heading.
(() => {
  "use strict";
  let held = null; // where the focus was when the last change left

  document.body.addEventListener("htmx:beforeRequest", ({ detail }) => {
    const element = document.activeElement;
    if (detail.requestConfig.verb === "get" || element === document.body) return;
    // A fragment's button may be another one after the push, and a second Enter would press that.
    if (element.form?.id === "act") element.closest("[data-version]")?.querySelector("[tabindex='-1']")?.focus({ preventScroll: true });
    const { form } = element;
    held = {
      element,
      path: form?.getAttribute("action"),
      at: form ? [...form.elements].indexOf(element) : -1,
      inside: element.closest("dialog[id], [popover][id]")?.id,
    };
  });

  const isLost = () => held && document.activeElement === document.body;

  document.addEventListener("htmx:afterRequest", () => {
    if (isLost() && held.path && held.element.isConnected) held.element.focus({ preventScroll: true });
  });

  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (!isLost() || held.element.isConnected) return;
    const { path, at, inside } = held;
    const form = path && document.querySelector(`form[action="${CSS.escape(path)}"]`);
    const opener = inside && document.querySelector(`[data-opens="${CSS.escape(inside)}"], [popovertarget="${CSS.escape(inside)}"]`);
    const heading = document.getElementById(detail.target.id)?.querySelector("h1, h2");
    held = null;
    const next = [form?.elements[at], opener, heading].find((each) => each?.checkVisibility() && !each.disabled);
    if (next === heading) heading?.setAttribute("tabindex", "-1");
    next?.focus({ preventScroll: true });
  });
})();

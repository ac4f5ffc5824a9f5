// The run dialog: opened for one tool, its Run awake when nothing required is missing, closed when the call is out.
// Nothing that was typed is lost: neither to an answer of the server nor to closing the dialog by a slip.
(() => {
  "use strict";
  const dialog = document.getElementById("run"); // Not on the form's own page.
  const form = () => document.getElementById("run-form");
  const isOurs = (element) => element?.closest?.("#run-form");

  // Opening and closing

  async function open(path) {
    if (dialog.dataset.path !== path || !form()) {
      dialog.replaceChildren();
      await htmx.ajax("GET", path, { target: dialog, swap: "innerHTML" }).catch(() => {});
      if (!form()) return; // Refused, and said so.
      dialog.dataset.path = path;
      prepare();
    }
    if (dialog.open) return;
    dialog.showModal();
    check();
    fields()[0]?.focus();
  }

  const discard = () => { dialog.close(); dialog.replaceChildren(); };
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("a[data-run-tool]");
    if (opener && dialog && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      open(opener.dataset.runTool);
    }
    if (event.target.closest("[data-cancel]")) discard();
    if (event.target.closest("[data-missing]")) fields().find((field) => left.has(field.name)).focus({ focusVisible: true });
  });
  document.addEventListener("median:run", ({ detail }) => open(detail.path));
  // Where closedby is not known, a press beside the dialog closes it here.
  dialog?.addEventListener("pointerdown", (event) => {
    if (!("closedBy" in dialog) && event.target === dialog) dialog.close();
  });

  // Whether it may run

  const fields = () => [...form().querySelectorAll("input:not([type=hidden]), textarea, select")].filter((field) => field.checkVisibility());

  let left; // The names of those that keep it from running: required and without an answer, or half a date.
  function check() {
    const answered = new Set(fields().filter((field) => (field.type === "radio" ? field.checked : field.value !== "")).map(({ name }) => name));
    left = new Set(fields().filter((field) => field.validity.badInput || (field.required && !answered.has(field.name))).map(({ name }) => name));
    for (const button of form().querySelectorAll("[data-run]")) button.disabled = left.size > 0;
    form().querySelector("[data-left]").textContent = left.size ? `${left.size} required ${left.size === 1 ? "field" : "fields"} left` : "Ready to run";
  }

  // A moment is sent with its zone: the browser's at that moment, unless somebody wrote another.
  function moment(box) {
    const [time, zone] = box.querySelectorAll("input");
    time.dataset.was ??= time.value;
    if (!("own" in zone.dataset) || zone.value === zoneAt(time.dataset.was)) zone.value = zoneAt(time.value);
    time.dataset.was = time.value;
    const seconds = time.value.length === 16 ? ":00" : "";
    box.nextElementSibling.textContent = time.value ? `Sent as ${time.value}${seconds}${zone.value}` : "";
  }

  // As in +01:00; said as GMT+01:00, or as GMT alone.
  const zoneAt = (time) => new Date(time || Date.now()).toLocaleString("en", { timeZoneName: "longOffset" }).split("GMT")[1]?.slice(0, 6) || "+00:00";
  const grow = (line) => { line.rows = Math.min(line.value.split("\n").length, 8); }; // where there is no field-sizing

  function prepare() {
    form().querySelectorAll("[data-moment]").forEach(moment);
    form().querySelectorAll("[data-line]").forEach(grow);
    check();
  }

  document.addEventListener("input", ({ target }) => {
    if (!isOurs(target)) return;
    if ("zone" in target.dataset) target.dataset.own = "";
    if (target.closest("[data-moment]")) moment(target.closest("[data-moment]"));
    if ("line" in target.dataset) grow(target);
    check();
  });
  document.addEventListener("keydown", (event) => {
    const isLine = isOurs(event.target) && "line" in event.target.dataset;
    if (!isLine || event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    const run = form().querySelector(".dialog-foot [data-run]");
    if (!run.disabled) form().requestSubmit(run);
  });

  // What the server answers: the form again, or nothing when the call is out

  let asked = new Map(), pressed = null; // What each field held when the press left, and where the focus was.
  document.addEventListener("htmx:beforeRequest", ({ detail }) => {
    if (!isOurs(detail.elt)) return;
    const isRun = detail.requestConfig.path === form().getAttribute("action");
    pressed = document.activeElement, asked = new Map([...form().elements].map((field) => [field, field.value]));
    form().toggleAttribute("aria-busy", isRun);
    if (isRun) form().querySelector("[data-left]").textContent = "Sending";
    say("");
  });
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (!isOurs(detail.elt)) return;
    const { status, responseText } = detail.xhr;
    detail.shouldSwap = false;
    if (status === 204) return dialog ? discard() : location.assign(document.querySelector(".dialog-foot a").href);
    if (!responseText.includes('id="run-form"')) return; // The page says why.
    detail.isError = false;
    redraw(responseText, detail.requestConfig.parameters.get?.("add"));
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (!isOurs(detail.elt) || !form()) return;
    form().removeAttribute("aria-busy");
    check();
  });
  const isKept = (why) => (event) => {
    if (!isOurs(event.detail.elt)) return;
    event.stopPropagation(); // The page would say it once more.
    say(`${why}. What you typed is kept, and pressing Run again cannot run it twice.`);
  };
  document.addEventListener("htmx:sendError", isKept("No connection"), { capture: true });
  document.addEventListener("htmx:timeout", isKept("No answer"), { capture: true });
  document.addEventListener("median:fault", (event) => {
    if (form()?.getAttribute("action") === event.detail.path) event.preventDefault(), say(event.detail.message);
  });

  function redraw(html, added) {
    const at = document.activeElement, ignoreActiveValue = at.matches("textarea, input, select");
    const typed = [...asked].filter(([field, value]) => field.value !== value).map(([field]) => [field.id, field.value]);
    Idiomorph.morph(form(), html, { morphStyle: "outerHTML", ignoreActiveValue });
    for (const [id, value] of typed) Object.assign(document.getElementById(id) ?? {}, { value });
    htmx.process(form());
    prepare();
    if (ignoreActiveValue && at !== pressed) return; // They went on in another field.
    const item = added && [...document.getElementsByName(`items:${added}`)].at(-1)?.parentElement;
    const faulty = form().querySelector("[aria-invalid=true], [aria-invalid=true] input");
    (item ? fields().find((field) => item.contains(field)) : faulty)?.focus();
  }

  function say(message) {
    const fault = document.getElementById("run-fault");
    fault.hidden = !message;
    fault.querySelector("span").textContent = message;
    if (message) fault.scrollIntoView({ block: "nearest" });
  }

  if (form()) prepare();
})();

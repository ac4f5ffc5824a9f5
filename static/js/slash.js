// The slash menu: a listbox inside the composer, moved through from the text box, which keeps the focus.
(() => {
  "use strict";
  const menu = document.getElementById("slash");
  const text = document.getElementById("reply");
  const status = document.getElementById("thread-status");
  let loading = null, isDismissed = false;

  const options = () => [...menu.querySelectorAll("[role=option]")];
  const shown = () => options().filter((option) => !option.hidden);
  const marked = () => menu.querySelector("[aria-selected=true]");
  const isWanted = () => /^\/[^\n]*$/.test(text.value);

  async function open() {
    loading ??= htmx.ajax("GET", menu.dataset.from, { target: menu, swap: "innerHTML" });
    await loading;
    loading = null;
  }

  function close() {
    menu.hidden = true;
    text.removeAttribute("aria-activedescendant");
  }

  function mark(option) {
    for (const each of options()) each.setAttribute("aria-selected", each === option);
    text.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  // Shows what matches, by label or function name. With nothing to show it says so and takes no room.
  function filter(wanted) {
    for (const option of options()) option.hidden = !option.dataset.says.toLowerCase().includes(wanted);
    for (const group of menu.querySelectorAll("[role=group]")) group.hidden = !group.querySelector("[role=option]:not([hidden])");
    const found = shown();
    status.textContent = found.length ? `${found.length} ${found.length === 1 ? "match" : "matches"}` : "No tool or saved reply matches";
    menu.hidden = found.length === 0;
    if (found.length) mark(found[0]);
    else close();
  }

  async function update() {
    if (!isWanted()) {
      isDismissed = false;
      return close();
    }
    if (isDismissed) return;
    if (menu.hidden) await open();
    if (isWanted() && !isDismissed) filter(text.value.slice(1).trim().toLowerCase());
  }

  function pick(option) {
    close();
    if (isWanted()) text.value = "";
    if (option.dataset.inserts) text.setRangeText(option.dataset.inserts, text.selectionStart, text.selectionEnd, "end");
    text.dispatchEvent(new Event("input", { bubbles: true }));
    text.focus();
    const path = option.dataset.runTool;
    if (path) document.dispatchEvent(new CustomEvent("median:run", { detail: { path } }));
  }

  text.addEventListener("input", (event) => { if (!event.isComposing) update(); });
  text.addEventListener("compositionend", update);
  text.addEventListener("keydown", (event) => {
    const { key } = event;
    if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (menu.hidden) {
      if (loading && isWanted() && key === "Enter") event.preventDefault(); // The menu is on its way.
      return;
    }
    const found = shown(), at = found.indexOf(marked());
    if (key === "ArrowDown" || key === "ArrowUp") mark(found[(at + (key === "ArrowDown" ? 1 : -1) + found.length) % found.length]);
    else if (key === "Enter") pick(found[at]);
    else if (key === "Escape") { isDismissed = true; close(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  menu.addEventListener("pointerdown", (event) => event.preventDefault()); // The text box keeps the focus.
  menu.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) pick(option);
  });

  // The single key: with a draft in the box the menu stands beside it, and typing closes it.
  document.addEventListener("median:slash", async () => {
    text.focus();
    if (text.value && !isWanted()) {
      await open();
      return filter("");
    }
    text.value = "/";
    text.dispatchEvent(new Event("input", { bubbles: true }));
  });
})();

// The menu inside the composer: tools and saved replies after a slash, teammates after an @ in a note. A listbox that is
// moved through from the text box, which keeps the focus.
(() => {
  "use strict";
  const menu = document.getElementById("slash");
  const text = document.getElementById("reply");
  const form = document.getElementById("composer");
  const status = document.getElementById("thread-status");
  // What is asked for after each sign: from where on, and by which words. Null when it is not.
  const asks = {
    tools: () => (/^\/[^\n]*$/.test(text.value) ? { at: 0, words: text.value.slice(1) } : null),
    people: () => {
      const found = form.dataset.mode === "note" && /(^|[^\p{L}\p{N}])@([^@\n]{0,60})$/u.exec(text.value.slice(0, text.selectionStart));
      return found ? { at: found.index + found[1].length, words: found[2] } : null;
    },
  };
  let loading = null, holds = "", dismissed = null;

  const options = () => [...menu.querySelectorAll("[role=option]")];
  const shown = () => options().filter((option) => !option.hidden);
  const marked = () => menu.querySelector("[aria-selected=true]");
  const wanted = () => {
    const name = Object.keys(asks).find((each) => asks[each]());
    return name ? { name, ...asks[name]() } : null;
  };
  const isDismissed = (ask) => dismissed?.name === ask.name && dismissed.at === ask.at;

  async function open(name) {
    if (!loading || holds !== name) loading = htmx.ajax("GET", menu.dataset[name], { target: menu, swap: "innerHTML" });
    holds = name;
    menu.ariaLabel = name === "people" ? "Teammates" : "Tools and saved replies";
    await loading.catch(() => {}).finally(() => { loading = null; }); // The page has said why; the next one asks again.
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
  function filter(words) {
    for (const option of options()) option.hidden = !option.dataset.says.toLowerCase().includes(words);
    for (const group of menu.querySelectorAll("[role=group]")) group.hidden = !group.querySelector("[role=option]:not([hidden])");
    const found = shown();
    const none = holds === "tools" ? "No tool or saved reply matches" : "";
    status.textContent = found.length ? `${found.length} ${found.length === 1 ? "match" : "matches"}` : none;
    menu.hidden = found.length === 0;
    if (found.length) mark(found[0]);
    else close();
  }

  async function update() {
    const ask = wanted();
    if (!ask || isDismissed(ask)) {
      if (!ask) dismissed = null;
      return close();
    }
    if (menu.hidden || holds !== ask.name) await open(ask.name);
    const now = wanted(); // It may have been typed on, or put away, meanwhile.
    if (now && now.name === holds && !isDismissed(now)) filter(now.words.trim().toLowerCase());
  }

  function pick(option) {
    const ask = wanted(), { inserts, mentions, runTool: path } = option.dataset;
    close();
    if (ask?.name === "tools") text.value = "";
    if (inserts) text.setRangeText(inserts, text.selectionStart, text.selectionEnd, "end");
    if (ask && mentions) {
      text.setRangeText(`${mentions} `, ask.at, text.selectionStart, "end");
      dismissed = { name: ask.name, at: ask.at };
    }
    text.dispatchEvent(new Event("input", { bubbles: true }));
    text.focus();
    if (path) document.dispatchEvent(new CustomEvent("median:run", { detail: { path } }));
  }

  text.addEventListener("input", (event) => { if (!event.isComposing) update(); });
  text.addEventListener("compositionend", update);
  form.addEventListener("median:mode", close);
  text.addEventListener("keydown", (event) => {
    const { key } = event;
    if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (menu.hidden) {
      if (loading && wanted() && key === "Enter") event.preventDefault(); // The menu is on its way.
      return;
    }
    const found = shown(), at = found.indexOf(marked());
    if (key === "ArrowDown" || key === "ArrowUp") mark(found[(at + (key === "ArrowDown" ? 1 : -1) + found.length) % found.length]);
    else if (key === "Enter" || (key === "Tab" && holds === "people")) pick(found[at]);
    else if (key === "Escape") { dismissed = wanted(); close(); }
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
    if (text.value && !asks.tools()) {
      await open("tools");
      return filter("");
    }
    text.value = "/";
    text.dispatchEvent(new Event("input", { bubbles: true }));
  });
})();

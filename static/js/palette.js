// The command palette: Ctrl+K, then type. It presses what the page has already, its rail and the thread's menu, and
// looks threads up as the queue's search does.
(() => {
  "use strict";
  const PAUSE = 150; // After typing, before the server is asked.
  const dialog = document.getElementById("palette");
  const input = dialog.querySelector("input"), status = dialog.querySelector("[role=status]");
  const own = dialog.querySelector("[data-own]"), found = dialog.querySelector("[data-found]");
  const none = dialog.querySelector(".palette-none");
  let targets = [], timer = 0, asked = 0;

  const shown = () => [...dialog.querySelectorAll("[role=option]:not([hidden])")];
  const marked = () => dialog.querySelector("[aria-selected=true]");

  function open() {
    if (document.querySelector("dialog[open]")) return;
    const pages = [...document.querySelectorAll("a.rail-item"), ...dialog.querySelectorAll("[data-more] a")];
    const actions = [...document.querySelectorAll("#thread-head :is(button[formaction], a[data-asks])")].filter(isMine);
    // What the head and its menu both have is one thing, in the menu's words.
    targets = [...new Map([...actions, ...pages].map((target) => [target.formAction ?? target.href, target])).values()];
    own.replaceChildren(...targets.map(option));
    found.replaceChildren();
    input.value = "";
    dialog.showModal();
    input.focus();
    filter();
  }

  // A button of "you" or of the others, which the session's own rule hides, is not offered; one in a closed menu is.
  const isMine = (target) => !target.closest(".by") || target.closest(".by").checkVisibility() && getComputedStyle(target.closest(".by-name, .by-you")).display !== "none";
  const words = (target) => (target.querySelector(":scope > span:not(.count)") ?? target).textContent.trim();

  function option(target, number) {
    const made = document.createElement("div");
    Object.assign(made, { id: `palette-${number}`, className: "opt", role: "option", tabIndex: -1 });
    const icon = target.querySelector(".icon")?.cloneNode(true) ?? document.createElement("span");
    const text = Object.assign(document.createElement("span"), { textContent: words(target) });
    made.append(icon, text);
    made.dataset.number = number;
    return made;
  }

  function mark(option) {
    for (const each of dialog.querySelectorAll("[role=option]")) each.setAttribute("aria-selected", each === option);
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }

  function filter() {
    const typed = input.value.trim().toLowerCase();
    for (const each of own.children) {
      const isMore = targets[each.dataset.number].closest("[data-more]");
      each.hidden = !each.textContent.toLowerCase().includes(typed) || isMore && !typed;
    }
    const count = shown().length;
    status.textContent = count === 1 ? "1 match" : `${count} matches`;
    none.hidden = true;
    mark(shown()[0]);
  }

  async function look() {
    const typed = input.value.trim(), turn = ++asked;
    const answer = typed && await fetch(`${input.dataset.from}?q=${encodeURIComponent(typed)}`, { headers: { "HX-Request": "true" } });
    if (answer?.status === 401) return location.reload(); // Signed out: the page says where to go on.
    if (turn !== asked) return; // An older answer does not paint over a newer one.
    const html = answer?.ok ? await answer.text() : "";
    if (turn !== asked) return;
    found.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.children);
    filter();
    none.hidden = shown().length > 0 || !answer?.ok;
  }

  function pick(option) {
    dialog.close();
    if (option?.dataset.number) targets[option.dataset.number].click();
    else if (option) location.href = option.getAttribute("href");
  }

  input.addEventListener("input", () => {
    filter();
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return; // Safari says so by the number alone
    const options = shown(), at = options.indexOf(marked());
    if (event.key === "ArrowDown" || event.key === "ArrowUp") mark(options.at((at + (event.key === "ArrowDown" ? 1 : -1)) % options.length));
    else if (event.key === "Enter") pick(marked());
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) { event.preventDefault(); pick(option); }
  });
  document.addEventListener("keydown", (event) => {
    const isK = event.key?.toLowerCase() === "k" || (event.key > "\x7f" && event.code === "KeyK"); // no key: the browser fills a form
    if (!isK || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (dialog.open) dialog.close(); else open();
  });
})();

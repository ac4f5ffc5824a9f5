// An open thread: reading is told to the server, a new day gets its heading, and a card's news goes to the status line.
(() => {
  "use strict";
  const section = document.querySelector("[data-watch-thread]");
  const items = document.getElementById("thread-items");
  const status = document.getElementById("thread-status");
  if (!section) return;
  let told = 0;

  // Reading changes something, so it is a POST of its own, and only of what somebody can see.
  function read() {
    const newest = Math.max(0, ...[...items.children].slice(-2).map((item) => Number(item.dataset.number) || 0));
    if (document.visibilityState !== "visible" || newest <= told) return;
    told = newest;
    htmx.ajax("POST", section.dataset.read, { values: { number: newest }, swap: "none", source: section });
  }
  document.addEventListener("visibilitychange", read);
  read();

  const news = new Map([...items.querySelectorAll("[data-news]")].map((card) => [card.id, card.dataset.news]));

  document.addEventListener("median:item", ({ detail: { element, isNew } }) => {
    if (isNew) {
      head(element);
      read();
    }
    const { news: said, approval, state } = element.dataset;
    // Cards are silent in the log: asking and deciding have lines of their own there, what came of it is said here.
    const hasLine = approval && !["completed", "failed"].includes(state);
    if (said && !hasLine && news.get(element.id) !== said) status.textContent = said;
    if (said) news.set(element.id, said);
  });

  function head(element) {
    const { day } = element.dataset;
    if (items.querySelector(`[data-rule="${CSS.escape(day)}"]`)) return;
    const rule = document.createElement("p");
    rule.className = "rule";
    rule.dataset.rule = day;
    rule.append(Object.assign(document.createElement("span"), { textContent: day }));
    element.before(rule);
  }
})();

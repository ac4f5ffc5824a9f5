// What the teammate was told: counts it in the rail, keeps the page of it, and says it on the desktop where that is wanted.
(() => {
  "use strict";
  const list = document.getElementById("notices");
  const count = document.querySelector('[data-counts="notices"]');

  document.addEventListener("median:frame", ({ detail: frame }) => {
    if (frame.kind !== "notices") return;
    if (count) {
      count.hidden = frame.unread.length === 0;
      count.firstElementChild.textContent = frame.unread.length < 100 ? frame.unread.length : "99+";
    }
    for (const item of frame.items) document.dispatchEvent(new CustomEvent("median:notice", { detail: item }));
    if (!list) return;
    const all = document.getElementById("read-notices");
    for (const item of frame.items) Median.put(item, list);
    for (const row of list.children) row.toggleAttribute("data-unread", frame.unread.length === 100 || frame.unread.includes(Number(row.dataset.number)));
    all.hidden = frame.unread.length === 0;
    all.value = Math.max(all.value, ...frame.unread);
  });
})();

// The newest page of the log follows what happens, while the reader is at its top and wants it to.
(() => {
  "use strict";
  const MOST = 200; // Rows that a page which stays open keeps.
  const OFF = "median-log-still";
  const events = document.getElementById("events");
  const button = document.getElementById("follow");
  if (!button) return;
  const filter = Object.entries(JSON.parse(events.dataset.filter));
  const main = document.getElementById("main");
  let missed = 0;

  const follows = () => sessionStorage.getItem(OFF) === null;
  const show = () => button.setAttribute("aria-pressed", follows());
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    if (follows()) sessionStorage.setItem(OFF, "1"); else sessionStorage.removeItem(OFF);
    if (follows() && missed) location.reload();
    show();
  });

  document.addEventListener("median:frame", ({ detail: frame }) => {
    if (frame.kind !== "event" || document.getElementById(frame.id)) return;
    if (!filter.every(([facet, wanted]) => wanted.includes(frame.facets[facet]))) return;
    if (!follows() || main.scrollTop > 40) return say(++missed);
    Median.put(frame, listOf(frame.day));
    for (const old of [...events.querySelectorAll("li")].slice(MOST)) old.remove();
  });

  function listOf(day) {
    const found = events.querySelector(`[data-day="${CSS.escape(day)}"] > ol`);
    if (found) return found;
    const made = document.getElementById("log-day").content.cloneNode(true).firstElementChild;
    made.dataset.day = made.querySelector("h2").textContent = day;
    made.querySelector("ol").setAttribute("aria-label", day);
    events.prepend(made);
    return made.querySelector("ol");
  }

  function say(count) {
    const link = Object.assign(document.createElement("a"), { href: "", className: "link", textContent: "Show" });
    document.getElementById("log-status").replaceChildren(`${count} newer ${count === 1 ? "event" : "events"}. `, link);
  }
})();

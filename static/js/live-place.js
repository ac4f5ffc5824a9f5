// Putting pushed fragments into the page: by id and version, in the order of their numbers, without taking away what a
// person is doing (focus, selection, typed text, open details, the place they read). Used by live.js alone.
const Median = (() => {
  "use strict";
  const NEAR = 80; // Pixels from the newest that still count as being there.
  const number = (element) => Number(element.dataset.number);
  const version = (element) => Number(element.dataset?.version) || 0;
  const typed = "input:not([type=checkbox], [type=radio], [type=hidden]), textarea";
  const isEdited = (node) => node.matches?.(typed) && node.value !== node.defaultValue;
  const isKept = (node) => node.matches?.("[data-live-keep]") || isEdited(node);
  const callbacks = {
    beforeNodeMorphed: (old, fresh) => !isKept(old) && version(old) <= version(fresh),
    beforeNodeRemoved: (old) => !isKept(old),
    beforeAttributeUpdated: (name, node) =>
      !(name === "aria-current" || (name === "open" && node.matches("details, dialog"))),
  };

  function morph(old, fresh) {
    const { id } = old;
    const hadFocus = old.contains(document.activeElement);
    Idiomorph.morph(old, fresh, { morphStyle: "outerHTML", ignoreActiveValue: true, callbacks });
    const element = document.getElementById(id);
    if (hadFocus && !element.contains(document.activeElement)) {
      element.querySelector("[tabindex='-1']")?.focus({ preventScroll: true }); // The pressed button is gone.
    }
    window.htmx?.process(element);
    return element;
  }

  function parse(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    const element = template.content.firstElementChild;
    element.remove();
    return element;
  }

  // Where an element belongs in its list: before which child; undefined when it is beyond what the page shows.
  function place(element, list) {
    const down = list.dataset.order === "desc";
    const others = [...list.children].filter((child) => child !== element && "number" in child.dataset);
    const next = others.find((child) => (down ? number(child) < number(element) : number(child) > number(element)));
    const isBeyond = "more" in list.dataset && others.length && (down ? !next : next === others[0]);
    return isBeyond ? undefined : next ?? others.at(-1)?.nextElementSibling ?? null;
  }

  // Brings {id, version, html} into the page; returns {element, isNew}, or null when there was nothing to do.
  // Without a list only what is there already is replaced.
  function put({ id, version: incoming, html }, list) {
    const old = document.getElementById(id), isRow = "watchQueue" in (list?.dataset ?? {});
    if (old && (isRow ? version(old) > incoming : version(old) >= incoming)) return null;
    if (old) {
      const element = morph(old, parse(html));
      if (isRow) move(element, list);
      return { element, isNew: false };
    }
    if (!list) return null;
    const element = parse(html), next = place(element, list);
    if (next === undefined) return null;
    list.insertBefore(element, next);
    window.htmx?.process(element);
    return { element, isNew: true };
  }

  function move(element, list) {
    const next = place(element, list);
    if (next === undefined || next === element || next === element.nextElementSibling) return;
    const focused = document.activeElement;
    list.insertBefore(element, next);
    if (element.contains(focused)) focused.focus({ preventScroll: true });
  }

  // Replaces every [data-refresh] by its copy in a fresh document, and takes over what the page has then.
  function renew(fresh) {
    for (const old of document.querySelectorAll("[id][data-refresh]")) {
      const copy = fresh.getElementById(old.id);
      if (copy) holdStill(old, () => morph(old, copy));
    }
    for (const watched of document.querySelectorAll("[data-watch-thread], [data-watch-queue], [data-watch-feed]")) {
      const { watchThread: id, watchFeed: feed } = watched.dataset;
      const copy = fresh.querySelector(id ? `[data-watch-thread="${CSS.escape(id)}"]` : feed ? `[data-watch-feed="${feed}"]` : "[data-watch-queue]");
      if (copy) watched.dataset.version = copy.dataset.version;
    }
  }

  // Changes the thread while what the reader looks at stays where it is; at the newest, it stays at the newest.
  function holdStill(inside, change) {
    const stream = inside?.closest(".stream");
    if (!stream || Math.abs(stream.scrollTop) < 1) return change();
    stream.style.overflowAnchor = "none";
    const top = stream.getBoundingClientRect().top;
    const items = [...stream.querySelectorAll("[data-number]")];
    const seen = items.find((item) => item.getBoundingClientRect().bottom > top);
    const before = seen?.getBoundingClientRect().top;
    change();
    if (seen?.isConnected) stream.scrollTop += seen.getBoundingClientRect().top - before;
  }

  function hintBelow(list, element) {
    const stream = list.closest(".stream"), hint = document.getElementById("new-below");
    if (hint && stream && element === list.lastElementChild && Math.abs(stream.scrollTop) > NEAR) hint.hidden = false;
  }

  // What somebody opens stays under the press, also when what is in it comes later: a stream grows at its upper end.
  function holdPressed(summary) {
    const stream = summary.closest(".stream"), top = () => summary.getBoundingClientRect().top, over = AbortSignal.timeout(5_000);
    let held = top();
    stream.style.overflowAnchor = "none";
    const opening = new ResizeObserver(() => { stream.scrollTop += top() - held; });
    opening.observe(summary.parentElement);
    stream.addEventListener("scroll", () => { held = top(); }, { passive: true, signal: over });
    over.addEventListener("abort", () => opening.disconnect());
  }

  document.addEventListener("click", (event) => {
    const summary = event.target.closest(".stream summary");
    if (summary) holdPressed(summary);
    if (event.target.closest("#new-below")) document.querySelector(".stream").scrollTop = 0;
  });
  document.addEventListener("scroll", ({ target }) => {
    const hint = document.getElementById("new-below");
    if (hint && target.matches?.(".stream") && Math.abs(target.scrollTop) <= NEAR) hint.hidden = true;
  }, { capture: true, passive: true });

  return { put, renew, holdStill, hintBelow };
})();

// The Approvals page: requests come and change in place, the focus goes on to the next one, several are chosen at once.
(() => {
  "use strict";
  const list = document.getElementById("waiting");
  const status = document.getElementById("approvals-status");
  const form = document.getElementById("together");
  const open = ".approval-card:is([data-state=pending], [data-state=reviewing])";
  const undecided = () => [...(list?.querySelectorAll(open) ?? [])];

  // What comes

  document.addEventListener("median:frame", ({ detail: frame }) => {
    if (frame.kind !== "request") return;
    const { id, version } = frame;
    const waiting = { id: `request-${id}`, version, html: frame.waiting };
    const settled = { id: `row-${id}`, version, html: frame.settled };
    if (document.getElementById(settled.id)) Median.put(settled, null);
    else if (list && (document.getElementById(waiting.id) || (frame.waits && belongs(frame.facets)))) {
      if (Median.put(waiting, list)) say(id);
    }
    show();
  });

  function belongs(facets) {
    return Object.entries(JSON.parse(list.dataset.filter)).every(([facet, wanted]) => wanted.includes(facets[facet]));
  }

  function say(id) {
    const news = document.getElementById(id)?.dataset.news;
    if (news) status.textContent = news;
  }

  // Decide and next: read off the answer, since a push may have taken the pressed button away.

  document.body.addEventListener("htmx:beforeRequest", ({ detail: { xhr, requestConfig } }) => {
    const [, id] = /^\/approvals\/([^/]+)\/(?:approve|deny)$/.exec(requestConfig.path) ?? [];
    if (id) xhr.addEventListener("loadend", () => xhr.status === 200 && next(id));
  });

  function next(id) {
    const here = document.getElementById(`request-${id}`);
    const others = undecided().filter((card) => card.id !== id);
    const below = others.find((card) => here?.compareDocumentPosition(card) & Node.DOCUMENT_POSITION_FOLLOWING);
    const card = below ?? others[0];
    if (!card) return document.querySelector(".pager [rel=next]")?.focus();
    card.querySelector("[tabindex='-1']").focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  }

  // Choosing several

  if (!form) return;
  const all = document.getElementById("choose-all");
  all.parentElement.hidden = false;
  const boxes = () => undecided().map((card) => card.closest(".request").querySelector(".request-pick input"));

  document.addEventListener("change", ({ target }) => {
    if (target === all) for (const box of boxes()) box.checked = all.checked;
    if (target === all || target.form === form) show();
  });

  function show() {
    if (!form) return;
    const choice = boxes();
    for (const box of list.querySelectorAll(".request-pick input:checked")) box.checked &&= choice.includes(box);
    const chosen = choice.filter((box) => box.checked);
    const tools = new Set(chosen.map((box) => box.dataset.tool));
    form.hidden = choice.length === 0;
    document.getElementById("nothing-waits").hidden = list.children.length > 0;
    all.checked = choice.length > 0 && chosen.length === choice.length;
    form.elements.namedItem("answer")[0].disabled = chosen.length === 0;
    form.elements.namedItem("answer")[1].disabled = tools.size !== 1;
    document.getElementById("chosen").textContent = chosen.length === 0 ? "" : `${chosen.length} chosen${tools.size > 1 ? "; only requests for one tool are approved together" : ""}`;
  }
  document.body.addEventListener("htmx:afterSettle", show);
  show();
})();

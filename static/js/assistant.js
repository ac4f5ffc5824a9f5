// The assistant's panel beside every page: opened by its link or q, kept open from page to page, filled by pushes.
(() => {
  "use strict";
  const OPEN = "median-assistant", DRAFT = "median-assistant-draft";
  const panel = document.getElementById("assistant"); // not on the assistant's own page
  const link = document.querySelector("a[href='/assistant/'].rail-item");
  const phone = matchMedia("(max-width: 52em)");
  const find = (id) => document.getElementById(id);
  let opener = null;

  // Opening and closing

  async function open(from) {
    document.querySelector("#account:popover-open")?.hidePopover();
    panel.hidden = false;
    cover(phone.matches);
    sessionStorage.setItem(OPEN, "1");
    if (!find("assistant-list")) {
      await htmx.ajax("GET", link.getAttribute("href"), { target: panel, swap: "innerHTML" });
      htmx.process(panel); // it would only do so in a moment, and a question asked at once would leave the page
    }
    if (from) (opener = from), find("assistant-question")?.focus();
  }

  function close() {
    panel.hidden = true;
    cover(false);
    sessionStorage.removeItem(OPEN);
    (opener?.checkVisibility() ? opener : link.checkVisibility() ? link : document.querySelector("[popovertarget=account]"))?.focus();
  }

  // On a phone the panel is all there is.
  function cover(is) {
    for (const each of document.querySelectorAll(".rail, .main, .desk")) each.inert = is;
  }

  document.addEventListener("click", (event) => {
    if (!panel || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const asked = event.target.closest("a[href='/assistant/']");
    if (asked) {
      event.preventDefault();
      if (panel.hidden) open(asked); else close();
    }
    if (event.target.closest("#assistant-close")) close();
    const here = event.target.closest(".proposal-here a");
    if (here) {
      event.preventDefault();
      if (phone.matches) close();
      const card = find(here.hash.slice(1));
      card?.scrollIntoView({ block: "center" });
      card?.querySelector("[tabindex='-1']")?.focus({ preventScroll: true });
    } else if (phone.matches && event.target.closest("#assistant a")) sessionStorage.removeItem(OPEN);
  });
  panel?.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.stopPropagation();
    close();
  });

  // Asking

  document.addEventListener("keydown", (event) => {
    if (event.target.id !== "assistant-question" || event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    find("assistant-ask").requestSubmit();
  });
  // htmx knows only the buttons inside its form, and would find the field empty.
  document.addEventListener("click", (event) => {
    const wish = event.target.closest(".assistant-tries button");
    if (!wish) return;
    event.preventDefault();
    find("assistant-question").value = wish.value;
    find("assistant-ask").requestSubmit();
  });
  document.addEventListener("input", ({ target }) => {
    if (target.id === "assistant-question") sessionStorage.setItem(DRAFT, target.value);
  });
  document.body.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (detail.elt.id !== "assistant-ask" || !detail.successful) return;
    find("assistant-question").value = "";
    sessionStorage.removeItem(DRAFT);
  });

  // What comes

  function show() {
    const list = find("assistant-list");
    if (!list) return;
    if (panel) find("assistant-close").hidden = false;
    find("assistant-page").value = panel ? location.pathname : "";
    find("assistant-question").value ||= sessionStorage.getItem(DRAFT) ?? "";
    settle();
    find("assistant-body").scrollTop = list.scrollHeight;
  }

  // A card stands once on a page: where the page has it already, the panel leads there.
  function settle() {
    for (const card of panel?.querySelectorAll(".proposal > .approval-card") ?? []) {
      const others = [...document.querySelectorAll(`[id="${card.id}"]`)].filter((other) => other !== card);
      if (others.length === 0) continue;
      card.nextElementSibling.hidden = false;
      card.remove();
    }
  }

  document.addEventListener("median:frame", ({ detail: frame }) => {
    if (frame.kind === "assistant") {
      const wasWaiting = "waiting" in (find("assistant-list")?.dataset ?? {});
      if (!Median.put(frame, null)) return;
      show();
      const last = find("assistant-list").lastElementChild?.dataset.state;
      if (wasWaiting && last !== "waiting") find("assistant-status").textContent = last === "failed" ? "There is no answer." : "The assistant answered.";
    }
    if (frame.kind === "request") {
      const card = new DOMParser().parseFromString(frame.waiting, "text/html").querySelector(".approval-card");
      if (card && panel?.contains(find(card.id))) Median.put({ id: card.id, version: frame.version, html: card.outerHTML }, null);
      settle();
    }
  });
  document.addEventListener("median:item", settle);
  document.body.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (detail.target?.closest?.("#assistant, .assistant")) show();
  });

  phone.addEventListener("change", () => cover(phone.matches && panel?.hidden === false));
  if (panel && sessionStorage.getItem(OPEN)) open();
  show();
})();

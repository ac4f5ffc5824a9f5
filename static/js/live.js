// One WebSocket a page: says what the page watches and has, and puts what comes into its place.
// It makes no words and no markup of its own; an older version never replaces a newer one.
(() => {
  "use strict";
  const SIGN_IN_AGAIN = 4403;
  const SILENCE = 60_000; // The server says something every 25 s: after a minute of nothing the line is dead.
  const FIRST_PAUSE = 500, LONGEST_PAUSE = 15_000, STABLE = 5_000;
  const body = document.body;
  const find = (selector, root = document) => root.querySelector(selector);
  const tell = (name, detail) => document.dispatchEvent(new CustomEvent(`median:${name}`, { detail }));
  let socket = null, pause = FIRST_PAUSE, retry = 0, banner = 0, heard = 0, opened = 0;
  let said = new Map(); // What this connection was told: element -> what it watches.

  // The connection

  function connect() {
    clearTimeout(retry);
    if (body.dataset.token === "") return; // The widget is not signed in yet.
    drop();
    socket = new WebSocket(body.dataset.live); // Relative to the page: its host, and wss where it is https.
    heard = Date.now();
    socket.onopen = () => { opened = heard = Date.now(); said = new Map(); online(true); watch(); };
    socket.onmessage = (event) => { heard = Date.now(); receive(JSON.parse(event.data)); };
    socket.onclose = (event) => {
      drop();
      online(false);
      pause = opened && Date.now() - opened > STABLE ? FIRST_PAUSE : Math.min(pause * 2, LONGEST_PAUSE);
      opened = 0;
      retry = setTimeout(event.code === SIGN_IN_AGAIN ? refused : connect, pause * (0.5 + Math.random() / 2));
    };
  }

  function drop() {
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
    socket = null;
  }

  function refused() {
    if ("token" in body.dataset) return tell("refused"); // Its script gets a new token, or says why it cannot.
    const last = Number(sessionStorage.getItem("median-reloaded"));
    if (Date.now() - last < SILENCE) return; // Reloading did not help: the banner stays, the page does not flicker.
    sessionStorage.setItem("median-reloaded", Date.now());
    location.reload();
  }

  function online(is) {
    clearTimeout(banner);
    const show = () => { const element = find("#offline"); if (element) element.hidden = is; };
    if (is) show(); else banner = setTimeout(show, 1000);
    tell(is ? "online" : "offline");
  }

  function watch() {
    if (socket?.readyState !== WebSocket.OPEN) return;
    for (const element of document.querySelectorAll("[data-watch-thread], [data-watch-widget], [data-watch-queue], [data-watch-feed]")) {
      const { watchThread, watchWidget, watchFeed, version } = element.dataset;
      const frame = watchThread ? { watch: "thread", id: watchThread } : { watch: watchFeed ?? "queue" };
      const key = watchWidget === undefined ? JSON.stringify(frame) : body.dataset.token;
      if (said.get(element) === key) continue;
      said.set(element, key);
      const since = Number(version) || 0;
      socket.send(JSON.stringify(watchWidget === undefined ? { ...frame, since } : { token: key, since }));
      if (watchThread) tell("watching");
    }
  }

  function watchAgain() {
    said = new Map();
    if (socket) watch(); else connect();
  }

  // What comes

  function receive(frame) {
    if (frame.kind === "resync") watchAgain();
    else if (frame.kind === "refresh") refresh();
    else if (frame.kind === "row") row(frame);
    else if (frame.kind === "thread" || frame.kind === "widget") thread(frame);
    else tell("frame", frame); // of a page that has a script of its own for it
  }

  function thread(frame) {
    const selector = frame.kind === "widget" ? "[data-watch-widget]" : `[data-watch-thread="${CSS.escape(frame.id)}"]`;
    const root = find(selector);
    if (!root) return;
    if (frame.kind === "widget" && root.dataset.conversation !== frame.conversation) return refresh(); // Another one began.
    const list = find("[data-items]", root);
    Median.holdStill(list, () => {
      for (const item of frame.items) {
        const put = Median.put(item, list);
        if (put) tell("item", put);
        if (put?.isNew) Median.hintBelow(list, put.element);
      }
      for (const part of frame.parts) Median.put(part, null);
    });
    root.dataset.version = Math.max(Number(root.dataset.version) || 0, frame.version);
  }

  function row(frame) {
    const list = find("[data-watch-queue]");
    if (!list) return;
    const filter = Object.entries(JSON.parse(list.dataset.filter || "{}"));
    const id = `row-${frame.id}`, old = document.getElementById(id);
    const belongs = filter.every(([facet, wanted]) => [frame.facets[facet]].flat().some((value) => wanted.includes(value)));
    const isSearch = "search" in list.dataset;
    // What a search marked in a row stays until there is something newer to say.
    if (isSearch && old && Number(old.dataset.version) >= frame.version) return tell("row", { element: old, id: frame.id, facets: frame.facets });
    const stays = isSearch ? old : belongs || (old && find("[aria-current]", old));
    if (stays) Median.put({ id, version: frame.version, html: frame.html }, list);
    else if (old && Number(old.dataset.version) <= frame.version) old.remove();
    tell("row", { element: document.getElementById(id), id: frame.id, facets: frame.facets });
  }

  async function refresh() {
    if ("token" in body.dataset) return tell("refresh");
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.redirected) return location.reload();
    // An answer to a form cannot be fetched again: it stays as it is. What is broken is asked again, but not at once.
    if (!answer.ok) return answer.status < 500 || setTimeout(refresh, LONGEST_PAUSE);
    Median.renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
    watchAgain(); // Something may have come between the fetch and now.
  }

  setInterval(() => { if (socket && Math.abs(Date.now() - heard) > SILENCE) { online(false); connect(); } }, 5_000);
  window.addEventListener("online", connect);
  window.addEventListener("pagehide", drop);
  window.addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
  for (const name of ["htmx:afterSettle", "htmx:historyRestore"]) document.addEventListener(name, watch);
  document.addEventListener("median:watch", watchAgain);
  document.addEventListener("median:send", ({ detail }) => { if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(detail)); });
  connect();
})();

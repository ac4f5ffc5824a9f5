// The one script tag on a company's site. It draws the button in the corner and opens the chat in a frame (docs/widget.md).
//   <script src="https://…/static/js/embed.js" data-workspace="fernhill" data-token="…" defer></script>
// The token is the session token of a signed-in user, if there is one. The event "median:expired" on the window asks for a
// later one, which Median.identify(token) hands over.
(() => {
  const { src, dataset } = document.currentScript ?? document.querySelector("script[data-workspace]");
  if (document.querySelector("median-widget")) { // Here already: a page that changes without loading ran its tags again.
    if (dataset.token) window.Median.identify(dataset.token);
    return;
  }
  const KEY = "median-widget", KEPT = "median-widget:kept", PATIENCE = 2_000, page = new URL(`/widget/${encodeURIComponent(dataset.workspace)}/`, src);
  const STYLES = `
    :host { all: initial !important; position: fixed !important; z-index: 2147483000 !important; }
    button { position: fixed; inset-block-end: max(1.25rem, env(safe-area-inset-bottom)); inset-inline-end: 1.25rem;
      display: grid; place-items: center; inline-size: 56px; block-size: 56px; border: 0; border-radius: 50%; background: #1f1d1a; color: #fff; cursor: pointer; box-shadow: 0 4px 16px rgb(0 0 0 / .25); }
    button:focus-visible { outline: 2px solid #0078b8; outline-offset: 2px; } svg { inline-size: 26px; block-size: 26px; fill: currentColor; }
    span { position: absolute; inset-block-start: -2px; inset-inline-end: -2px; min-inline-size: 20px; padding-inline: 4px; box-sizing: border-box;
      border-radius: 16px; background: #d73431; color: #fff; font: 620 12px / 20px system-ui, sans-serif; text-align: center; }
    p { position: fixed; inset-block-end: 5.5rem; inset-inline-end: 1.25rem; max-inline-size: min(18rem, 100vw - 4.5rem); margin: 0; padding: .75rem 1rem;
      border-radius: .75rem; background: #1f1d1a; color: #fff; font: 420 14px / 1.4 system-ui, sans-serif; }
    p[data-quiet] { clip-path: inset(50%); } p:empty, [hidden] { display: none; }
    iframe { position: fixed; inset-block-end: 5.75rem; inset-inline-end: 1.25rem; inline-size: 24rem;
      block-size: min(38rem, 100dvh - 7rem); border: 0; border-radius: 1rem; box-shadow: 0 8px 20px rgb(0 0 0 / .1), 0 32px 72px rgb(0 0 0 / .2); color-scheme: normal; }
    @media (prefers-color-scheme: dark) { button, p { background: #f4f2ee; color: #1f1d1a; } }
    @media (max-width: 34em) { iframe { inset: 0; inline-size: 100vw; block-size: 100dvh; border-radius: 0; } }
    @media (prefers-reduced-motion: no-preference) { iframe { transition: 220ms; @starting-style { opacity: 0; translate: 0 8px; } } }
    @media print { :host { display: none !important; } }`;
  const SHAPE = "M232,128A104,104,0,0,1,79.12,219.82L45.07,231.17a16,16,0,0,1-20.24-20.24l11.35-34.05A104,104,0,1,1,232,128Z";

  const host = document.createElement(KEY);
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet(); // a style element might be against the site's own policy
  sheet.replaceSync(STYLES);
  root.adoptedStyleSheets = [sheet];
  const launcher = document.createElement("button");
  launcher.type = "button";
  const [picture, shape] = ["svg", "path"].map((name) => document.createElementNS("http://www.w3.org/2000/svg", name));
  picture.setAttribute("viewBox", "0 0 256 256");
  picture.setAttribute("aria-hidden", "true");
  shape.setAttribute("d", SHAPE);
  picture.append(shape);
  const badge = document.createElement("span");
  badge.setAttribute("aria-hidden", "true");
  launcher.append(picture, badge);
  const news = document.createElement("p");
  news.setAttribute("role", "status");
  root.append(news, launcher);

  const phone = matchMedia("(max-width: 34em)"), events = new AbortController(), { signal } = events;
  let frame = null, isReady = false, unread = 0, { token } = dataset;

  const isOpen = () => Boolean(frame && !frame.hidden);
  // What this site keeps, where it may: that the chat was used here, that it is open in this tab, and what the frame may not keep.
  const recall = (storage, key = KEY) => { try { return window[storage].getItem(key); } catch { return null; } };
  const keep = (storage, value, key = KEY) => { try { window[storage].setItem(key, value); } catch { /* the next page starts anew */ } };
  // An empty token says that nobody is signed in, so that the frame lets go of one that it kept.
  const address = (more) => `${page.href}#${new URLSearchParams({ token: token ?? "", ...more })}`;

  function draw() {
    Object.assign(badge, { textContent: unread > 9 ? "9+" : unread, hidden: !unread });
    launcher.setAttribute("aria-expanded", isOpen());
    launcher.setAttribute("aria-label", unread ? `Chat, ${unread} new` : "Chat");
  }

  function say(text, { quiet = false } = {}) {
    news.toggleAttribute("data-quiet", quiet);
    news.textContent = text;
  }

  const tellFrame = () => { if (isReady) frame.contentWindow.postMessage({ median: isOpen() ? "shown" : "hidden" }, page.origin); };

  function load({ hidden }) {
    const [localStorage, sessionStorage] = ["localStorage", "sessionStorage"].map((storage) => recall(storage, KEPT) ?? "");
    frame = Object.assign(document.createElement("iframe"), { title: "Chat", src: address({ localStorage, sessionStorage }), hidden });
    frame.addEventListener("load", () => setTimeout(() => { if (frame && !isReady) giveUp(); }, PATIENCE), { once: true });
    root.append(frame);
  }

  // A browser shows a page of its own in a frame that was refused or not reached, and tells nobody which it was.
  function giveUp() {
    console.error(`Median: no chat on ${location.origin}. Is this site listed under Settings > Widget, and ${page.origin} within reach?`);
    if (isOpen()) say("The chat could not be opened. Try again in a moment.");
    frame.remove();
    frame = null;
    draw();
  }

  function show({ focus = true } = {}) {
    if (!frame) load({ hidden: false });
    frame.hidden = false;
    say("");
    draw();
    if (focus) frame.focus();
    tellFrame();
  }

  function open() {
    keep("localStorage", "used");
    keep("sessionStorage", "open");
    show();
  }

  function close() {
    const hadFocus = root.activeElement === frame;
    keep("sessionStorage", "closed");
    if (frame) frame.hidden = true;
    draw();
    tellFrame();
    if (hadFocus) launcher.focus();
  }

  // On a phone the keyboard covers the page's lower part, and only this page is told how much.
  function fit() {
    const { height, offsetTop, scale } = visualViewport, isCut = phone.matches && scale === 1 && height < innerHeight - 1;
    if (frame) Object.assign(frame.style, { blockSize: isCut ? `${height}px` : "", insetBlockStart: isCut ? `${offsetTop}px` : "" });
  }

  launcher.addEventListener("click", () => (isOpen() ? close() : open()));
  for (const name of ["resize", "scroll"]) visualViewport?.addEventListener(name, fit, { signal });
  addEventListener("message", ({ origin, source, data }) => {
    if (origin !== page.origin || source !== frame?.contentWindow) return;
    if (data.median === "ready") { isReady = true; tellFrame(); }
    if (data.median === "keep") keep(data.storage, data.kept, KEPT);
    if (data.median === "close") close();
    if (data.median === "expired") dispatchEvent(new Event("median:expired"));
    if (data.median !== "unread" || data.count === unread) return;
    unread = data.count;
    say(unread ? `${unread} new in the chat` : "", { quiet: true });
    draw();
  }, { signal });

  window.Median = {
    open,
    close,
    identify(newer) {
      token = newer;
      frame?.contentWindow.location.replace(address()); // only what is behind the # changes, and no step back is added
    },
    remove() {
      events.abort();
      host.remove();
      delete window.Median;
    },
  };
  const put = () => document.documentElement.append(host); // not in the body, in whose layout and changes it has no part
  if (document.body) put(); else addEventListener("DOMContentLoaded", put, { signal });
  draw();
  if (recall("sessionStorage") === "open" && !phone.matches) show({ focus: false });
  else if (recall("localStorage")) load({ hidden: true });
})();

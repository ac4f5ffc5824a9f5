// The one script tag on a company's site. It draws the button in the corner and opens the chat in a frame.
//   <script src="https://…/static/js/embed.js" data-workspace="fernhill" data-token="…" defer></script>
// The token is the session token of a signed-in user, if there is one; Median.identify(token) hands over a later one, which
// the event "median:expired" on the window asks for.
(() => {
  const { src, dataset } = document.currentScript;
  const page = new URL(`/widget/${encodeURIComponent(dataset.workspace)}/`, src);
  const STYLES = `
    :host { all: initial; }
    button { position: fixed; inset-block-end: max(1.25rem, env(safe-area-inset-bottom)); inset-inline-end: 1.25rem; z-index: 2147483000;
      display: grid; place-items: center; inline-size: 56px; block-size: 56px; border: 0; border-radius: 50%; background: #1f1d1a; color: #fff; cursor: pointer; box-shadow: 0 4px 16px rgb(0 0 0 / .25); }
    button:focus-visible { outline: 2px solid #0078b8; outline-offset: 2px; }
    svg { inline-size: 26px; block-size: 26px; fill: currentColor; }
    span { position: absolute; inset-block-start: -2px; inset-inline-end: -2px; min-inline-size: 20px; padding-inline: 4px; box-sizing: border-box; border-radius: 16px;
      background: #d73431; font: 620 12px / 20px system-ui, sans-serif; text-align: center; }
    iframe { position: fixed; inset-block-end: 5.75rem; inset-inline-end: 1.25rem; z-index: 2147483000; inline-size: 24rem;
      block-size: min(38rem, 100dvh - 7rem); border: 0; border-radius: 1rem; box-shadow: 0 8px 20px rgb(0 0 0 / .1), 0 32px 72px rgb(0 0 0 / .2); color-scheme: normal; }
    [hidden] { display: none; }
    @media (prefers-color-scheme: dark) { button { background: #f4f2ee; color: #1f1d1a; } span { color: #fff; } }
    @media (max-width: 34em) { iframe { inset: 0; inline-size: 100vw; block-size: 100dvh; border-radius: 0; } }`;
  const SHAPE = "M232,128A104,104,0,0,1,79.12,219.82L45.07,231.17a16,16,0,0,1-20.24-20.24l11.35-34.05A104,104,0,1,1,232,128Z";

  const host = document.createElement("median-widget");
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet(); // a style element might be against the site's own policy
  sheet.replaceSync(STYLES);
  root.adoptedStyleSheets = [sheet];

  const launcher = document.createElement("button");
  launcher.type = "button";
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 256 256");
  picture.setAttribute("aria-hidden", "true");
  picture.append(document.createElementNS("http://www.w3.org/2000/svg", "path"));
  picture.firstChild.setAttribute("d", SHAPE);
  const badge = document.createElement("span");
  badge.setAttribute("aria-hidden", "true");
  launcher.append(picture, badge);

  let frame = null;
  let unseen = 0;
  const address = (token) => page.href + (token ? `#token=${encodeURIComponent(token)}` : "");
  let { token } = dataset;

  const draw = () => {
    const open = Boolean(frame && !frame.hidden);
    badge.textContent = unseen;
    badge.hidden = !unseen;
    launcher.setAttribute("aria-expanded", open);
    launcher.setAttribute("aria-label", unseen ? `Chat, ${unseen} new` : "Chat");
  };
  const open = () => {
    if (!frame) {
      frame = document.createElement("iframe");
      frame.title = "Chat";
      frame.src = address(token);
      root.append(frame);
    }
    frame.hidden = false;
    unseen = 0;
    draw();
    frame.focus();
  };
  const close = () => {
    if (frame) frame.hidden = true;
    draw();
    launcher.focus();
  };

  launcher.addEventListener("click", () => (frame && !frame.hidden ? close() : open()));
  window.addEventListener("message", ({ origin, source, data }) => {
    if (origin !== page.origin || source !== frame?.contentWindow) return;
    if (data.median === "close") close();
    if (data.median === "expired") window.dispatchEvent(new Event("median:expired"));
    if (data.median === "new" && frame.hidden) { unseen += 1; draw(); }
  });
  window.Median = {
    open,
    close,
    identify(newer) { token = newer; if (frame) frame.src = address(token); },
  };
  root.append(launcher);
  document.body.append(host);
  draw();
})();

// The page around the chat's frame (embed.js): what it is told, and what it keeps where the browser lets the frame keep
// nothing. Only sites that may show the chat can be around it. Without one, that lasts as long as the page.
const PREFIX = `median-widget:${document.body.dataset.slug}:`;
const given = new URLSearchParams(location.hash.slice(1));

export const isFramed = parent !== window;

export function tellPage(what, more) {
  if (isFramed) parent.postMessage({ median: what, ...more }, "*");
}

function keeper(storage) {
  const attempt = (what) => { try { return what(window[storage]); } catch { return null; } };
  const isRefused = attempt((there) => there.length) === null;
  const memory = new Map(isRefused ? Object.entries(JSON.parse(given.get(storage) || "{}")) : []);

  function set(name, value) {
    if (value === null) memory.delete(name); else memory.set(name, value);
    attempt((there) => (value === null ? there.removeItem(PREFIX + name) : there.setItem(PREFIX + name, value)));
    if (isRefused) tellPage("keep", { storage, kept: JSON.stringify(Object.fromEntries(memory)) });
  }

  return { set, get: (name) => attempt((there) => there.getItem(PREFIX + name)) ?? memory.get(name) ?? null };
}

export const kept = keeper("sessionStorage");
export const keptLong = keeper("localStorage");

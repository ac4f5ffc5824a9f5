// Who is writing: the token in the address, one kept from before, or a new anonymous one. And every request, with it.
const slug = document.body.dataset.slug;
const KEY = `median-widget:${slug}`;

// In a frame the browser may refuse storage: then a session lasts as long as the page.
const store = (name) => { try { return window[name]; } catch { return null; } };
const kept = store("sessionStorage");
const keptLong = store("localStorage");

let token = null;
let anonymous = false;

// `wait`: milliseconds until the same may be asked again, if that is why.
export class Refused extends Error {
  constructor(error, wait) { super(error.message); this.code = error.code; this.wait = wait; }
}

// A company's page hands its user's token over in the fragment, which no server sees; it does not stay in the address.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return false;
  history.replaceState(null, "", location.pathname + location.search);
  [token, anonymous] = [given, false];
  kept?.setItem(KEY, given);
  return true;
}

export async function begin() {
  if (token || takeToken()) return token;
  token = kept?.getItem(KEY);
  if (token) return token;
  anonymous = true;
  token = keptLong?.getItem(KEY);
  if (!token) {
    token = (await send("anonymous", { method: "POST" })).token;
    keptLong?.setItem(KEY, token);
  }
  return token;
}

export async function call(path, options = {}) {
  await begin();
  try {
    return await send(path, { ...options, headers: { Authorization: `Bearer ${token}` } });
  } catch (error) {
    if (error instanceof Refused && error.code.startsWith("session_")) forget();
    throw error;
  }
}

// A token that was refused must not be tried again after a reload.
function forget() {
  (anonymous ? keptLong : kept)?.removeItem(KEY);
}

export const authorization = async () => ({ Authorization: `Bearer ${await begin()}` });

async function send(path, options) {
  const headers = { Accept: "application/json", ...options.headers };
  const answer = await fetch(`/widget/${slug}/${path}`, { ...options, headers, credentials: "omit", cache: "no-store" });
  const body = await answer.json();
  if (!answer.ok) throw new Refused(body.error, 1_000 * answer.headers.get("Retry-After"));
  return body;
}

// What was typed and not sent yet, through reloads: { text, unsent }.
export const draft = {
  get: () => JSON.parse(kept?.getItem(`${KEY}:draft`) ?? '{"text":"","unsent":null}'),
  set: (typed) => kept?.setItem(`${KEY}:draft`, JSON.stringify(typed)),
};

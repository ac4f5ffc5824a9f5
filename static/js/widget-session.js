// Who is writing: the token in the address, one kept from before, or a new anonymous one. And every request, with it.
import { kept, keptLong, tellPage } from "./widget-frame.js";

const { slug } = document.body.dataset;
const PATIENCE_MS = 20_000; // A line that swallows everything must not hold a message for ever.
const AHEAD_MS = 60_000, DAY_MS = 86_400_000;

let token = null;
let anonymous = false;
let renewal = 0;
export let handOvers = 0; // How often the page around it said who somebody is.

// `wait`: milliseconds until the same may be asked again, if that is why.
export class Refused extends Error {
  constructor(error, wait) { super(error.message); this.code = error.code; this.wait = wait; }
  get isExpired() { return this.code === "session_expired"; }
}

// A company's page hands its user's token over in the fragment, which no server sees; it does not stay in the address.
// An empty one says that nobody is signed in. Gives null, or whether it is somebody else than before.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return null;
  history.replaceState(null, "", location.pathname + location.search);
  // By the name that was kept, since a token that was refused is forgotten.
  const before = kept.get("who"), who = claims(given).sub ?? null, isSomebodyElse = before !== null && before !== who;
  if (isSomebodyElse) kept.set("draft", null);
  kept.set("who", who);
  kept.set("token", given || null);
  [token, anonymous] = [given || null, false];
  handOvers += 1;
  askAhead(claims(given));
  return { isSomebodyElse };
}

// What a token says, unverified: only good for telling people and times apart.
function claims(given) {
  try {
    return JSON.parse(atob(given.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return {};
  }
}

// The page is asked for the next token before this one runs out, so that nothing is ever refused; by its own clock or ours.
function askAhead({ iat, exp }) {
  clearTimeout(renewal);
  const left = Math.min(exp * 1_000 - Date.now(), (exp - iat) * 1_000) - AHEAD_MS;
  if (left > 0 && left < DAY_MS) renewal = setTimeout(tellPage, left, "expired");
}

export async function begin() {
  token ??= kept.get("token");
  if (token) return token;
  anonymous = true;
  token = keptLong.get("token");
  if (!token) {
    token = (await send("anonymous", { method: "POST" })).token;
    keptLong.set("token", token);
  }
  return token;
}

export async function call(path, options = {}, isAgain = false) {
  const used = await begin();
  try {
    return await send(path, { ...options, headers: { Authorization: `Bearer ${used}` } });
  } catch (error) {
    if (!(error instanceof Refused && error.code.startsWith("session_")) || used !== token) throw error;
    forget();
    if (!anonymous || isAgain) throw error;
    token = null; // Nobody has to vouch for a visitor: the next one is there for the asking.
    return call(path, options, true);
  }
}

// A token that was refused must not be tried again after a reload.
function forget() {
  (anonymous ? keptLong : kept).set("token", null);
}

export const authorization = async () => ({ Authorization: `Bearer ${await begin()}` });

async function send(path, options) {
  const headers = { Accept: "application/json", ...options.headers }, signal = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(`/widget/${slug}/${path}`, { ...options, headers, signal, credentials: "omit", cache: "no-store" });
  const body = await answer.json();
  if (!answer.ok) throw new Refused(body.error, 1_000 * answer.headers.get("Retry-After"));
  return body;
}

// What was typed and not sent yet, through reloads: { text, unsent }.
export const draft = {
  get: () => JSON.parse(kept.get("draft") ?? '{"text":"","unsent":null}'),
  set: (typed) => kept.set("draft", JSON.stringify(typed)),
};
